"""A program that links Stepscope's library, and the agent: two copies of our code in one process, and `stepscope run`."""
import collections
import glob
import json
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest

AGENT = os.environ["STEPSCOPE_AGENT"]
STEPSCOPE = os.environ["STEPSCOPE_PROGRAM"]
PROGRAM = os.environ["STEPSCOPE_SPEAKING_PROGRAM"]


class Bridge(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_program(self, *words, options="", preload=AGENT):
        environment = dict(os.environ)
        environment.pop("STEPSCOPE_AGENT_OPTIONS", None)
        if preload:
            environment["LD_PRELOAD"] = preload
        if options is not None:
            environment["STEPSCOPE_AGENT_OPTIONS"] = f"directory={self.folder}" + options
        ended = subprocess.run([PROGRAM, *words], env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(ended.returncode, 0, ended.stderr + ended.stdout)
        return ended

    # How often each name stands in each capture, by (phase, name).
    def captures(self):
        counted = []
        for path in glob.glob(f"{self.folder}/**/*.stepscope", recursive=True):
            converted = path + ".json"
            subprocess.run([STEPSCOPE, "convert", path, "-o", converted], check=True, capture_output=True, timeout=60)
            with open(converted, encoding="utf-8") as file:
                events = json.load(file)["traceEvents"]
            counted.append(collections.Counter((event["ph"], event["name"]) for event in events))
        return counted

    def test_what_a_program_says_is_captured_without_a_session(self):
        self.run_program()
        (capture,) = self.captures()
        self.assertEqual((capture["X", "work"], capture["C", "i"]), (400, 400))

    def test_stepscope_run_needs_no_more(self):
        command = [STEPSCOPE, "run", "--out", self.folder, "--", PROGRAM]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((ended.returncode, ended.stdout), (0, ""), ended.stderr)
        (capture,) = self.captures()
        self.assertEqual(capture["X", "work"], 400)

    def test_an_agent_that_comes_later_is_found(self):
        self.run_program("load", AGENT, preload=None)
        (capture,) = self.captures()
        self.assertEqual(capture["X", "work"], 400)

    def test_without_options_nothing_is_captured(self):
        self.run_program(options=None)
        self.run_program("load", AGENT, options=None, preload=None)
        self.assertEqual(self.captures(), [])

    def test_no_agent_under_that_name(self):
        environment = {name: value for name, value in os.environ.items() if name != "STEPSCOPE_AGENT_OPTIONS"}
        for path, code in (("/nowhere.so", "/nowhere.so: the agent cannot be loaded"), ("libdl.so.2", "no agent of")):
            ended = subprocess.run([PROGRAM, "load", path], env=environment, capture_output=True, text=True, timeout=60)
            self.assertEqual(ended.returncode, 2)
            self.assertIn(code, ended.stdout)

    def test_steps_of_a_session_are_steps_of_the_capture(self):
        ended = self.run_program("session")
        self.assertRegex(ended.stdout, r"warning: no GPU rows: the agent's own capture has the GPU")
        self.assertIn("session: 202 spans", ended.stdout)
        (capture,) = self.captures()
        self.assertEqual(capture["X", "work"], 500)
        self.assertEqual([capture["X", f"ProfilerStep#{step}"] for step in range(6)], [1, 1, 1, 1, 1, 0])

    def test_steps_of_a_session_drive_the_schedule_of_the_capture(self):
        self.run_program("session", options=";schedule=wait=1,warmup=1,active=2,repeat=1")
        (capture,) = self.captures()
        self.assertEqual(capture["X", "work"], 200)
        self.assertEqual([capture["X", f"ProfilerStep#{step}"] for step in range(5)], [0, 0, 1, 1, 0])

    def test_a_paused_agent_leaves_the_gpu_to_the_session(self):
        ended = self.run_program("session", options=";start_paused=1")
        # Without CUPTI on this machine, its absence is said once; with it, there is nothing to say.
        self.assertNotIn("own capture", ended.stdout)
        self.assertLessEqual(len(re.findall("error: .*no GPU", ended.stdout)), 1)
        self.assertIn("session: 202 spans", ended.stdout)
        self.assertEqual(self.captures(), [])

    # The signal is heard by a thread, so its effect is waited for, by the agent's own account.
    def wait_for(self, pid, word):
        for _ in range(1000):
            status = subprocess.run([STEPSCOPE, "ctl", str(pid), "status"], capture_output=True, text=True, timeout=60, check=False)
            if word in status.stdout:
                return
            time.sleep(0.01)
        self.fail(status.stdout + status.stderr)

    def test_a_signal_starts_and_stops(self):
        command = [STEPSCOPE, "run", "--signal", "SIGUSR2", "--paused", "--no-report", "--out", self.folder]
        process = subprocess.Popen([*command, "--", PROGRAM, "lines"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)

        def say(line):
            process.stdin.write(line + "\n")
            process.stdin.flush()
            return int(process.stdout.readline())

        pid = say("before")
        for round_number in range(3):
            os.kill(pid, signal.SIGUSR2)
            self.wait_for(pid, "recording")
            say(f"inside {round_number}")
            # To the launcher, which passes it on.
            os.kill(process.pid, signal.SIGUSR2)
            self.wait_for(pid, "paused")
            say("between")
        _, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, said)
        (capture,) = self.captures()
        self.assertEqual([capture["X", f"inside {number}"] for number in range(3)], [100, 100, 100])
        self.assertEqual((capture["X", "before"], capture["X", "between"]), (0, 0))

    def test_a_signal_does_no_harm_to_a_process_that_records_nothing(self):
        command = [STEPSCOPE, "run", "--signal", "USR1", "--no-report", "--out", self.folder, "--", "sh", "-c",
                   "kill -USR1 $$; (kill -USR1 $$); sleep 0.1; echo alive"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((ended.returncode, ended.stdout), (0, "alive\n"), ended.stderr)

    def test_a_signal_that_the_program_uses_is_the_programs(self):
        command = [STEPSCOPE, "run", "--signal", "USR1", "--no-report", "--out", self.folder, "--", "bash", "-c",
                   "trap 'echo mine' USR1; kill -USR1 $$; echo alive"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((ended.returncode, ended.stdout), (0, "mine\nalive\n"), ended.stderr)

    def test_other_signals_are_refused(self):
        command = [STEPSCOPE, "run", "--signal", "SIGTERM", "--", "true"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("SIGUSR1 or SIGUSR2", ended.stderr)

    def test_forks(self):
        self.run_program("fork")
        (capture,) = self.captures()
        self.assertEqual(capture["X", "work"], 500)

    def test_forks_that_are_followed(self):
        self.run_program("fork", options=";follow_children=1")
        self.assertEqual(sorted(capture["X", "work"] for capture in self.captures()), [200, 500])


if __name__ == "__main__":
    unittest.main()
