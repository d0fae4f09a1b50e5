"""The text of every recording and case at 80 and 160 columns: no line too long, the first screen whole, no colour in pipes."""
import json
import re
import unittest

from program import COMPLETE, DATA, PARTIAL, cases, columns, recordings, run, without_colour

FIRST_SCREEN_LINES = 24
# The first title of the details; everything above is the first screen.
DETAILS = re.compile(r"^(Findings, continued|Why the GPU was idle|Kernels by time|Operators by|Launches$|Memory$|Steps,|Devices,|Data$)")


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
            for width in (60, 80, 160):
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
                self.assertLessEqual(len(first_screen(run("report", path, "--width", "80").out)), FIRST_SCREEN_LINES + 1)

    def test_no_line_ends_in_a_space(self):
        for path in recordings()[:5]:
            self.assertNotRegex(run("report", path).out, r"[ \t]\n")

    def test_colour_changes_nothing_but_colour(self):
        path = "h200/sync.pt.trace.json.gz"
        plain, coloured = run("report", path, "--color", "never").out, run("report", path, "--color", "always").out
        self.assertIn("\x1b[", coloured)
        self.assertEqual(without_colour(coloured), plain)

    def test_every_finding_can_be_shown(self):
        for path in recordings():
            count = len(run("report", path, "--json").json()["findings"])
            for number in range(1, count + 1):
                with self.subTest(path, finding=number):
                    done = run("report", path, "--finding", number, "--width", "80")
                    self.assertEqual(done.status, COMPLETE, done.err)
                    self.assertIn("Evidence", done.out)
                    self.check_width(done.out, 80, path)

    def test_other_commands_keep_the_width(self):
        for path in recordings():
            with self.subTest(path):
                for width in (60, 80, 120):
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

    def test_unknown_steps_are_said_with_what_to_do(self):
        done = run("report", "cases/A22_no_profiler_step.json")
        self.assertIn("prof.step()", done.out)
        self.assertIn("--steps", done.out)


if __name__ == "__main__":
    unittest.main()
