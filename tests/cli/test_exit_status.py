"""Exit status and status of the report for every kind of damage: 0 whole, 2 usage, 3 nothing usable, 4 in part."""
import os
import tempfile
import unittest

from program import COMPLETE, DATA, PARTIAL, UNUSABLE, USAGE, cases, recordings, run

UNUSABLE_CASES = {"A23_metadata_only.json", "A24_empty_events.json", "A25_zero_bytes.json"}
PARTIAL_CASES = {"A01_truncated_mid_event.json", "A10_two_ranks_interleaved.json", "A19_bad_durations.json",
                 "A21b_events_only_in_two_steps.json", "A35_merged_two_ranks.json"}
STATUS_WORD = {COMPLETE: "complete", PARTIAL: "partial", UNUSABLE: "unusable"}


def expected_status(name):
    if name in UNUSABLE_CASES:
        return UNUSABLE
    return PARTIAL if name in PARTIAL_CASES else COMPLETE


class ExitStatus(unittest.TestCase):
    def test_every_case(self):
        for path in cases():
            with self.subTest(path):
                status = expected_status(os.path.basename(path))
                as_json = run("report", path, "--json")
                self.assertEqual(as_json.status, status, as_json.err)
                self.assertEqual(as_json.json()["status"], STATUS_WORD[status])
                self.assertEqual(as_json.json()["schema_version"], 1)
                as_text = run("report", path)
                self.assertEqual(as_text.status, status, as_text.err)

    def test_every_recording_is_read_whole(self):
        for path in recordings():
            with self.subTest(path):
                self.assertEqual(run("report", path, "--json").status, COMPLETE)

    def test_three_kinds_of_nothing_have_three_messages(self):
        messages = {run("report", f"cases/{name}").err for name in UNUSABLE_CASES}
        self.assertEqual(len({m.split(": ", 2)[-1] for m in messages}), 3, messages)
        self.assertIn("empty", run("report", "cases/A25_zero_bytes.json").err)

    def test_a_file_that_is_no_file(self):
        missing = run("report", "no/such/file.json")
        self.assertEqual(missing.status, UNUSABLE)
        self.assertIn("no/such/file.json", missing.err)
        self.assertEqual(run("report", ".").status, UNUSABLE)
        self.assertEqual(run("report", "no/such/file.json", "--json").json()["status"], "unusable")

    def test_a_file_that_may_not_be_read(self):
        if os.geteuid() == 0:
            self.skipTest("root may read everything")
        with tempfile.NamedTemporaryFile() as file:
            os.chmod(file.name, 0)
            self.assertEqual(run("report", file.name).status, UNUSABLE)

    def test_text_that_is_no_trace(self):
        for text in (b"hello", b"\x00" * 64, b"[1, 2, 3]", b"{}", b"\x1f\x8b\x08\x00broken", b"\xff\xfe"):
            with self.subTest(text):
                done = run("report", "-", stdin=text)
                self.assertEqual(done.status, UNUSABLE)
                self.assertNotEqual(done.err, "")

    def test_one_of_several_files_cannot_be_read(self):
        done = run("report", "cases/A00_good.json", "cases/A25_zero_bytes.json", "--json")
        self.assertEqual(done.status, PARTIAL)
        self.assertEqual(sorted(r["status"] for r in done.json()["ranks"]), ["complete", "unusable"])
        self.assertEqual(run("report", "cases/A24_empty_events.json", "cases/A25_zero_bytes.json").status, UNUSABLE)

    def test_the_other_commands_agree(self):
        for command in ("ops", "steps", "stacks"):
            with self.subTest(command):
                if command != "stacks":  # these files have no Python frames
                    self.assertEqual(run(command, "cases/A00_good.json").status, COMPLETE)
                    self.assertEqual(run(command, "cases/A01_truncated_mid_event.json").status, PARTIAL)
                self.assertEqual(run(command, "cases/A25_zero_bytes.json").status, UNUSABLE)
                self.assertEqual(run(command).status, USAGE)

    def test_every_failure_leaves_a_document(self):
        for status, arguments in ((USAGE, ["report"]), (USAGE, ["report", "cases/A00_good.json", "--device", "9"]),
                                  (USAGE, ["report", "cases/A00_good.json", "--finding", "99"]), (USAGE, ["bogus"]),
                                  (USAGE, ["report", "cases/A00_good.json", "--rank", "3"]),
                                  (USAGE, ["ops", "cases/A00_good.json", "--sort", "nothing"]),
                                  (USAGE, ["diff", "cases/A00_good.json", "cases/A00_good.json", "--rank", "3"]),
                                  (UNUSABLE, ["report", "no/such/file.json"]), (UNUSABLE, ["report", "."]),
                                  (UNUSABLE, ["ops", "no/such/file.json"]), (UNUSABLE, ["steps", "cases/A25_zero_bytes.json"]),
                                  (UNUSABLE, ["mfu", "h200/ddp_rank0.pt.trace.json.gz"])):
            with self.subTest(arguments):
                done = run(*arguments, "--json")
                self.assertEqual(done.status, status)
                document = done.json()
                self.assertEqual(document["status"], "unusable")
                self.assertEqual(document["schema_version"], 1)
                self.assertEqual(document["error"]["code"] == "invalid_argument", status == USAGE, document["error"])
                self.assertIn(document["error"]["message"].split("\n")[0], done.err)
                self.assertEqual(run(*arguments).out, "", "without --json stdout stays empty")

    def test_standard_input(self):
        text = (DATA / "cases" / "A00_good.json").read_bytes()
        done = run("report", "-", "--json", stdin=text)
        self.assertEqual(done.status, COMPLETE)
        self.assertEqual(done.json()["devices"][0]["gpu_busy_ns"], 900_000)


if __name__ == "__main__":
    unittest.main()
