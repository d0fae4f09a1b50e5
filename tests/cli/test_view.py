"""view: a page is written whole or not at all, under a name that makes sense, and the exit status is report's."""
import gzip
import os
import pathlib
import pty
import subprocess
import tempfile
import threading
import unittest

from program import COMPLETE, DATA, PARTIAL, PROGRAM, UNUSABLE, USAGE

GOOD = DATA / "cases/A00_good.json"
CUT = DATA / "cases/A01_truncated_mid_event.json"
RECORDED = DATA / "h200/graph.pt.trace.json.gz"
SNAPSHOT = DATA / "memory/h200/snap.oom.pickle.gz"


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

    def test_the_page_alone_to_standard_output(self):
        view = self.run_in_folder("view", GOOD, "-o", "-")
        done = self.run_in_folder("report", GOOD, "--html", "-")
        self.assertEqual((done.returncode, done.stderr), (COMPLETE, b""))
        self.assertEqual(done.stdout, view.stdout)
        both = self.run_in_folder("report", GOOD, CUT, "--html", "-")
        self.assertEqual(both.returncode, PARTIAL)
        self.assertTrue(both.stdout.startswith(b"<!doctype html>"))
        self.assertEqual(self.run_in_folder("report", GOOD, "--html", "-", "--json").returncode, USAGE)
        self.assertEqual(self.run_in_folder("view", GOOD, "-o", "-", "--open").returncode, USAGE)
        self.assertEqual(self.files(), [])

    def test_no_page_and_no_binary_on_a_terminal(self):
        for words in (["view", GOOD, "-o", "-"], ["report", GOOD, "--html", "-"], ["convert", GOOD, "-o", "-"],
                      ["memory", SNAPSHOT, "-o", "-"]):
            with self.subTest(words):
                ours, theirs = pty.openpty()
                done = subprocess.run([PROGRAM, *map(str, words)], stdout=theirs, stderr=subprocess.PIPE, cwd=self.path)
                os.close(theirs)
                os.close(ours)
                self.assertEqual(done.returncode, USAGE)
                self.assertIn(b"standard output is a terminal", done.stderr)
        self.assertEqual(self.files(), [])

    def test_reads_pipes_as_it_reads_files(self):
        for kept in (GOOD, SNAPSHOT):
            text = kept.read_bytes()
            plain = gzip.decompress(text) if kept.name.endswith(".gz") else text
            for given in {text, plain}:
                with self.subTest(kept.name, size=len(given)):
                    done = self.run_in_folder("view", "-", input=given, timeout=60)
                    self.assertEqual((done.returncode, self.files()), (COMPLETE, ["report.html"]), done.stderr)
                    os.unlink(self.path / "report.html")
        done = self.run_in_folder("view", "-", "-o", "-", input=GOOD.read_bytes(), timeout=60)
        self.assertIn(b'id="stepscope-recording-0"', done.stdout)
        done = self.run_in_folder("view", "-", input=b"", timeout=60)
        self.assertEqual(done.returncode, UNUSABLE)
        self.assertIn(b"empty", done.stderr)

    def test_a_named_pipe_is_opened_once(self):
        pipe = self.path / "pipe"
        os.mkfifo(pipe)
        for command, kept, status in (("view", GOOD, COMPLETE), ("view", SNAPSHOT, COMPLETE), ("memory", SNAPSHOT, COMPLETE),
                                      ("memory", DATA / "cases/A38_memory_instants.json", PARTIAL), ("report", SNAPSHOT, UNUSABLE)):
            with self.subTest((command, kept.name)):
                writer = threading.Thread(target=lambda: self.write_into(pipe, kept.read_bytes()))
                writer.start()
                done = self.run_in_folder(command, pipe, timeout=60)
                writer.join()
                self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(b"type: stepscope memory FILE", done.stderr)

    def write_into(self, pipe, data):
        try:
            pipe.write_bytes(data)
        except BrokenPipeError:
            pass

    def test_a_snapshot_has_no_rank_window_or_peak(self):
        for option, value in (("--rank", "0"), ("--window", "all"), ("--peak", "989T"), ("--steps", "nosuch")):
            with self.subTest(option):
                done = self.run_in_folder("view", SNAPSHOT, option, value)
                self.assertEqual(done.returncode, USAGE)
                self.assertIn(value.encode() if option == "--steps" else option.encode(), done.stderr)
        self.assertEqual(self.files(), [])

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

    def test_two_recordings_are_compared_unless_they_are_ranks_of_one_run(self):
        two = DATA / "h200/solid.pt.trace.json.gz"
        for command in ("view", "report"):
            out = "-o" if command == "view" else "--html"
            self.assertEqual(self.run_in_folder(command, RECORDED, two, out, "two.html").returncode, COMPLETE)
            self.assertIn('id="stepscope-difference"', (self.path / "two.html").read_text())
        ranks = [DATA / f"h200/straggler_rank{rank}.pt.trace.json.gz" for rank in (0, 1)]
        self.assertEqual(self.run_in_folder("view", *ranks, "-o", "ranks.html").returncode, COMPLETE)
        self.assertNotIn('id="stepscope-difference"', (self.path / "ranks.html").read_text())

    def test_summaries_alone_make_the_page_of_the_report(self):
        ranks = [DATA / f"h200/straggler_rank{rank}.pt.trace.json.gz" for rank in (0, 1)]
        self.assertEqual(self.run_in_folder("summarize", *ranks, "-o", "run.sss").returncode, COMPLETE)
        done = self.run_in_folder("view", "run.sss")
        self.assertEqual(done.returncode, COMPLETE, done.stderr)
        self.assertEqual(self.files(), ["run.html", "run.sss"])
        report = self.run_in_folder("report", "run.sss", "--html", "-")
        self.assertEqual((self.path / "run.html").read_bytes(), report.stdout)
        (self.path / "bad.json").write_text("{")
        done = self.run_in_folder("view", "run.sss", "bad.json", "-o", "-")
        self.assertEqual(done.returncode, PARTIAL)
        self.assertIn(b"bad.json", done.stderr)

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
