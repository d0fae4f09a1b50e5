"""Captures as files: there and back gives the same report, a cut or damaged one says so and exits with 4."""
import json
import os
import tempfile
import unittest

from program import COMPLETE, DATA, PARTIAL, UNUSABLE, USAGE, run

RECORDINGS = ("h200/mask_sync.pt.trace.json.gz", "h200/graph.pt.trace.json.gz", "h200/ddp_rank1.pt.trace.json.gz", "jax/vm.trace.json.gz")


def comparable(text):
    """A report without what is of the file and not of the recording."""
    def strip(value):
        if isinstance(value, dict):
            return {k: strip(v) for k, v in value.items() if k not in ("source", "path", "files", "text_bytes", "producer")}
        return [strip(v) for v in value] if isinstance(value, list) else value

    return strip(json.loads(text))


class Capture(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def capture_of(self, recording):
        path = self.path("run.stepscope")
        done = run("convert", recording, "-o", path)
        self.assertEqual((done.status, done.out, done.err), (COMPLETE, "", ""))
        return path

    def test_the_report_is_the_same_and_the_file_smaller(self):
        for recording in RECORDINGS:
            with self.subTest(recording):
                capture = self.capture_of(recording)
                self.assertLess(os.path.getsize(capture), os.path.getsize(DATA / recording))
                was, now = run("report", recording, "--json"), run("report", capture, "--json")
                self.assertEqual((was.status, now.status), (COMPLETE, COMPLETE))
                self.assertEqual(comparable(was.out), comparable(now.out))

    def test_there_and_back_is_the_same_json(self):
        direct, back = self.path("direct.json"), self.path("back.json")
        run("convert", RECORDINGS[0], "-o", direct)
        done = run("convert", self.capture_of(RECORDINGS[0]), "-o", back)
        self.assertEqual(done.status, COMPLETE)
        with open(direct, "rb") as one, open(back, "rb") as other:
            self.assertEqual(one.read(), other.read())

    def test_the_name_does_not_matter(self):
        capture = self.capture_of(RECORDINGS[0])
        renamed = self.path("trace.json.gz")
        os.rename(capture, renamed)
        self.assertEqual(run("report", renamed).status, COMPLETE)

    def test_cut_and_damaged_files_say_so_first(self):
        capture = self.capture_of(RECORDINGS[0])
        with open(capture, "rb") as file:
            whole = file.read()
        damaged = bytearray(whole)
        damaged[len(whole) // 2] ^= 0xFF
        for name, data, words in (("cut", whole[: len(whole) // 2], "The capture has no end"),
                                  ("damaged", bytes(damaged), "The file is damaged at byte")):
            with self.subTest(name):
                path = self.path(name + ".stepscope")
                with open(path, "wb") as file:
                    file.write(data)
                done = run("report", path)
                self.assertEqual(done.status, PARTIAL)
                self.assertIn(words, " ".join(done.out.split("\n\n")[0].split()))
                self.assertEqual(run("convert", path, "-o", self.path("whole.json")).status, PARTIAL)

    def test_what_is_no_capture_and_another_version_are_refused_in_words(self):
        path = self.path("x.stepscope")
        with open(path, "wb") as file:
            file.write(b"\x89SSC\r\n\x1a\n")
        done = run("report", path)
        self.assertEqual(done.status, UNUSABLE)
        self.assertIn("a capture without events", done.err)
        done = run("convert", RECORDINGS[0], "-o", self.path("x.capture"))
        self.assertEqual(done.status, USAGE)
        self.assertIn("no format is known by this name", done.err)
        self.assertIn("capture", done.err)


if __name__ == "__main__":
    unittest.main()
