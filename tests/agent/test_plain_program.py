"""Native stacks from the call to the answer: a program without Python, with and without debug information."""
import glob
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

STEPSCOPE = os.environ["STEPSCOPE_PROGRAM"]
WITH_LINES, WITHOUT = os.environ["STEPSCOPE_PLAIN_PROGRAMS"].split(":")
SOURCE = pathlib.Path(__file__).with_name("plain_program.cpp")


def line_of(mark):
    lines = SOURCE.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"// line: {mark}"))


class PlainProgram(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def copy(self, program):
        return shutil.copy2(program, self.folder / "plain")

    def capture(self, program):
        done = subprocess.run([program, self.folder], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        (path,) = glob.glob(f"{self.folder}/*.stepscope")
        return path

    def stepscope(self, *words):
        done = subprocess.run([STEPSCOPE, *words], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def lines(self, path):
        device = json.loads(self.stepscope("memory", path, "--json"))["devices"][0]
        return {row["line"]: row["bytes"] for row in device["live_at_peak"]}

    def test_with_debug_information_a_place_is_a_line(self):
        path = self.capture(self.copy(WITH_LINES))
        places = {size >> 20: place.rsplit("/", 1)[-1] for place, size in self.lines(path).items()}
        self.assertEqual(places[3], f"plain_program.cpp:{line_of('buffers')} make_buffers")
        # Where the compiler inlined cudaMallocAsync<float>(), its line is one of the header.
        self.assertIn(places[4], (f"plain_program.cpp:{line_of('main')} main", "main (plain)"))

    def test_without_it_is_a_function(self):
        path = self.capture(self.copy(WITHOUT))
        self.assertEqual(self.lines(path), {"make_buffers (plain)": 3 << 20, "main (plain)": 4 << 20})
        # JSON keeps what was found, where the program is not at hand.
        converted = f"{self.folder}/converted.json"
        self.stepscope("convert", path, "-o", converted)
        os.unlink(self.folder / "plain")
        self.assertEqual(self.lines(converted), {"make_buffers (plain)": 3 << 20, "main (plain)": 4 << 20})

    def test_another_program_of_that_name_names_nothing(self):
        path = self.capture(self.copy(WITHOUT))
        self.copy(WITH_LINES)
        for place in self.lines(path):
            self.assertRegex(place, r"^plain\+0x[0-9a-f]+$")
        os.unlink(self.folder / "plain")
        for place in self.lines(path):
            self.assertRegex(place, r"^plain\+0x[0-9a-f]+$")


if __name__ == "__main__":
    unittest.main()
