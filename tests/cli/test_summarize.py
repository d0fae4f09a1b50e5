"""stepscope summarize and merge: the same bytes by any way, folders, patterns and lists, damage, outputs that must not be."""
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile
import unittest

from program import COMPLETE, DATA, PARTIAL, PROGRAM, UNUSABLE, USAGE, run
from test_streams import run_on_terminal

H200 = DATA / "h200"
RANKS = [H200 / f"ddp_rank{rank}.pt.trace.json.gz" for rank in (0, 1)]
MOST_BYTES = 256 * 1024


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_here(self, *arguments, **more):
        return run(*arguments, cwd=self.folder, **more)

    def assert_status(self, done, status):
        self.assertEqual(done.status, status, done.err + done.out)


class Summarize(InFolder):
    def test_every_way_gives_the_same_bytes(self):
        self.assert_status(self.run_here("summarize", *RANKS, "-o", "both.sss"), COMPLETE)
        both = (self.folder / "both.sss").read_bytes()
        for rank in RANKS:
            self.assert_status(self.run_here("summarize", rank), COMPLETE)
        names = ["ddp_rank1.sss", "ddp_rank0.sss"]
        self.assert_status(self.run_here("merge", *names, "-o", "merged.sss"), COMPLETE)
        self.assertEqual((self.folder / "merged.sss").read_bytes(), both)
        self.assert_status(self.run_here("merge", "merged.sss", *names, "-o", "again.sss"), COMPLETE)
        self.assertEqual((self.folder / "again.sss").read_bytes(), both)
        self.assert_status(self.run_here("summarize", names[1], RANKS[1], "-o", "mixed.sss"), COMPLETE)
        self.assertEqual((self.folder / "mixed.sss").read_bytes(), both)
        self.assert_status(self.run_here("summarize", *RANKS, "--jobs", "1", "--threads", "1", "-o", "one.sss"), COMPLETE)
        self.assertEqual((self.folder / "one.sss").read_bytes(), both)

    def test_a_recorded_rank_takes_a_few_kilobytes(self):
        for recording in sorted(H200.glob("*.pt.trace.json.gz")):
            with self.subTest(recording=recording.name):
                done = self.run_here("summarize", recording, "-o", "x.sss")
                self.assertIn(done.status, (COMPLETE, PARTIAL), done.err)
                self.assertLess((self.folder / "x.sss").stat().st_size, MOST_BYTES // 4)

    def test_pipes(self):
        with open(RANKS[0], "rb") as file:
            done = subprocess.run([PROGRAM, "summarize", "-", "-o", "-"], stdin=file, capture_output=True, check=False)
        self.assertEqual(done.returncode, COMPLETE, done.stderr)
        again = subprocess.run([PROGRAM, "merge", "-", "-o", "-"], input=done.stdout, capture_output=True, check=False)
        self.assertEqual(again.stdout, done.stdout)
        status, text = run_on_terminal(["summarize", str(RANKS[0]), "-o", "-"], 80)
        self.assertEqual(status, USAGE)
        self.assertIn("terminal", text)

    def test_names_of_the_output(self):
        self.assert_status(self.run_here("summarize", *RANKS), USAGE)
        self.assert_status(self.run_here("summarize", "-", stdin=RANKS[0].read_bytes()), USAGE)
        done = self.run_here("summarize", "missing.json")
        self.assert_status(done, UNUSABLE)
        self.assertIn("missing.json: ", done.err)
        os.mkdir(self.folder / "run.1")
        shutil.copy(RANKS[0], self.folder / "run.1")
        self.assert_status(self.run_here("summarize", "run.1/"), COMPLETE)
        self.assertTrue((self.folder / "run.1.sss").exists())

    def test_an_unusable_file_is_kept_and_named(self):
        (self.folder / "rank7.json").write_text("")
        done = self.run_here("summarize", RANKS[0], "rank7.json", "missing.json", "-o", "run.sss")
        self.assert_status(done, PARTIAL)
        self.assertIn("rank7.json: file is empty", done.err)
        self.assertIn("missing.json", done.err)
        done = self.run_here("merge", "run.sss", "-o", "again.sss")
        self.assert_status(done, PARTIAL)
        self.assertIn("rank7.json: file is empty", done.err)
        self.assertEqual((self.folder / "run.sss").read_bytes(), (self.folder / "again.sss").read_bytes())

    def test_only_unusable_files_write_nothing(self):
        (self.folder / "rank7.json").write_text("")
        self.assert_status(self.run_here("summarize", "rank7.json", "missing.json", "-o", "run.sss"), UNUSABLE)
        self.assertEqual([p.name for p in self.folder.iterdir()], ["rank7.json"])

    def test_what_is_asked_of_one_rank(self):
        done = self.run_here("summarize", *RANKS, "--rank", "1", "-o", "one.sss")
        self.assert_status(done, COMPLETE)
        self.assertIn("1 rank,", done.err)
        done = self.run_here("summarize", *RANKS, "--rank", "5", "-o", "none.sss")
        self.assert_status(done, USAGE)
        self.assertIn("there are: 0, 1", done.err)
        self.assert_status(self.run_here("summarize", *RANKS, "--device", "9", "-o", "none.sss"), USAGE)
        self.assertFalse((self.folder / "none.sss").exists())


class Output(InFolder):
    def test_never_over_its_input(self):
        shutil.copy(RANKS[0], self.folder / "rank0.json.gz")
        before = (self.folder / "rank0.json.gz").read_bytes()
        os.symlink("rank0.json.gz", self.folder / "link")
        for output in ("rank0.json.gz", "link", "./rank0.json.gz"):
            self.assert_status(self.run_here("summarize", "rank0.json.gz", "-o", output), USAGE)
        self.assertEqual((self.folder / "rank0.json.gz").read_bytes(), before)
        self.assert_status(self.run_here("summarize", "rank0.json.gz"), COMPLETE)
        self.assert_status(self.run_here("merge", "rank0.sss", "-o", "rank0.sss"), USAGE)

    def test_never_over_what_is_no_summary(self):
        recording = self.folder / "other.json.gz"
        shutil.copy(RANKS[1], recording)
        before = recording.read_bytes()
        done = self.run_here("summarize", RANKS[0], "-o", recording.name)
        self.assert_status(done, USAGE)
        self.assertIn("other.json.gz: is there and is no summary", done.err)
        self.assert_status(self.run_here("summarize", RANKS[0], "-o", "a.sss"), COMPLETE)
        self.assert_status(self.run_here("merge", "a.sss", "-o", recording.name), USAGE)
        self.assertEqual(recording.read_bytes(), before)
        # A summary, an empty file and what is no plain file may be written over.
        (self.folder / "empty").touch()
        for output in ("b.sss", "empty", "/dev/null"):
            self.assert_status(self.run_here("merge", "a.sss", "-o", output), COMPLETE)
        self.assert_status(self.run_here("summarize", RANKS[1], "-o", "b.sss"), COMPLETE)

    def test_nothing_to_be_read_is_nothing_usable(self):
        (self.folder / "nothing").mkdir()
        for arguments in (("merge", "nothing"), ("summarize", "nothing"), ("merge", "zz*"), ("summarize", "@nowhere")):
            done = self.run_here(*arguments, "-o", "x.sss")
            self.assert_status(done, UNUSABLE)
            self.assertIn(arguments[1], done.err)
        self.assertFalse((self.folder / "x.sss").exists())

    def test_a_full_disk_leaves_the_old_file(self):
        self.assert_status(self.run_here("summarize", RANKS[1], "-o", "run.sss"), COMPLETE)
        old = (self.folder / "run.sss").read_bytes()
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        done = subprocess.run([PROGRAM, "summarize", RANKS[0], "-o", "run.sss"], cwd=self.folder, capture_output=True,
                              preexec_fn=limit, check=False)
        self.assertEqual(done.returncode, UNUSABLE)
        self.assertIn(b"run.sss", done.stderr)
        self.assertEqual([(p.name, p.read_bytes()) for p in self.folder.iterdir()], [("run.sss", old)])

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_a_folder_that_may_not_be_written(self):
        os.chmod(self.folder, 0o500)
        self.assert_status(self.run_here("summarize", RANKS[0]), UNUSABLE)

    def test_two_at_once_leave_a_whole_file(self):
        both = [subprocess.Popen([PROGRAM, "summarize", rank, "-o", "run.sss"], cwd=self.folder, stderr=subprocess.PIPE)
                for rank in RANKS]
        for process in both:
            process.communicate(timeout=60)
            self.assertEqual(process.returncode, COMPLETE)
        self.assert_status(self.run_here("merge", "run.sss", "-o", "same.sss"), COMPLETE)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["run.sss", "same.sss"])


class Merge(InFolder):
    def test_damage_is_refused_and_named(self):
        self.run_here("summarize", RANKS[0], "-o", "a.sss")
        self.run_here("summarize", RANKS[1], "-o", "b.sss")
        whole = (self.folder / "b.sss").read_bytes()
        for name, damaged in (("cut", whole[:-7]), ("flipped", whole[:100] + bytes([whole[100] ^ 1]) + whole[101:]),
                              ("newer", whole[:8] + b"\x63" + whole[9:]), ("empty", b""), ("text", b"hello")):
            with self.subTest(name=name):
                (self.folder / "b.sss").write_bytes(damaged)
                done = self.run_here("merge", "a.sss", "b.sss", "-o", "run.sss")
                self.assert_status(done, PARTIAL)
                self.assertIn("b.sss: ", done.err)
                os.remove(self.folder / "run.sss")
                self.assert_status(self.run_here("merge", "b.sss", "-o", "run.sss"), UNUSABLE)
        self.assertIn("newer stepscope", self.newer(whole))

    def newer(self, whole):
        (self.folder / "b.sss").write_bytes(whole[:8] + b"\x63" + whole[9:])
        return self.run_here("merge", "b.sss", "-o", "run.sss").err

    def test_a_trace_is_no_summary(self):
        done = self.run_here("merge", RANKS[0], "-o", "run.sss")
        self.assert_status(done, UNUSABLE)
        self.assertIn("stepscope summarize", done.err)


class FileLists(InFolder):
    def setUp(self):
        super().setUp()
        self.trace = RANKS[0].read_bytes()
        self.ending = ".json.gz"
        (self.folder / "run").mkdir()

    def put(self, *names):
        for name in names:
            (self.folder / "run" / (name + self.ending)).write_bytes(self.trace)

    def test_a_folder(self):
        self.put("rank10", "rank2")
        (self.folder / "run" / ".hidden.json").write_text("{}")
        (self.folder / "run" / "rank3.json.tmp").write_text("{}")
        (self.folder / "run" / "settings.json").write_text('{"batch": 3}')
        (self.folder / "run" / "broken.json").write_text("")
        done = self.run_here("summarize", "run", "-o", "x.sss")
        self.assert_status(done, PARTIAL)
        self.assertIn("2 files are no trace and left out: rank3.json.tmp, settings.json", done.err)
        self.assertIn("broken.json: file is empty", done.err)
        self.assertIn("2 ranks", done.err)
        self.run_here("summarize", "run", "-o", "run/x.sss")
        self.assertIn("its 1 summary is left out beside the traces", self.run_here("summarize", "run", "-o", "y.sss").err)
        self.assert_status(self.run_here("merge", "run", "-o", "merged.sss"), PARTIAL)

    def test_a_folder_without_any(self):
        done = self.run_here("summarize", "run", "-o", "x.sss")
        self.assert_status(done, UNUSABLE)
        self.assertIn("run: no trace", done.err)
        (self.folder / "run" / "rank0").mkdir()
        self.assertIn("'run/*/*'", self.run_here("summarize", "run", "-o", "x.sss").err)
        self.put("rank0")
        self.assertIn("stepscope summarize run", self.run_here("merge", "run", "-o", "x.sss").err)

    def test_a_pattern(self):
        self.put("rank0", "rank1", "other")
        done = self.run_here("summarize", "run/rank*", "-o", "x.sss")
        self.assert_status(done, COMPLETE)
        self.assertIn("2 ranks", done.err)
        done = self.run_here("summarize", "run/nobody*", "-o", "x.sss")
        self.assert_status(done, UNUSABLE)
        self.assertIn("run/nobody*: no file is called so", done.err)
        (self.folder / "run" / "a[1].json.gz").write_bytes(RANKS[0].read_bytes())
        self.assert_status(self.run_here("summarize", "run/a[1].json.gz", "-o", "x.sss"), COMPLETE)

    def test_a_list(self):
        self.put("rank0", "rank1")
        (self.folder / "run" / "files.txt").write_text(f"# ranks\r\nrank1{self.ending}\r\n\n./rank0{self.ending}\n")
        done = self.run_here("summarize", "@run/files.txt", "-o", "x.sss")
        self.assert_status(done, COMPLETE)
        self.assertIn("2 ranks", done.err)
        done = self.run_here("summarize", "@-", "-o", "y.sss", stdin=f"run/rank0{self.ending}\n".encode())
        self.assert_status(done, COMPLETE)
        (self.folder / "none.txt").write_text("\n# nothing\n")
        self.assertIn("@none.txt: no file in the list", self.run_here("summarize", "@none.txt", "-o", "x.sss").err)
        self.assertIn("no such list", self.run_here("summarize", "@missing.txt", "-o", "x.sss").err)


if __name__ == "__main__":
    unittest.main()
