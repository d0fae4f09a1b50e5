"""stepscope bench, end to end: statuses, the document, failures, interrupts, output. No wall time is asserted."""
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

from program import COMPLETE, PROGRAM, ROOT, UNUSABLE, USAGE, columns, run

DESCRIBED = set(re.findall(r"`([a-z0-9_.]+)`", (ROOT / "docs" / "formats" / "bench.md").read_text()))
WORDS = DESCRIBED | {part for word in DESCRIBED for part in word.split(".")}


def bench(*arguments, **options):
    return run("bench", *arguments, **options)


def keys_of(value):
    if isinstance(value, dict):
        return set(value).union(*map(keys_of, value.values()))
    return set().union(*map(keys_of, value)) if isinstance(value, list) else set()


class Measured(unittest.TestCase):
    def test_the_document_is_described_and_keeps_its_promises(self):
        done = bench("--json", "--runs", "12", "--", "sh", "-c", "exit 0", "--vs", "true")
        self.assertEqual(done.status, COMPLETE, done.err)
        document = done.json()
        self.assertEqual(keys_of(document) - WORDS, set())
        self.assertEqual((document["schema_version"], document["status"]), (1, "complete"))
        self.assertEqual([c["label"] for c in document["commands"]], ["A", "B"])
        self.assertEqual(document["commands"][0]["command"], "sh -c 'exit 0'")
        for command in document["commands"]:
            self.assertEqual(command["run_count"], 12)
            self.assertEqual(len(command["runs"]), 12)
            ordered = [command[k] for k in ("min_ns", "p25_ns", "median_ns", "p75_ns", "max_ns")]
            self.assertEqual(ordered, sorted(ordered))
            self.assertGreater(command["min_ns"], 0)
            self.assertLessEqual(command["median_interval_ns"]["low"], command["median_ns"])
            self.assertGreaterEqual(command["median_interval_ns"]["high"], command["median_ns"])
            self.assertEqual({r["exit_status"] for r in command["runs"]}, {0})
        # Taken in turns: every number once, and run k of both next to each other.
        orders = [[r["order"] for r in c["runs"]] for c in document["commands"]]
        self.assertEqual(sorted(orders[0] + orders[1]), list(range(24)))
        self.assertEqual([o // 2 for o in orders[0]], [o // 2 for o in orders[1]])
        self.assertIn(document["comparison"]["verdict"], ("faster", "slower", "no_difference"))
        self.assertEqual(document["comparison"]["pair_count"], 12)

    def test_the_same_command_is_not_told_apart_by_few_runs(self):
        for runs, verdicts in ((3, {"too_few"}), (5, {"too_few"})):
            document = bench("--json", "--runs", runs, "--", "true", "--vs", "true").json()
            self.assertIn(document["comparison"]["verdict"], verdicts)
            self.assertIsNone(document["comparison"]["ratio_interval"])

    def test_the_same_command_is_seldom_told_apart(self):
        # 5 of 100 comparisons may be wrong: three of three are as good as never.
        verdicts = [bench("--json", "--runs", "15", "--", "true", "--vs", "true").json()["comparison"]["verdict"] for _ in range(3)]
        self.assertIn("no_difference", verdicts)

    def test_text(self):
        done = bench("--runs", "12", "--", "true", "--vs", "sh", "-c", "true")
        self.assertEqual(done.status, COMPLETE)
        self.assertRegex(done.out, r"A  true\nB  sh -c true\n")
        self.assertRegex(done.out, r"B is slower than A: ratio|No difference can be told: ratio|B is faster than A: ratio")
        self.assertTrue(all(columns(line) <= 80 for line in done.out.splitlines()), done.out)
        self.assertEqual(done.err, "")
        self.assertRegex(bench("--runs", "2", "--", "true").out, r"an interval needs 6 runs")

    def test_a_time_is_filled_with_at_least_ten_runs(self):
        self.assertGreaterEqual(bench("--json", "--min-time", "0.001", "--", "true").json()["commands"][0]["run_count"], 10)

    def test_the_shell(self):
        with tempfile.TemporaryDirectory() as folder:
            done = bench("--shell", "--json", "--runs", "2", "--warmup", "0", "--", "printf", "x", ">>", "a", "--vs", "printf y | cat >> b", cwd=folder)
            self.assertEqual(done.status, COMPLETE, done.err)
            self.assertEqual(done.json()["commands"][0]["command"], "printf x >> a")
            self.assertEqual((pathlib.Path(folder, "a").read_text(), pathlib.Path(folder, "b").read_text()), ("xx", "yy"))

    def test_memory_that_can_be_seen(self):
        # Far above what the program itself takes, with a sanitizer in it too: a child starts with its parent's peak.
        document = bench("--json", "--runs", "1", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=536870912", "count=1").json()
        self.assertGreater(document["commands"][0]["max_rss_bytes"], 512 << 20)


class Streams(unittest.TestCase):
    def test_output_is_discarded_and_can_be_shown(self):
        command = ("sh", "-c", "echo to-output; echo to-error >&2")
        quiet = bench("--runs", "2", "--warmup", "0", "--", *command)
        self.assertNotIn("to-output\n", quiet.out.replace("'echo to-output", ""))
        self.assertEqual(quiet.err, "")
        shown = bench("--runs", "2", "--warmup", "0", "--show-output", "--", *command)
        self.assertEqual((shown.out.count("to-output\n"), shown.err.count("to-error\n")), (2, 2))

    def test_huge_output_blocks_nothing(self):
        text = "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2"
        self.assertEqual(bench("--runs", "2", "--", "sh", "-c", text).status, COMPLETE)

    def test_standard_input_is_empty(self):
        self.assertEqual(bench("--runs", "1", "--", "sh", "-c", "! read line", stdin=b"something\n").status, COMPLETE)


class Failures(unittest.TestCase):
    def test_a_command_that_fails_ends_it(self):
        text = "for i in 1 2 3 4 5 6 7; do echo line $i >&2; done; exit 7"
        done = bench("--runs", "3", "--", "sh", "-c", text)
        self.assertEqual((done.status, done.out), (UNUSABLE, ""))
        self.assertIn("failed in its warm-up: exit status 7", done.err)
        self.assertIn("line 3\nline 4\nline 5\nline 6\nline 7\n", done.err)
        self.assertNotIn("line 2\n", done.err)
        as_json = bench("--json", "--runs", "3", "--warmup", "0", "--", "true", "--vs", "sh", "-c", text)
        self.assertEqual(as_json.status, UNUSABLE)
        document = as_json.json()
        self.assertEqual((document["status"], document["failure"]["command"], document["failure"]["exit_status"]), ("unusable", "B", 7))
        self.assertTrue(document["failure"]["stderr_end"].endswith("line 7\n"))
        self.assertEqual(keys_of(document) - WORDS, set())

    def test_failures_can_be_measured(self):
        done = bench("--json", "--runs", "3", "--ignore-failure", "--", "sh", "-c", "exit 7")
        self.assertEqual(done.status, COMPLETE)
        self.assertEqual(done.json()["commands"][0]["failed_count"], 3)
        self.assertIn("3 of 3 runs failed (exit status 7)", bench("--runs", "3", "--ignore-failure", "--", "sh", "-c", "exit 7").out)

    def test_a_command_that_is_killed(self):
        done = bench("--", "sh", "-c", "kill -KILL $$")
        self.assertEqual(done.status, UNUSABLE)
        self.assertIn("killed by signal 9", done.err)
        run_of_it = bench("--json", "--runs", "1", "--ignore-failure", "--", "sh", "-c", "kill -SEGV $$").json()["commands"][0]["runs"][0]
        self.assertEqual((run_of_it["exit_status"], run_of_it["signal"]), (None, signal.SIGSEGV))

    def test_a_command_that_fails_later_says_which_run(self):
        with tempfile.TemporaryDirectory() as folder:
            text = "echo x >> n; test $(wc -l < n) -lt 4"
            done = bench("--warmup", "0", "--runs", "9", "--", "sh", "-c", text, cwd=folder)
            self.assertIn("failed in run 4: exit status 1", done.err)

    def test_usage(self):
        for arguments in ([], ["--"], ["--", "--vs", "true"], ["--", "true", "--vs"], ["--", "true", "--vs", "true", "--vs", "true"],
                          ["true"], ["--vs", "true", "--", "true"], ["--runs", "0", "--", "true"], ["--runs", "x", "--", "true"],
                          ["--runs", "3", "--min-time", "1", "--", "true"], ["--json", "--show-output", "--", "true"], ["--min-time", "nan", "--", "true"],
                          ["--min-time", "0", "--", "true"], ["--jsn", "--", "true"], ["--", "no-such-command-here"],
                          ["--", "/no/such/file"], ["--", "/"], ["--", ""], ["--seed", "-1", "--", "true"], ["--seed", "x", "--", "true"]):
            with self.subTest(arguments):
                done = bench(*arguments)
                self.assertEqual(done.status, USAGE, done.err)
                self.assertEqual(done.out if "--json" not in arguments else "", "")
                self.assertTrue(done.err.startswith("stepscope: "), done.err)
        self.assertIn("stepscope bench -- ls -l", bench("ls", "-l").err)
        self.assertIn("--json", bench("--jsn", "--", "true").err)
        self.assertIn("--seed: must be a whole number", bench("--seed", "x", "--", "true").err)
        self.assertIn("not found in PATH", bench("--", "no-such-command-here").err)

    def test_usage_as_a_document(self):
        for arguments in (["--json"], ["--json", "--", "no-such-command-here"], ["--json", "--runs", "x", "--", "true"]):
            with self.subTest(arguments):
                done = bench(*arguments)
                self.assertEqual(done.status, USAGE)
                self.assertEqual(done.json()["status"], "unusable")
                self.assertTrue(done.json()["error"]["message"])
        self.assertEqual(bench("--", "no-such-command-here", "--json").out, "", "that --json is the command's")

    def test_a_full_disk_is_said(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, "bench", "--runs", "1", "--", "true"], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, UNUSABLE)
        self.assertIn(b"No space left", done.stderr)

    def test_help_fits_80_columns(self):
        done = bench("--help")
        self.assertEqual(done.status, COMPLETE)
        self.assertIn("-- CMD [ARGS...] [--vs CMD [ARGS...]]", done.out)
        self.assertIn("Examples:", done.out)
        self.assertLessEqual(max(columns(line) for line in done.out.splitlines()), 80)


class Interrupts(unittest.TestCase):
    # The command of run 8 interrupts the program as Ctrl-C would, and would itself never end.
    TEXT = "echo x >> n; if [ $(wc -l < n) -eq 8 ]; then kill -INT $PPID; while :; do :; done; fi"

    def test_what_was_measured_is_shown_and_the_command_ends(self):
        for json_wanted in (False, True):
            with self.subTest(json=json_wanted), tempfile.TemporaryDirectory() as folder:
                done = bench(*["--json"] * json_wanted, "--warmup", "0", "--runs", "50", "--", "sh", "-c", self.TEXT, cwd=folder)
                self.assertEqual(done.status, -signal.SIGINT, done.err)
                if json_wanted:
                    document = done.json()
                    self.assertEqual((document["status"], document["interrupted_by_signal"]), ("partial", signal.SIGINT))
                    self.assertEqual(document["commands"][0]["run_count"], 7)
                else:
                    self.assertIn("7 runs, interrupted", done.out)

    def test_before_the_first_run_ended(self):
        done = bench("--", "sh", "-c", "kill -TERM $PPID; while :; do :; done")
        self.assertEqual((done.status, done.out), (-signal.SIGTERM, ""))
        self.assertIn("interrupted before there was anything to tell", done.err)

    def test_a_command_that_ignores_it_is_killed(self):
        done = bench("--", "sh", "-c", "trap '' INT; kill -INT $PPID; kill -INT $PPID; while :; do :; done")
        self.assertEqual(done.status, -signal.SIGINT)


if __name__ == "__main__":
    unittest.main()
