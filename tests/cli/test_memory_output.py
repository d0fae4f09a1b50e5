"""memory -o, --summary, --stats: files that Python and the command itself read again, and torch's statistics."""
import gzip
import json
import os
import pathlib
import pickle
import tempfile
import unittest

from program import COMPLETE, DATA, PARTIAL, UNUSABLE, USAGE, run

RECORDED = "memory/h200/snap.oom.pickle.gz"


class MemoryOutput(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def test_the_file_written_gives_the_same_report(self):
        before = run("memory", RECORDED, "--json").json()
        for name in ("a.pickle", "a.pickle.gz", "a.json"):
            with self.subTest(name):
                done = run("memory", RECORDED, "-o", self.path(name))
                self.assertEqual((done.status, done.out, done.err), (COMPLETE, "", ""))
                after = run("memory", self.path(name), "--json").json()
                self.assertEqual(after["devices"], before["devices"])
        original = pickle.loads(gzip.decompress((DATA / RECORDED).read_bytes()))
        written = pickle.loads(pathlib.Path(self.path("a.pickle")).read_bytes())
        self.assertEqual([e["action"] for e in written["device_traces"][0]], [e["action"] for e in original["device_traces"][0]])
        self.assertEqual(len(json.loads(pathlib.Path(self.path("a.json")).read_bytes())["segments"]), len(original["segments"]))

    def test_the_newest_entries_only(self):
        run("memory", RECORDED, "-o", self.path("a.pickle"), "--max-entries", "100")
        written = pickle.loads(pathlib.Path(self.path("a.pickle")).read_bytes())
        self.assertEqual([len(trace) for trace in written["device_traces"]], [100])
        history = run("memory", self.path("a.pickle"), "--json").json()["history"]
        self.assertEqual((history["entries"], history["truncated"]), (100, True))

    # Bytes are those of torch.cuda.memory_stats in tests/data/memory/README.md.
    def test_statistics_have_torchs_keys_and_numbers(self):
        stats = run("memory", RECORDED, "--stats").json()
        self.assertEqual(len(stats), 121)
        self.assertEqual(stats["reserved_bytes.all.peak"], 3_001_024_512)
        self.assertEqual(stats["requested_bytes.all.peak"], 2_891_536_444)
        self.assertEqual(stats["num_ooms"], 1)
        self.assertIsNone(stats["num_alloc_retries"])
        summary = run("memory", RECORDED, "--summary").out
        self.assertEqual({len(line) for line in summary.split("\n")[:-1]}, {77})
        self.assertIn("|            CUDA OOMs: 1            |        cudaMalloc retries: -         |", summary)

    def test_nothing_that_is_asked_is_left_out_in_silence(self):
        for words, said in ((("-o", self.path("a.pickle"), "--json"), "without -o"), (("--summary", "--json"), "--stats"),
                            (("--summary", "--at", "oom"), "--at"), (("-o", self.path("a.pickle"), "--folded"), "--folded"),
                            (("-o", self.path("a.pickle"), "--device", "0"), "--device")):
            with self.subTest(words):
                done = run("memory", RECORDED, *words)
                self.assertEqual(done.status, USAGE)
                self.assertIn(said, done.err)
        self.assertEqual(os.listdir(self.folder.name), [])
        self.assertEqual(run("memory", RECORDED, "--stats", "--json").json(), run("memory", RECORDED, "--stats").json())

    def test_a_loss_travels_with_the_file(self):
        lossy = run("memory", "memory/hostile/missing_keys.pickle", "--json")
        done = run("memory", "memory/hostile/missing_keys.pickle", "-o", self.path("a.pickle"))
        self.assertEqual((lossy.status, done.status), (PARTIAL, PARTIAL))
        again = run("memory", self.path("a.pickle"), "--json")
        self.assertEqual(again.status, PARTIAL)
        self.assertEqual(again.json()["notes"], lossy.json()["notes"])

    def test_what_is_refused(self):
        for arguments, status in ((("-o", "a.txt"), USAGE), (("--max-entries", "3"), USAGE), (("-o", "a.pickle", "--stats"), USAGE),
                                  (("--stats", "--device", "5"), USAGE), (("-o", "none/a.pickle"), UNUSABLE)):
            with self.subTest(arguments):
                words = [self.path(a) if a.startswith(("a.", "none/")) else a for a in arguments]
                self.assertEqual(run("memory", RECORDED, *words).status, status)
        cut = run("memory", "memory/C15_truncated.pickle", "-o", self.path("a.pickle"))
        self.assertEqual(cut.status, UNUSABLE)
        self.assertIn("sound", cut.err)
        self.assertEqual(os.listdir(self.folder.name), [])


if __name__ == "__main__":
    unittest.main()
