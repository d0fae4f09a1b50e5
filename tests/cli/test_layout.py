"""The text of every recording and case at 80 and 160 columns: no line too long, the first screen whole, no colour in pipes."""
import gzip
import json
import pathlib
import re
import tempfile
import unittest

from program import COMPLETE, DATA, PARTIAL, WIDTHS, cases, columns, once, recordings, run, without_colour

FIRST_SCREEN_LINES = 24
# The first title of the details; everything above is the first screen.
DETAILS = re.compile(r"^(Findings, continued|Why the GPU was idle|Kernels by time|Operators by|Launches$|Memory$|Steps,|Devices,|Synchronizations|Data$)")


def first_screen(text):
    lines = text.splitlines()
    end = next((i for i, line in enumerate(lines) if DETAILS.match(line)), len(lines))
    return lines[:end]


class Layout(unittest.TestCase):
    def check_width(self, text, width, where):
        for line in text.splitlines():
            self.assertLessEqual(columns(line), width, f"{where}: {line}")

    def test_no_line_is_too_long(self):
        for path in recordings() + cases():
            for width in WIDTHS:
                with self.subTest(path, width=width):
                    done = run("report", path, "--width", width, "--top", "15")
                    self.check_width(done.out, width, path)

    def test_pipes_are_80_columns_of_plain_text(self):
        done = run("report", "h200/loader.pt.trace.json.gz")
        self.check_width(done.out, 80, "pipe")
        self.assertNotIn("\x1b", done.out)

    def test_the_first_screen_is_24_lines(self):
        for path in recordings():
            with self.subTest(path):
                self.assertLessEqual(len(first_screen(once("report", path).out)), FIRST_SCREEN_LINES + 1)

    def test_no_line_ends_in_a_space(self):
        for path in recordings()[:5]:
            self.assertNotRegex(once("report", path).out, r"[ \t]\n")

    def test_colour_changes_nothing_but_colour(self):
        path = "h200/sync.pt.trace.json.gz"
        plain, coloured = run("report", path, "--color", "never").out, run("report", path, "--color", "always").out
        self.assertIn("\x1b[", coloured)
        self.assertEqual(without_colour(coloured), plain)

    def test_every_finding_can_be_shown(self):
        for path in recordings():
            count = len(once("report", path, "--json").json()["findings"])
            for number in range(1, count + 1):
                with self.subTest(path, finding=number):
                    done = run("report", path, "--finding", number, "--width", "80")
                    self.assertEqual(done.status, COMPLETE, done.err)
                    self.assertIn("Evidence", done.out)
                    self.check_width(done.out, 80, path)

    def test_other_commands_keep_the_width(self):
        for path in recordings():
            with self.subTest(path):
                for width in WIDTHS:
                    self.check_width(run("ops", path, "--width", width).out, width, path)
                    self.check_width(run("steps", path, "--width", width).out, width, path)

    def test_several_files_are_rows(self):
        done = run("report", "h200/straggler_rank0.pt.trace.json.gz", "h200/straggler_rank1.pt.trace.json.gz", "--width", "80")
        self.assertEqual(done.status, COMPLETE)
        self.check_width(done.out, 80, "straggler")
        self.assertIn("rank 0", done.out)
        self.assertIn("rank 1", done.out)

    def test_a_withheld_headline_shows_no_numbers_of_it(self):
        for name in ("A10_two_ranks_interleaved", "A21b_events_only_in_two_steps", "A35_merged_two_ranks"):
            with self.subTest(name):
                done = run("report", f"cases/{name}.json")
                self.assertEqual(done.status, PARTIAL)
                screen = "\n".join(first_screen(done.out))
                self.assertIn("cannot carry a verdict", screen)
                self.assertNotIn("GPU busy", screen)
                report = run("report", f"cases/{name}.json", "--json").json()
                self.assertIsNone(report["steps"]["median_ns"])
                for device in report["devices"]:
                    self.assertIsNone(device["gpu_busy_ns"])
                    self.assertIsNone(device["idle_ns"])

    def test_several_devices(self):
        text = (DATA / "cases" / "A00_good.json").read_text()
        document = json.loads(text)
        second = []
        for event in document["traceEvents"]:
            if event.get("cat") == "kernel":
                copy = json.loads(json.dumps(event))
                copy["pid"] = copy["args"]["device"] = 1
                copy["dur"] = event["dur"] / 2
                copy["args"]["correlation"] += 100000
                second.append(copy)
        document["traceEvents"] += second
        done = run("report", "-", stdin=json.dumps(document).encode())
        self.assertIn("Devices", done.out)
        self.check_width(done.out, 80, "devices")
        for device, busy in ((0, 900_000), (1, 450_000)):
            report = run("report", "-", "--device", device, "--json", stdin=json.dumps(document).encode()).json()
            main = [d for d in report["devices"] if d["is_main"]]
            self.assertEqual([(d["device"], d["gpu_busy_ns"]) for d in main], [(device, busy)])

    def test_operators_of_a_host_that_runs_ahead_are_whole(self):
        for path, name in (("h200/resnet_healthy.pt.trace.json.gz", "aten::convolution_backward"),
                           ("planted/fp32_shapes.pt.trace.json.gz", "aten::mm")):
            with self.subTest(path):
                report = run("report", path, "--json", "--top", "1000").json()
                row = next(r for r in report["tables"]["operators_by_device_time"] if r["name"] == name)
                self.assertEqual(row["count"] % report["steps"]["count"], 0)
                text = run("report", path).out
                self.assertIn("Operators by own GPU time per step", text)
                self.assertNotIn("ProfilerStep*\n      0", text)
        self.assertRegex(run("report", "h200/resnet_healthy.pt.trace.json.gz").out,
                         r"\n +4\.54 +\d+ % +20 +226\.\d +aten::convolution_backward\n")

    def test_advice_on_the_first_screen_is_whole(self):
        for path in recordings():
            report = once("report", path, "--json").json()
            screen = " ".join(" ".join(first_screen(once("report", path).out)).split())
            with self.subTest(path):
                if report["findings"] and report["findings"][0]["advice"]:
                    self.assertIn(" ".join(report["findings"][0]["advice"][0].split()), screen)
                for line in first_screen(once("report", path).out):
                    self.assertNotIn("\u2026", line)

    def test_a_cut_file_says_so_first(self):
        lines = run("report", "cases/A01_truncated_mid_event.json").out.splitlines()
        self.assertIn("The file is cut at byte 4639: copy it again", lines[1])
        text = gzip.decompress((DATA / "h200" / "loader.pt.trace.json.gz").read_bytes())[:3_000_000]
        lines = run("report", "-", stdin=text).out.splitlines()
        self.assertIn("The file is cut at byte 3000000: copy it again. What a GPU did, if there was", lines[1])

    def test_severities_are_coloured_alike(self):
        path = "h200/sync.pt.trace.json.gz"
        for arguments in ([], ["--finding", 1]):
            out = run("report", path, *arguments, "--color", "always").out
            self.assertIn("\x1b[31mfault", out)
            self.assertNotIn("\x1b[33m", out)
        self.assertIn("\x1b[35mnote", run("report", "h200/resnet_healthy.pt.trace.json.gz", "--color", "always").out)

    def test_blocking_launches_have_no_estimate_and_no_causes(self):
        path = "planted/launch_blocking.pt.trace.json.gz"
        text = run("report", path).out
        self.assertIn("every launch waited for its kernel", text)
        for words in ("without the profiler", "Why the GPU was idle"):
            self.assertNotIn(words, text)
        self.assertIsNone(run("report", path, "--json").json()["steps"]["estimated_unprofiled_ns"])

    def test_synchronizations_have_operator_and_line(self):
        path = "h200/mask_sync.pt.trace.json.gz"
        waits = run("report", path, "--json").json()["synchronizations"]
        self.assertLessEqual(len(waits), 64)
        first = waits[0]
        self.assertEqual((first["kind"], first["operators"]), ("stream", "aten::index > aten::nonzero"))
        self.assertEqual(first["python_line"], "heldout_lab.py(52): hook")
        self.assertEqual((first["count_per_step"], first["hidden_count"]), (8, first["count"]))
        self.assertEqual(waits, sorted(waits, key=lambda w: -w["blocked_ns"]))
        self.assertIn("Synchronizations, per step", run("report", path).out)

    def test_commands_name_the_file(self):
        self.assertIn("$ stepscope report h200/sync.pt.trace.json.gz --finding 1", run("report", "h200/sync.pt.trace.json.gz").out)
        ranks = run("report", "h200/straggler_rank0.pt.trace.json.gz", "h200/straggler_rank1.pt.trace.json.gz")
        self.assertRegex(ranks.out, r"\$ stepscope report h200/straggler_rank[01]\.pt\.trace\.json\.gz")
        with tempfile.TemporaryDirectory() as folder:
            both = "".join((DATA / "cases" / f"A17_rank{rank}.json").read_text() for rank in (0, 1))
            (pathlib.Path(folder) / "two ranks.json").write_text(both)
            done = run("report", "two ranks.json", cwd=folder)
            self.assertRegex(done.out, r"\$ stepscope report 'two ranks\.json' --rank \d", done.err)

    def test_unknown_steps_are_said_with_what_to_do(self):
        done = run("report", "cases/A22_no_profiler_step.json")
        self.assertIn("prof.step()", done.out)
        self.assertIn("--steps", done.out)


if __name__ == "__main__":
    unittest.main()
