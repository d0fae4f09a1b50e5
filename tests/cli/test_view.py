"""view: a page is written whole or not at all, under a name that makes sense, and the exit status is report's."""
import os
import pathlib
import subprocess
import tempfile
import unittest

from program import COMPLETE, DATA, PARTIAL, PROGRAM, UNUSABLE, USAGE

GOOD = DATA / "cases/A00_good.json"
CUT = DATA / "cases/A01_truncated_mid_event.json"
RECORDED = DATA / "h200/graph.pt.trace.json.gz"


class View(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def run_in_folder(self, *words, **more):
        return subprocess.run([PROGRAM, *map(str, words)], cwd=self.path, capture_output=True, **more)

    def files(self):
        return sorted(os.listdir(self.path))

    def test_names_the_page_after_the_recording(self):
        done = self.run_in_folder("view", RECORDED)
        self.assertEqual(done.returncode, COMPLETE, done.stderr)
        self.assertEqual(self.files(), ["graph.html"])
        self.assertIn(b"wrote graph.html", done.stderr)
        self.assertEqual(done.stdout, b"")
        self.assertTrue((self.path / "graph.html").read_bytes().startswith(b"<!doctype html>"))

    def test_writes_where_it_is_told_and_to_standard_output(self):
        self.assertEqual(self.run_in_folder("view", GOOD, "-o", "a.html").returncode, COMPLETE)
        out = self.run_in_folder("view", GOOD, "-o", "-")
        self.assertEqual(out.stdout, (self.path / "a.html").read_bytes())
        self.assertEqual(self.files(), ["a.html"])

    def test_report_writes_the_same_page_beside_its_text(self):
        view = self.run_in_folder("view", GOOD, "-o", "-")
        done = self.run_in_folder("report", GOOD, "--html", "page.html")
        self.assertEqual(done.returncode, COMPLETE)
        self.assertIn(b"step", done.stdout)
        self.assertEqual((self.path / "page.html").read_bytes(), view.stdout)

    def test_damage_shows_in_the_exit_status_and_in_the_page(self):
        done = self.run_in_folder("view", CUT, "-o", "cut.html")
        self.assertEqual(done.returncode, PARTIAL)
        self.assertEqual(self.files(), ["cut.html"])

    def test_several_files_make_one_page(self):
        done = self.run_in_folder("view", GOOD, CUT, "-o", "both.html")
        self.assertEqual(done.returncode, PARTIAL)
        page = (self.path / "both.html").read_text()
        self.assertIn('id="stepscope-recording-1"', page)
        self.assertNotIn('id="stepscope-recording-2"', page)

    def test_leaves_nothing_where_nothing_can_be_read_or_written(self):
        self.assertEqual(self.run_in_folder("view", "missing.json").returncode, UNUSABLE)
        self.assertEqual(self.run_in_folder("view", GOOD, "-o", "no/such/folder.html").returncode, UNUSABLE)
        self.assertEqual(self.files(), [])

    def test_never_overwrites_what_it_reads(self):
        copy = self.path / "trace.json"
        copy.write_bytes(GOOD.read_bytes())
        done = self.run_in_folder("view", copy, "-o", copy)
        self.assertEqual(done.returncode, USAGE)
        self.assertEqual(copy.read_bytes(), GOOD.read_bytes())
        done = self.run_in_folder("report", GOOD, copy, "--html", copy)
        self.assertEqual(done.returncode, USAGE)
        self.assertEqual(copy.read_bytes(), GOOD.read_bytes())

    def test_says_when_there_is_no_browser(self):
        done = self.run_in_folder("view", GOOD, "--open", env={"PATH": "/nonexistent"})
        self.assertEqual(done.returncode, COMPLETE)
        self.assertIn(b"no browser", done.stderr)


if __name__ == "__main__":
    unittest.main()
