"""ops, steps and stacks: the documents they write, and torch's own numbers where there are some."""
import csv
import gzip
import io
import json
import pathlib
import re
import subprocess
import tempfile
import unittest

from program import UNUSABLE, COMPLETE, DATA, PROGRAM, run

KEYS = ["key", "count", "cpu_time_total", "self_cpu_time_total", "device_time_total", "self_device_time_total",
        "cpu_memory_usage", "self_cpu_memory_usage", "device_memory_usage", "self_device_memory_usage", "flops", "is_async",
        "is_user_annotation", "input_shapes", "stack", "device_type", "record_count", "inclusive_ns"]
NUMBERS = [k for k in KEYS[1:11]]


def identity(row):
    return row["key"], row["device_type"], row["is_async"], row["is_user_annotation"], str(row["input_shapes"]), tuple(row["stack"])


class Ops(unittest.TestCase):
    def test_rows_equal_torchs_own(self):
        for name in ("conv", "enc"):
            golden = json.loads(gzip.decompress((DATA / "golden" / f"{name}.golden.json.gz").read_bytes()))
            for by, table in (("name", "plain"), ("shape", "by_shape")):
                with self.subTest(name, by=by):
                    rows = run("ops", f"golden/{name}.pt.trace.json.gz", "--by", by, "--json").json()["rows"]
                    ours = {identity(r): r for r in rows}
                    self.assertEqual(len(ours), len(rows), "rows must be distinct")
                    for theirs in golden[table]:
                        mine = ours[identity(theirs)]
                        on_gpu_row = theirs["is_user_annotation"] and theirs["device_type"] != "DeviceType.CPU"
                        for key in NUMBERS:
                            if on_gpu_row and "device_time" in key:
                                continue  # the file's GPU annotations differ from torch's table by 3 ns
                            self.assertAlmostEqual(mine[key], theirs[key], delta=0.0011, msg=f"{identity(theirs)} {key}")
                    self.assertEqual(len(rows), len(golden[table]))

    def test_json_rows_have_exactly_the_keys(self):
        for row in run("ops", "cases/B02_nested_ops.json", "--json").json()["rows"]:
            self.assertEqual(list(row), KEYS)

    def test_nested_repeats(self):
        rows = {r["key"]: r for r in run("ops", "cases/B02_nested_ops.json", "--json").json()["rows"]}
        self.assertEqual((rows["aten::to"]["count"], rows["aten::to"]["record_count"]), (1, 2))
        self.assertEqual(rows["aten::to"]["inclusive_ns"], 100_000)

    def test_csv_keeps_the_characters_of_names(self):
        name = 'a\nb\r\n"c",\u2028\u001b[31m\u0000'
        span = {"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": 1, "dur": 5}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.json")
            path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [span]}), encoding="utf-8")
            done = subprocess.run([PROGRAM, "ops", path, "--csv"], capture_output=True, check=False)
            rows = list(csv.DictReader(io.StringIO(done.stdout.decode("utf-8"), newline=""), strict=True))
            self.assertEqual([row["key"] for row in rows], [name.replace("\0", "\ufffd")])
            self.assertEqual([row["key"] for row in run("ops", path, "--json").json()["rows"]], [name])

    def test_long_step_numbers_stand_apart(self):
        numbers = [999_999_999_999_999_999 + i for i in range(3)]
        events = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{n}", "pid": 1, "tid": 1, "ts": 1000 * i, "dur": 1000}
                  for i, n in enumerate(numbers)]
        events += [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1000 * i + 9, "dur": 900} for i in range(3)]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.json")
            path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}), encoding="utf-8")
            rows = [line.split()[:2] for line in run("steps", path).out.splitlines()]
            for number in numbers:
                self.assertIn([str(number), "1.000"], rows)

    def test_csv_is_csv(self):
        done = run("ops", "h200/solid.pt.trace.json.gz", "--csv")
        rows = list(csv.reader(io.StringIO(done.out)))
        self.assertEqual({len(r) for r in rows}, {len(rows[0])})
        self.assertGreater(len(rows), 50)

    def test_sort_and_limit(self):
        rows = run("ops", "h200/solid.pt.trace.json.gz", "--sort", "count", "--limit", "7", "--json").json()["rows"]
        counts = [r["count"] for r in rows]
        self.assertEqual(len(rows), 7)
        self.assertEqual(counts, sorted(counts, reverse=True))
        old = run("ops", "h200/solid.pt.trace.json.gz", "--sort", "self_cuda_time_total", "--json").out
        new = run("ops", "h200/solid.pt.trace.json.gz", "--sort", "self_device_time_total", "--json").out
        self.assertEqual(json.loads(old)["rows"], json.loads(new)["rows"])

    def test_what_stands_twice_is_said_and_summed_once(self):
        path = "h200/loader.pt.trace.json.gz"
        text = run("ops", path, "--limit", "3").out
        self.assertIn("GPU time stands twice", text)
        found = run("ops", path, "--json").json()
        sums = {kind: sum(r["self_device_time_total"] for r in found["rows"] if (r["device_type"] == "DeviceType.CPU") == kind
                          and not r["is_user_annotation"]) for kind in (True, False)}
        for each in sums.values():
            self.assertAlmostEqual(each * 1000, found["self_device_time_total_ns"], delta=500)
        self.assertNotIn("stands twice", run("ops", "capture/cpu_v1_0.stepscope").out)


class Shapes(unittest.TestCase):
    def test_shapes_are_whole_at_any_width(self):
        for width in (80, 160):
            rows = run("ops", "planted/fp32_shapes.pt.trace.json.gz", "--by", "shape", "--json").json()["rows"]
            text = " ".join(run("ops", "planted/fp32_shapes.pt.trace.json.gz", "--by", "shape", "--width", width).out.split())
            for row in rows[:30]:
                if row["input_shapes"] not in ("", "[]"):
                    self.assertIn(row["input_shapes"], text)

    def test_different_kernels_look_different(self):
        done = run("ops", "planted/fp32_shapes.pt.trace.json.gz", "--limit", "1000", "--width", "80")
        count = len({r["key"] for r in run("ops", "planted/fp32_shapes.pt.trace.json.gz", "--json").json()["rows"]})
        names = {line[43:] for line in done.out.splitlines()[4:-1]}
        self.assertGreaterEqual(len(names) + 3, count)


class Steps(unittest.TestCase):
    def test_three_forms_agree(self):
        path = "h200/resnet_healthy.pt.trace.json.gz"
        document = run("steps", path, "--json").json()
        table = list(csv.DictReader(io.StringIO(run("steps", path, "--csv").out)))
        self.assertEqual([r["step"] for r in document["rows"]], [int(r["step"]) for r in table])
        self.assertEqual([r["duration_ns"] for r in document["rows"]], [int(r["duration_ns"]) for r in table])
        self.assertIn("largest cause", run("steps", path).out)
        # The host's spans say 14 ms, the GPU's steps 22.66.
        self.assertAlmostEqual(document["median_ns"] / 1e6, 22.66, delta=0.1)
        for row in document["rows"]:
            self.assertEqual(row["gpu_busy_ns"] + row["idle_ns"], row["duration_ns"])


class Stacks(unittest.TestCase):
    LINE = re.compile(r"^[^ \t]+ [1-9][0-9]*$")

    def test_lines_are_folded_stacks(self):
        for metric in ("self_device_time_total", "self_device_time", "self_cpu_time_total"):
            done = run("stacks", "h200/solid4_stack.pt.trace.json.gz", "--metric", metric)
            self.assertEqual(done.status, COMPLETE)
            lines = done.out.splitlines()
            self.assertGreater(len(lines), 20)
            for line in lines:
                self.assertRegex(line, self.LINE)

    def test_device_time_adds_up(self):
        path = "h200/solid4_stack.pt.trace.json.gz"
        total = sum(int(line.rsplit(" ", 1)[1]) for line in run("stacks", path).out.splitlines())
        kernels = [r for r in run("ops", path, "--json").json()["rows"]
                   if r["device_type"] != "DeviceType.CPU" and not r["is_user_annotation"]]
        self.assertAlmostEqual(total / sum(r["self_device_time_total"] for r in kernels), 1, delta=0.05)

    def test_files_without_frames_say_so(self):
        done = run("stacks", "h200/solid.pt.trace.json.gz")
        self.assertIn("with_stack=True", done.err)
        self.assertEqual((done.status, done.out), (UNUSABLE, ""))


if __name__ == "__main__":
    unittest.main()
