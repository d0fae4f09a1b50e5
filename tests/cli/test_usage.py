"""Wrong usage is answered with what to type; help has examples; asking for what is not there names what is."""
import unittest

from program import COMPLETE, USAGE, columns, run

COMMANDS = ("report", "ops", "stacks", "steps", "convert", "mfu", "memory")
GOOD = "cases/A00_good.json"


class Usage(unittest.TestCase):
    def test_help_and_version(self):
        self.assertIn("report", run("--help").out)
        self.assertEqual(run("--help").status, COMPLETE)
        self.assertRegex(run("--version").out, r"^stepscope \d+\.\d+\.\d+\n$")
        for command in COMMANDS:
            with self.subTest(command):
                done = run(command, "--help")
                self.assertEqual(done.status, COMPLETE)
                self.assertIn("Examples:", done.out)
                self.assertIn(f"stepscope {command}", done.out)

    def test_usage_lines_are_in_words(self):
        self.assertIn("Usage: stepscope ctl [PID | SOCKET | all] [start | stop | status | flush]\n", run("ctl", "--help").out)
        for command in COMMANDS + ("view", "run", "ctl", "bench"):
            self.assertNotRegex(run(command, "--help").out, r"\(\d*x\)")

    def test_no_command_shows_help_as_an_error(self):
        done = run()
        self.assertEqual(done.status, USAGE)
        self.assertIn("Commands:", done.err)
        self.assertEqual(done.out, "")

    def test_no_name_makes_a_line_of_its_own(self):
        # On CI a line that begins with "::" is a command to the runner.
        name = "nobody\r\n::error::planted,line=1:]]>.txt"
        for arguments in ([name], ["report", name], ["diff", name, GOOD], ["gate", name, GOOD], ["diff", "zz*" + name, GOOD],
                          ["merge", name, "-o", "-"], ["summarize", name, "-o", "-"], ["view", name], ["ops", name],
                          ["ops", GOOD, "--sort", name], ["report", GOOD, "--" + name], ["ctl", "all", name],
                          ["mfu", GOOD, "--device", name], ["report", "s3://" + name], ["memory", name]):
            with self.subTest(arguments):
                done = run(*arguments)
                self.assertNotEqual(done.status, COMPLETE)
                self.assertIn("::error::planted", done.err)
                self.assertNotIn("\r", done.err)
                self.assertFalse([line for line in done.err.split("\n") if line.lstrip().startswith("::")], done.err)

    def test_a_command_to_run_without_the_separator(self):
        done = run("run", "python", "-c", "print(5)")
        self.assertEqual(done.status, USAGE)
        self.assertIn("put `--` before the command: stepscope run -- python ...", done.err)
        self.assertIn("--jsn", run("run", "--jsn").err)

    def test_unknown_command(self):
        done = run("reprot", GOOD)
        self.assertEqual(done.status, USAGE)
        self.assertIn("`stepscope report`", done.err)
        self.assertIn("stepscope report trace.json", run("trace.json").err)

    def test_wrong_options(self):
        for arguments in (["report"], ["report", GOOD, "--jsn"], ["report", GOOD, "--top", "x"], ["report", GOOD, "--top", "-1"],
                          ["report", GOOD, "--window", "some"], ["report", GOOD, "--peak-flops", "0"],
                          ["report", GOOD, "--peak-flops", "nan"], ["report", GOOD, "--color", "blue"],
                          ["report", GOOD, "--width", "3"], ["report", GOOD, "--finding", "0"],
                          ["report", GOOD, "--finding", "99"], ["ops", GOOD, "--by", "color"],
                          ["ops", GOOD, "--sort", "nothing"], ["ops", GOOD, "--csv", "--json"],
                          ["stacks", GOOD, "--metric", "time"], ["steps", GOOD, "--csv", "--json"],
                          ["report", GOOD, "--threads", "0"], ["report", GOOD, "--device", "99999999999999999999"]):
            with self.subTest(arguments):
                done = run(*arguments)
                self.assertEqual(done.status, USAGE, done.out + done.err)
                if "--json" not in arguments:
                    self.assertEqual(done.out, "")
                self.assertTrue(done.err.startswith("stepscope: "), done.err)

    def test_a_wrong_number_is_answered_with_what_is_allowed(self):
        for option, values in (("--device", ("99999999999999999999", "-1", "1.5", "abc", "0x1", "")), ("--rank", ("1e3", "2147483648")),
                               ("--top", ("99999999999999999999", "ten")), ("--threads", ("0", "1.0")), ("--finding", ("-1",))):
            for value in values:
                with self.subTest(option=option, value=value):
                    done = run("report", GOOD, f"{option}={value}")
                    self.assertEqual(done.status, USAGE)
                    self.assertIn(option, done.err)
                    if value:
                        self.assertRegex(done.err, r"must be a whole number from \d+ to [\d,]+, not " + value)
        self.assertEqual(run("ops", GOOD, "--limit=-3").status, USAGE)

    def test_a_slip_is_answered_with_the_right_word(self):
        self.assertIn("--json", run("report", GOOD, "--jsn").err)
        self.assertIn("self_cpu_time_total", run("ops", GOOD, "--sort", "self_cpu_time").err)

    def test_what_is_not_there_is_answered_with_what_is(self):
        self.assertIn("it has: 0", run("report", GOOD, "--device", "3").err)
        self.assertEqual(run("report", GOOD, "--device", "3").status, USAGE)
        rank = run("report", "cases/A39_metadata_at_end.json", "--rank", "2")
        self.assertEqual(rank.status, USAGE)
        self.assertIn("5", rank.err)
        steps = run("report", "h200/solid.pt.trace.json.gz", "--steps", "nothing")
        self.assertEqual(steps.status, USAGE)
        self.assertIn("forward", steps.err)

    def test_what_was_asked_is_said(self):
        asked = run("report", GOOD, "--device", "0", "--json").json()["asked"]
        self.assertEqual(asked["device"], 0)
        self.assertEqual(asked["window"], "steps")

    def test_rank_chooses_a_recording_of_a_file(self):
        both = run("report", "cases/A11_concatenated.json", "--json").json()
        self.assertEqual(sorted(r["found"]["rank"] for r in both["ranks"]), [0, 1])
        one = run("report", "cases/A11_concatenated.json", "--rank", "1", "--json").json()
        self.assertEqual(one["found"]["rank"], 1)
        self.assertIn("2 recordings", run("steps", "cases/A11_concatenated.json").err)

    def test_help_fits_80_columns(self):
        for command in [[], *([name] for name in COMMANDS), ["run"], ["ctl"]]:
            for line in run(*command, "--help").out.splitlines():
                self.assertLessEqual(columns(line), 80, line)


if __name__ == "__main__":
    unittest.main()
