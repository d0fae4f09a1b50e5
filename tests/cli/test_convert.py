"""convert: the new file gives the same report, says what was lost in reading the old one, and is never half there."""
import collections
import gzip
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from program import COMPLETE, DATA, PARTIAL, PROGRAM, ROOT, UNUSABLE, USAGE, cases, recordings, run

GOOD = "cases/A00_good.json"
CUT = "cases/A01_truncated_mid_event.json"
# One of each kind of recording: the fixpoint of all files is tested on their tables (tests/export).
REPORTED = ("h200/ddp_rank0.pt.trace.json.gz", "h200/solid4_stack.pt.trace.json.gz", "golden/enc.pt.trace.json.gz",
            "jax/vm.trace.json.gz", "planted/thrash.pt.trace.json.gz")


def comparable(text):
    """A report without what is of the file and not of the recording: its path, size and count of names of rows."""
    report = json.loads(text)

    def strip(value):
        if isinstance(value, dict):
            return {k: strip(v) for k, v in value.items() if k not in ("source", "path", "files", "text_bytes", "metadata_event_count")}
        return [strip(v) for v in value] if isinstance(value, list) else value

    return strip(report)


# Arguments of PyTorch's events that the trace has no column for.
LOST_ARGUMENTS = {"Ev Idx", "Record function id", "Input Strides", "cbid", "context", "queued", "finished", "Op count"}
LOST_OF_COLLECTIVES = {"In split size", "Out split size", "Process Group Description", "Global rank start", "Global rank stride", "Rank"}
KEPT_OF_COLLECTIVES = {"Collective name", "In msg nelems", "Out msg nelems", "Group size", "dtype", "Process Group Name", "Process Group Ranks"}


def kept(event, lost):
    """The event without what is lost; None for metadata, which are of the file's rows."""
    if event["ph"] == "M":
        return None
    gone = LOST_ARGUMENTS | LOST_OF_COLLECTIVES | (KEPT_OF_COLLECTIVES if event.get("cat") == "cpu_op" else set())
    arguments = event.get("args", {})
    lost.update((gone - KEPT_OF_COLLECTIVES) & arguments.keys())
    arguments = {key: value for key, value in sorted(arguments.items()) if key not in gone}
    return {**{key: value for key, value in sorted(event.items()) if key != "args"}, **({"args": arguments} if arguments else {})}


class Convert(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def test_the_report_is_the_same(self):
        for name in (*REPORTED, *cases()):
            with self.subTest(name):
                new = self.path("new.json")
                done = run("convert", name, "-o", new)
                before = run("report", name, "--json")
                if before.status == UNUSABLE:
                    self.assertEqual(done.status, UNUSABLE)
                    self.assertFalse(os.path.exists(new))
                    continue
                if "ranks" in json.loads(before.out) and len(json.loads(before.out)["ranks"]) > 1:
                    continue  # several recordings: the first is taken, see below
                # As `ops`: a report may find nothing to say of a file that was read whole.
                self.assertEqual(done.status, run("ops", name).status, done.err)
                after = run("report", new, "--json")
                self.assertEqual(after.status, before.status)
                self.assertEqual(comparable(after.out), comparable(before.out))
                os.remove(new)

    def test_the_order_of_operators_is_the_same(self):
        name = "golden/conv.pt.trace.json.gz"  # has a mark on a GPU row as long as the copy in it
        self.assertEqual(run("convert", name, "-o", self.path("conv.json")).status, COMPLETE)
        self.assertEqual(run("ops", self.path("conv.json"), "--csv").out, run("ops", name, "--csv").out)

    def test_gzip_by_its_name_and_standard_output_give_the_same_text(self):
        run("convert", GOOD, "-o", self.path("a.json"))
        run("convert", GOOD, "-o", self.path("a.json.gz"))
        text = pathlib.Path(self.path("a.json")).read_bytes()
        self.assertEqual(gzip.decompress(pathlib.Path(self.path("a.json.gz")).read_bytes()), text)
        self.assertEqual(run("convert", "-", "-o", "-", stdin=(DATA / GOOD).read_bytes()).out.encode(), text)
        self.assertEqual(json.loads(text)["schemaVersion"], 1)

    def test_what_was_lost_is_said_now_and_in_the_new_file(self):
        done = run("convert", CUT, "-o", self.path("a.json"))
        self.assertEqual(done.status, PARTIAL)
        self.assertIn("file_cut", done.err)
        again = run("report", self.path("a.json"), "--json")
        self.assertEqual(again.status, PARTIAL)
        self.assertEqual(again.json()["status"], "partial")
        twice = run("convert", self.path("a.json"), "-o", self.path("b.json"))
        self.assertEqual(twice.status, PARTIAL)
        self.assertEqual(pathlib.Path(self.path("a.json")).read_bytes(), pathlib.Path(self.path("b.json")).read_bytes())

    def test_one_recording_of_several(self):
        both = "cases/A11_concatenated.json"
        done = run("convert", both, "--rank", "1", "-o", self.path("a.json"))
        self.assertEqual(done.status, COMPLETE, done.err)
        self.assertEqual(run("report", self.path("a.json"), "--json").json()["found"]["rank"], 1)
        self.assertIn("--rank", run("convert", both, "-o", self.path("a.json")).err)

    def test_wrong_usage(self):
        for output in ("a.txt", "a.json.zst", "a"):
            with self.subTest(output):
                done = run("convert", GOOD, "-o", self.path(output))
                self.assertEqual(done.status, USAGE)
                self.assertIn("no format is known by this name", done.err)
        self.assertEqual(run("convert", GOOD).status, USAGE)
        same = run("convert", GOOD, "-o", GOOD)
        self.assertEqual(same.status, USAGE)
        self.assertIn("another", same.err)
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_what_cannot_be_written(self):
        no_folder = run("convert", GOOD, "-o", self.path("none/a.json"))
        self.assertEqual(no_folder.status, UNUSABLE)
        self.assertIn("none/a.json: cannot be written: No such file or directory", no_folder.err)
        os.symlink("/dev/full", self.path("full.json"))
        full = run("convert", GOOD, "-o", self.path("full.json"))
        self.assertEqual(full.status, UNUSABLE)
        self.assertIn("No space left on device", full.err)
        with open("/dev/full", "wb") as device:
            done = subprocess.run([PROGRAM, "convert", DATA / GOOD, "-o", "-"], stdout=device, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, UNUSABLE)
        self.assertIn(b"No space left on device", done.stderr)

    def test_a_full_disk_leaves_no_half_file(self):
        limited = ["bash", "-c", 'ulimit -f 64; exec "$@"', "-", PROGRAM, "convert", str(DATA / "h200/tiny.pt.trace.json.gz")]
        for name in ("a.json", "a.json.gz"):
            done = subprocess.run([*limited, "-o", self.path(name)], capture_output=True, check=False)
            self.assertEqual(done.returncode, UNUSABLE)
            self.assertIn(b"File too large", done.stderr)
            self.assertEqual(os.listdir(self.folder.name), [])

    def test_events_are_pytorchs_but_for_what_the_page_lists(self):
        page = (ROOT / "docs" / "formats" / "chrome-trace.md").read_text()
        lost_section = page[page.index("## What is lost"):]
        for name in ("h200/ddp_rank0.pt.trace.json.gz", "h200/solid4_stack.pt.trace.json.gz", "h200/graph.pt.trace.json.gz"):
            with self.subTest(name):
                before = json.loads(gzip.decompress((DATA / name).read_bytes()))
                after = run("convert", name, "-o", "-").json()
                lost = set()
                theirs, ours = (collections.Counter(map(json.dumps, filter(None, (kept(e, lost) for e in d["traceEvents"])))) for d in (before, after))
                self.assertGreater(len(theirs), 1000)
                self.assertEqual(list((theirs - ours).items())[:3], [])
                self.assertEqual(list((ours - theirs).items())[:3], [])
                self.assertEqual([key for key in lost if f"`{key}`" not in lost_section], [])
                for key in before.keys() - after.keys():
                    self.assertIn(f"`{key}`", lost_section)

    def test_valid_json_for_every_reader(self):
        for name in (recordings()[0], "cases/A04_backslash_paths.json", "cases/A05_unescaped_quotes.json", "cases/A07_inf_nan_na.json"):
            with self.subTest(name):
                done = run("convert", name, "-o", "-")
                self.assertIn(done.status, (COMPLETE, PARTIAL))
                events = done.json()["traceEvents"]  # strict: no NaN
                self.assertTrue(all("name" in event and "ph" in event for event in events))


if __name__ == "__main__":
    unittest.main()
