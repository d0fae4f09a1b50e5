"""libstepscope_agent.so as programs meet it: what it needs, what it shows, and that programs do not notice it."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

AGENT = os.environ["STEPSCOPE_AGENT"]
FORK_STORM = os.environ["STEPSCOPE_FORK_STORM"]


def run(*command, options="", **more):
    environment = dict(os.environ, LD_PRELOAD=AGENT)
    environment.pop("STEPSCOPE_AGENT_OPTIONS", None)
    if options is not None:
        environment["STEPSCOPE_AGENT_OPTIONS"] = options
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, **more)


class Library(unittest.TestCase):
    @unittest.skipUnless(shutil.which("readelf"), "no readelf")
    def test_needs_only_libc_and_libstdcxx(self):
        dynamic = subprocess.run(["readelf", "-dW", AGENT], capture_output=True, text=True, check=True).stdout
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
        allowed = re.compile(r"(libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s|ld-linux[-_a-z0-9]*)\.so")
        self.assertEqual([name for name in needed if not allowed.match(name)], [])
        self.assertIn("NODELETE", dynamic)

    @unittest.skipUnless(shutil.which("nm"), "no nm")
    def test_shows_only_its_entry_points(self):
        symbols = subprocess.run(["nm", "-D", "--defined-only", AGENT], capture_output=True, text=True, check=True)
        names = [line.split()[-1] for line in symbols.stdout.splitlines()]
        ours = re.compile(r"InitializeInjection(Nvtx2)?$|stepscope_agent_")
        self.assertIn("InitializeInjection", names)
        self.assertEqual([name for name in names if not ours.match(name)], [])

    @unittest.skipUnless(shutil.which("readelf"), "no readelf")
    def test_takes_little_of_the_static_thread_block(self):
        # glibc keeps 1,664 bytes for all libraries that are loaded later.
        headers = subprocess.run(["readelf", "-lW", AGENT], capture_output=True, text=True, check=True).stdout
        size = int(re.search(r"TLS\s+\S+\s+\S+\s+\S+\s+\S+\s+(0x[0-9a-f]+)", headers).group(1), 16)
        self.assertLess(size, 600)


class Preloaded(unittest.TestCase):
    def test_programs_without_python_or_cuda_do_not_notice(self):
        for options in ("", "directory=/nowhere", None):
            ended = run("/bin/true", options=options)
            self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "", ""))
            ended = run("/bin/sh", "-c", "echo one; ls / > /dev/null; exec /bin/echo two", options=options)
            self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "one\ntwo\n", ""))

    def test_starts_no_thread_and_leaves_no_file(self):
        with tempfile.TemporaryDirectory() as folder:
            script = "import os; print(len(os.listdir('/proc/self/task')))"
            ended = run(sys.executable, "-c", script, options=f"directory={folder}")
            self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "1\n", ""))
            self.assertEqual(os.listdir(folder), [])

    def test_signals_and_exit_statuses_pass(self):
        self.assertEqual(run("/bin/sh", "-c", "exit 42").returncode, 42)
        self.assertEqual(run("/bin/sh", "-c", "kill -TERM $$").returncode, -signal.SIGTERM)

    def test_a_storm_of_forks(self):
        for options in ("", "follow_children=1"):
            ended = run(FORK_STORM, options=options)
            self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_options_that_are_wrong_are_said_once_and_harm_nothing(self):
        ended = run("/bin/echo", "here", options="speed=9")
        self.assertEqual((ended.returncode, ended.stdout), (0, "here\n"))
        self.assertEqual(ended.stderr.count("\n"), 1)
        self.assertIn("speed=9", ended.stderr)

    def test_an_injection_into_a_machine_without_cuda_harms_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            script = (
                "import ctypes, os; agent = ctypes.CDLL(os.environ['LD_PRELOAD']);"
                "print(agent.InitializeInjection(), agent.InitializeInjection(), agent.stepscope_agent_arm())"
            )
            ended = run(sys.executable, "-c", script, options=f"directory={folder}")
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertEqual(ended.stdout, "1 1 1\n")
            self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    unittest.main()
