"""Where output goes: terminals, pipes that close, full disks, closed streams."""
import os
import pty
import re
import resource
import select
import signal
import struct
import subprocess
import tempfile
import termios
import fcntl
import json
import time
import unittest

from program import COMPLETE, DATA, PROGRAM, UNUSABLE, columns, run, without_colour

LOADER = str(DATA / "h200" / "loader.pt.trace.json.gz")


def run_on_terminal(arguments, width, environment=None):
    """Runs the program with a terminal of `width` columns as its standard output and error."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG")}
    env.update({"TERM": "xterm-256color", **(environment or {})})
    process = subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, env=env)
    os.close(slave)
    out = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if not select.select([master], [], [], 0.2)[0]:
            continue
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        out += piece
    os.close(master)
    return process.wait(timeout=60), out.decode("utf-8").replace("\r\n", "\n")


class Streams(unittest.TestCase):
    def test_colour_and_width_follow_the_terminal(self):
        status, text = run_on_terminal(["report", LOADER], 100)
        self.assertEqual(status, COMPLETE)
        self.assertIn("\x1b[1m", text)
        longest = max(columns(line) for line in without_colour(text).splitlines())
        self.assertLessEqual(longest, 100)
        self.assertGreater(longest, 80)

    def test_no_color_and_dumb_terminals(self):
        for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            with self.subTest(environment):
                _, text = run_on_terminal(["report", LOADER], 80, environment)
                self.assertNotIn("\x1b[1m", text)
        _, dumb = run_on_terminal(["report", LOADER], 80, {"TERM": "dumb"})
        self.assertTrue(re.sub(r"\r.*?\r", "", dumb).isascii(), "a dumb terminal gets ASCII")

    def test_other_charsets_get_ascii(self):
        done = run("report", LOADER, environment={"LC_ALL": "en_US.ISO-8859-1"})
        self.assertTrue(done.out.isascii())

    def test_a_closed_pipe_is_no_crash(self):
        process = subprocess.Popen([PROGRAM, "ops", LOADER, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        err = process.stderr.read()
        process.stderr.close()
        self.assertEqual(process.wait(timeout=60), -signal.SIGPIPE, "as of cat; 141 in a shell")
        self.assertEqual(err, b"")

    def test_a_closed_pipe_of_whoever_ignores_that_signal(self):
        process = subprocess.Popen([PROGRAM, "ops", LOADER, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   restore_signals=False)  # Python ignores SIGPIPE
        process.stdout.close()
        err = process.stderr.read()
        process.stderr.close()
        self.assertEqual(process.wait(timeout=60), UNUSABLE)
        self.assertEqual(err, b"")

    def test_who_ends_the_program_finds_no_half_file(self):
        for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(ending), tempfile.TemporaryDirectory() as folder:
                for _ in range(20):  # until it is caught while it writes
                    process = subprocess.Popen([PROGRAM, "convert", LOADER, "-o", f"{folder}/out.json.gz"])
                    while process.poll() is None and not os.listdir(folder):
                        pass
                    process.send_signal(ending)
                    status, left = process.wait(timeout=60), os.listdir(folder)
                    self.assertIn(left, ([], ["out.json.gz"]))
                    if not left:
                        break
                    os.unlink(f"{folder}/out.json.gz")  # it was faster
                self.assertEqual((status, left), (-ending, []))

    def test_a_full_disk_is_said(self):
        with open("/dev/full", "wb") as full:
            for arguments in (["report", LOADER], ["ops", LOADER], ["--help"], ["--version"], ["report", "--help"]):
                with self.subTest(arguments):
                    done = subprocess.run([PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, check=False)
                    self.assertEqual(done.returncode, UNUSABLE)
                    self.assertIn(b"No space left", done.stderr)

    def test_closed_streams(self):
        for closing in (">&-", "<&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"):
            with self.subTest(closing):
                done = subprocess.run(["sh", "-c", f'exec "$0" report "$1" {closing}', PROGRAM, LOADER],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=60)
                self.assertEqual(done.returncode, UNUSABLE if " >&-" in " " + closing else COMPLETE)

    def test_too_little_memory_is_said(self):
        def run_within(mebibytes, *arguments):
            limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20, mebibytes << 20))
            return subprocess.run([PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, check=False, timeout=60, preexec_fn=limit)
        if run_within(1024, "--version").returncode != COMPLETE:
            self.skipTest("a sanitizer reserves more address space than the limit")
        for mebibytes in (24, 32, 48):
            with self.subTest(mebibytes):
                done = run_within(mebibytes, "report", LOADER)
                self.assertEqual(done.returncode, UNUSABLE)
                self.assertRegex(done.stderr, b"^stepscope: (out of memory|internal error: [^\n]*)\n$")
                self.assertEqual(done.stdout, b"")
                as_json = run_within(mebibytes, "report", LOADER, "--json")
                self.assertEqual(as_json.returncode, UNUSABLE)
                document = json.loads(as_json.stdout)
                self.assertEqual(document["status"], "unusable")
                self.assertRegex(document["error"]["message"], "^(out of memory|internal error: .*)$")
        # The stacks of so many threads do not fit: some cannot be started.
        self.assertIn(run_within(1024, "report", LOADER, "--threads", "1024").returncode, (COMPLETE, UNUSABLE))

    def test_progress_stays_out_of_logs(self):
        self.assertEqual(run("report", LOADER).err, "")


if __name__ == "__main__":
    unittest.main()
