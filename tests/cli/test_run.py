#!/usr/bin/env python3
"""`stepscope run` and `stepscope ctl` as a user has them: the program notices nothing, and every failure is said.

What needs PyTorch uses build/venv (tools/setup_python.sh) and is skipped without it.
"""
import json
import os
import pathlib
import pty
import resource
import select
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

from program import COMPLETE, PARTIAL, PROGRAM, ROOT, UNUSABLE, USAGE, columns, run

VENV_PYTHON = ROOT / "build" / "venv" / "bin" / "python"
TORCH_PYTHON = os.environ.get("STEPSCOPE_TORCH_PYTHON", str(VENV_PYTHON))


def has_torch():
    if not os.access(TORCH_PYTHON, os.X_OK):
        return False
    return subprocess.run([TORCH_PYTHON, "-c", "import torch"], capture_output=True, check=False).returncode == 0


HAS_TORCH = has_torch()
EXAMPLE = os.environ.get("STEPSCOPE_TRAIN_MLP", "")
LOOP = """
import signal, sys, torch
torch.set_num_threads(1)
model = torch.nn.Linear(16, 16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def step():
    optimizer.zero_grad()
    model(torch.ones(4, 16)).sum().backward()
    optimizer.step()
"""


class Folder(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.addCleanup(self.temporary.cleanup)

    def run_in(self, *arguments, **more):
        more.setdefault("timeout", 120)
        return run("run", *arguments, cwd=self.folder, **more)

    def captures(self, folder="stepscope-captures"):
        return sorted((self.folder / folder).glob("*.stepscope"))

    def start(self, *arguments, **more):
        process = subprocess.Popen([PROGRAM, "run", *map(str, arguments)], cwd=self.folder, stdin=more.pop("stdin", subprocess.DEVNULL),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def script(self, text, name="script.py"):
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return path


class PassThrough(Folder):
    def test_every_byte_of_standard_output_and_input(self):
        data = bytes(range(256)) * 20_000
        done = subprocess.run([PROGRAM, "run", "--", "cat"], input=data, capture_output=True, cwd=self.folder, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout == data), (0, True))

    def test_a_large_output_to_a_slow_reader(self):
        process = self.start("--", sys.executable, "-c", "import sys; sys.stdout.buffer.write(b'x' * 50_000_000)")
        time.sleep(0.2)
        out, _ = process.communicate(timeout=60)
        self.assertEqual((process.returncode, len(out)), (0, 50_000_000))

    def test_a_reader_that_goes(self):
        done = subprocess.run(f"'{PROGRAM}' run -- yes 2>/dev/null | head -1; echo ${{PIPESTATUS[0]}}", shell=True, executable="/bin/bash", capture_output=True,
                              cwd=self.folder, timeout=60, check=False)
        self.assertEqual(done.stdout.split(), [b"y", b"141"], "yes dies of SIGPIPE, as without us")

    def test_the_exit_status(self):
        for status in (0, 1, 2, 7, 126, 127, 255):
            self.assertEqual(self.run_in("--", "sh", "-c", f"exit {status}").status, status)

    def test_death_by_a_signal(self):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGINT, signal.SIGUSR1):
            self.assertEqual(self.run_in("--", "sh", "-c", f"kill -{int(number)} $$").status, -number)

    def test_arguments_and_environment_and_directory(self):
        done = self.run_in("--", sys.executable, "-c", "import os, sys; print(sys.argv[1:], os.getcwd(), os.environ['A'])", "--help", "a b", "", "--", environment={"A": "=1;"})
        self.assertEqual(done.out, f"['--help', 'a b', '', '--'] {os.path.realpath(self.folder)} =1;\n")

    def test_signals_are_passed_on(self):
        text = "import os, signal, sys, time\nfor n in {0}: signal.signal(n, lambda n, f: (print(n), sys.exit(9)))\nprint('ready', flush=True)\ntime.sleep(60)"
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
            process = self.start("--", sys.executable, "-c", text.format([int(number)]))
            self.assertEqual(process.stdout.readline(), b"ready\n")
            process.send_signal(number)
            out, _ = process.communicate(timeout=60)
            self.assertEqual((out, process.returncode), (f"{int(number)}\n".encode(), 9))

    def test_ctrl_c_comes_once(self):
        text = ("import signal, time\ncount = 0\ndef hear(n, f):\n    global count\n    count += 1\nsignal.signal(signal.SIGINT, hear)\n"
                "print('ready', flush=True)\nend = time.monotonic() + 1\nwhile time.monotonic() < end: time.sleep(0.05)\nprint('heard', count, flush=True)")
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.folder)
            os.execv(PROGRAM, [PROGRAM, "run", "--", sys.executable, "-c", text])
        said = b""
        was_sent = False
        while select.select([terminal], [], [], 30)[0]:
            try:
                piece = os.read(terminal, 4096)
            except OSError:
                break
            if not piece:
                break
            said += piece
            if b"ready" in said and not was_sent:
                was_sent = True
                os.write(terminal, b"\x03")
        _, status = os.waitpid(child, 0)
        os.close(terminal)
        self.assertIn(b"heard 1", said)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)

    def test_what_was_ignored_stays_ignored(self):
        done = subprocess.run(["sh", "-c", f"trap '' HUP; exec '{PROGRAM}' run -- sh -c 'kill -HUP $$; echo alive'"], capture_output=True, cwd=self.folder, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, b"alive\n"))
        done = self.run_in("--", sys.executable, "-c", "import signal\nprint(sorted(int(s) for s in signal.pthread_sigmask(signal.SIG_BLOCK, [])))")
        self.assertEqual(done.out, "[]\n")

    def test_processes_of_every_kind(self):
        programs = {
            "execs": "exec sh -c 'echo done'",
            "forks": "for i in 1 2 3 4 5 6 7 8; do (exit 0) & done; wait; echo done",
            "unsets": "unset LD_PRELOAD PYTHONPATH CUDA_INJECTION64_PATH STEPSCOPE_AGENT_OPTIONS; sh -c 'echo done'",
            "clears": "env -i /bin/sh -c 'echo done'",
        }
        for name, text in programs.items():
            with self.subTest(name):
                done = self.run_in("--", "sh", "-c", text)
                self.assertEqual((done.status, done.out), (0, "done\n"))

    def test_a_daemon_goes_on(self):
        text = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    os.closerange(0, 256)\n    time.sleep(0.5)\n    open('late', 'w').close()\n    os._exit(0)\n"
        self.assertEqual(self.run_in("--", sys.executable, "-c", text).status, 0)
        for _ in range(200):
            if (self.folder / "late").exists():
                return
            time.sleep(0.05)
        self.fail("the daemon was ended")

    def test_python_without_its_site(self):
        for flag in ("-I", "-S", "-E"):
            done = self.run_in("--", sys.executable, flag, "-c", "print('done')")
            self.assertEqual((done.status, done.out), (0, "done\n"))
            self.assertIn("nothing was captured", done.err)
            self.assertIn(flag, done.err)

    def test_the_users_own_sitecustomize_runs(self):
        (self.folder / "sitecustomize.py").write_text("import sys\nsys.from_the_user = 1\n")
        text = "import sys; print(sys.from_the_user, any('lib/stepscope' in p for p in sys.path))"
        done = self.run_in("--", sys.executable, "-c", text, environment={"PYTHONPATH": str(self.folder)})
        self.assertEqual(done.out, "1 False\n")

    def test_a_script_without_a_first_line(self):
        path = self.folder / "plain"
        path.write_text("echo $1\n")
        path.chmod(0o755)
        self.assertEqual(self.run_in("--", "./plain", "word").out, "word\n")


class Refusals(Folder):
    def test_usage(self):
        for arguments in ([], ["--"], ["--evry", "9", "--", "true"], ["--every", "2", "--", "true"], ["--schedule", "active=0", "--", "true"],
                          ["--every", "9", "--schedule", "active=1", "--", "true"], ["true"]):
            done = self.run_in(*arguments)
            self.assertEqual((done.status, done.out), (USAGE, ""), arguments)
            self.assertTrue(done.err.startswith("stepscope: "), done.err)

    def test_no_such_program(self):
        (self.folder / "text").write_text("x")
        for name, status in (("no-such-program", 127), ("./none", 127), ("./text", 126), ("/", 126), ("", 127)):
            done = self.run_in("--", name)
            self.assertEqual((done.status, done.out), (status, ""), name)
            self.assertIn("cannot run", done.err)
        self.assertFalse((self.folder / "stepscope-captures").exists())

    def test_a_directory_that_cannot_be_written(self):
        (self.folder / "file").write_text("")
        done = self.run_in("--out", "file/below", "--", "sh", "-c", "echo ran")
        self.assertEqual((done.status, done.out), (UNUSABLE, ""), "refused before the program ran")
        self.assertIn("file/below", done.err)

    def test_dry_run_shows_what_a_shell_takes(self):
        done = self.run_in("--dry-run", "--shapes", "--step", "it's", "--", "printf", "%s|", "a b", "'")
        self.assertEqual((done.status, done.err), (COMPLETE, ""))
        self.assertFalse((self.folder / "stepscope-captures").exists())
        again = subprocess.run(["sh", "-c", done.out], capture_output=True, cwd=self.folder, timeout=60, check=False)
        self.assertEqual(again.stdout, b"a b|'|")
        for name in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "LD_PRELOAD", "PYTHONPATH", "STEPSCOPE_AGENT_OPTIONS"):
            self.assertIn(name + "=", done.out)
        self.assertNotIn("CUDA_INJECTION64_PATH", self.run_in("--dry-run", "--no-gpu", "--", "true").out)

    def test_other_tools_are_left_in_place(self):
        done = self.run_in("--dry-run", "--", "true", environment={"CUDA_INJECTION64_PATH": "/opt/nsys.so", "LD_PRELOAD": "libc.so.6", "PYTHONPATH": "/a:/b"})
        self.assertNotIn("CUDA_INJECTION64_PATH", done.out)
        self.assertIn("/opt/nsys.so", done.err)
        self.assertIn("LD_PRELOAD=libc.so.6:/", done.out)
        self.assertIn(":/a:/b", done.out)

    def test_run_within_run(self):
        done = self.run_in("--", PROGRAM, "run", "--dry-run", "--", "true")
        self.assertEqual(done.out.count("libstepscope_agent.so"), 2, "preloaded once, injected twice: " + done.out)

    def test_help_fits_80_columns(self):
        for command in ("run", "ctl"):
            done = run(command, "--help")
            self.assertEqual(done.status, COMPLETE)
            self.assertLessEqual(max(columns(line) for line in done.out.splitlines()), 80)

    def test_nothing_to_capture_is_said(self):
        done = self.run_in("--", "true")
        self.assertEqual(done.status, 0)
        self.assertIn("nothing was captured", done.err)

    def test_ctl_without_an_agent(self):
        for arguments in (["start"], [str(os.getpid())], ["/no/socket", "stop"], ["1", "stop"]):
            done = run("ctl", *arguments, environment={"STEPSCOPE_AGENT_OPTIONS": ""})
            self.assertEqual(done.out, "", arguments)
            self.assertIn(done.status, (UNUSABLE, USAGE))
        self.assertIn("may not have loaded PyTorch or CUDA yet",
                      run("ctl", "status", environment={"STEPSCOPE_AGENT_OPTIONS": ""}).err.replace("\n", " "))
        self.assertEqual(run("ctl", "1", "halt").status, USAGE)
        self.assertIn("start, stop, status and flush", run("ctl", "bogusverb").err)


@unittest.skipUnless(HAS_TORCH, "no PyTorch in build/venv")
class WithTorch(Folder):
    def python(self, text, *options, **more):
        return self.run_in(*options, "--", TORCH_PYTHON, "-W", "ignore", self.script(LOOP + textwrap.dedent(text)), **more)

    def test_the_example_ends_with_its_verdict(self):
        done = self.run_in("--", TORCH_PYTHON, "-W", "ignore", ROOT / "examples" / "train_cpu.py")
        self.assertEqual(done.status, 0, done.err)
        self.assertEqual([line.split(":")[0] for line in done.out.splitlines()], ["step 10", "step 20"])
        self.assertEqual(len(self.captures()), 1)
        self.assertIn("19 steps", done.err)
        self.assertIn("Steps, from Optimizer.step#SGD.step, heard by the agent", done.err)
        self.assertIn("to see it again: stepscope report stepscope-captures/", done.err)
        report = run("ops", self.captures()[0], cwd=self.folder)
        self.assertEqual(report.status, COMPLETE, report.err)
        self.assertIn("aten::addmm", report.out)

    def test_a_schedule(self):
        done = self.python("for i in range(20): step()", "--schedule", "skip=3,warmup=1,active=3,repeat=2", "--no-report")
        self.assertEqual(done.status, 0, done.err)
        steps = run("steps", self.captures()[0], cwd=self.folder)
        self.assertEqual(steps.status, COMPLETE, steps.err)
        done = self.python("for i in range(3): step()", "--schedule", "skip=9,active=1", "--out", "second")
        self.assertIn("ended after 3 steps", done.err)
        done = self.python("torch.ones(3)", "--every", "5", "--out", "third")
        self.assertIn("--step", done.err)

    def test_optimizers_that_alternate_are_one_step(self):
        """As a GAN's two: of one class, each with its own zero_grad, backward and step."""
        done = self.python("""
            other = torch.nn.Linear(16, 16)
            second = torch.optim.SGD(other.parameters(), lr=0.01)
            def pair():
                step()
                second.zero_grad()
                other(model(torch.ones(4, 16))).sum().backward()
                second.step()
            for i in range(12): pair()""", "--schedule", "skip=3,warmup=1,active=4,repeat=1", "--no-report")
        self.assertEqual(done.status, 0, done.err)
        document = run("report", self.captures()[0], "--json", cwd=self.folder).json()
        self.assertEqual([document["steps"][key] for key in ("count", "first", "last")], [4, 4, 7])
        self.assertEqual(document["steps"]["source"], "optimizer_step")
        self.assertEqual(document["steps"]["source_detail"], "every 2nd Optimizer.step#SGD.step, heard by the agent")
        rows = {row["key"]: row["count"] for row in run("ops", self.captures()[0], "--json", cwd=self.folder).json()["rows"]}
        self.assertEqual(rows["Optimizer.step#SGD.step"], 8)
        self.assertEqual(rows["aten::addmm"], 12)

    def test_a_killed_program_keeps_what_was_written(self):
        done = self.python("""
            import os, time
            for i in range(50): step()
            time.sleep(2.5)
            os.kill(os.getpid(), signal.SIGKILL)""")
        self.assertEqual(done.status, -signal.SIGKILL, done.err)
        self.assertEqual(run("report", self.captures()[0], cwd=self.folder).status, PARTIAL)

    def test_ends_that_run_no_code_of_c(self):
        """os._exit, and Ctrl-C of which Python dies: the last second is in the file, and nothing calls it cut."""
        for name, end in (("exit", "import os; os._exit(3)"), ("interrupt", "import os; os.kill(os.getpid(), signal.SIGINT); step()")):
            done = self.python("for i in range(20): step()\n" + end, "--out", name, "--no-report")
            self.assertEqual(done.status, 3 if name == "exit" else -signal.SIGINT, done.err)
            report = run("report", self.captures(name)[0], "--json", cwd=self.folder)
            self.assertEqual(report.status, COMPLETE, report.err)
            self.assertEqual(report.json()["steps"]["count"], 19)

    def test_a_forked_child_that_trains(self):
        done = self.python("""
            import multiprocessing
            def train():
                for i in range(20): step()
            child = multiprocessing.get_context("fork").Process(target=train)
            child.start()
            child.join()
            sys.exit(child.exitcode)""", "--children", "--no-report")
        self.assertEqual(done.status, 0, done.err)
        counts = [run("report", path, "--json", cwd=self.folder).json()["steps"]["count"] for path in self.captures()]
        self.assertIn(19, counts)

    def recording_of(self, path):
        run("convert", path, "-o", "converted.json", cwd=self.folder)
        return json.loads((self.folder / "converted.json").read_text())["stepscope"]

    def test_a_fork_and_a_program_in_the_place_of_another_have_starts_of_their_own(self):
        done = self.python("""
            import os
            for i in range(8): step()
            if len(sys.argv) == 1:
                if os.fork() == 0:
                    for i in range(8): step()
                    sys.exit()
                os.wait()
                os.execv(sys.executable, [sys.executable, "-W", "ignore", __file__, "again"])""", "--children", "--no-report")
        self.assertEqual(done.status, 0, done.err)
        starts = [(path.name.split("_")[1].split(".")[0], self.recording_of(path)["process_start_ns"]) for path in self.captures()]
        self.assertEqual(len(starts), 3)
        self.assertEqual(len({number for number, _ in starts}), 2, "exec keeps the number of the process")
        self.assertEqual(len({start for _, start in starts}), 3)

    def test_a_short_window_has_the_lines_of_its_first_step(self):
        done = self.python("""
            import time
            for i in range(8):
                step()
                time.sleep(0.03)""", "--schedule", "skip=2,wait=1,warmup=1,active=3,repeat=1", "--no-report")
        self.assertEqual(done.status, 0, done.err)
        report = run("report", self.captures()[0], "--finding", "1", cwd=self.folder)
        self.assertRegex(report.out, r"script\.py\(\d+\)")

    def test_two_runs_into_one_directory(self):
        path = self.script(LOOP + "for i in range(5): step()\n")
        both = [self.start("--no-report", "--", TORCH_PYTHON, "-W", "ignore", path) for _ in range(2)]
        said = [process.communicate(timeout=120)[1].decode() for process in both]
        self.assertEqual(len(self.captures()), 2)
        named = [line.split()[-1] for text in said for line in text.splitlines() if "to see it" in line]
        self.assertEqual(sorted(named), [f"stepscope-captures/{p.name}" for p in self.captures()])

    def test_each_rank_has_its_file(self):
        self.script(LOOP + "for i in range(5): step()\n", "s.py")
        line = " & ".join(f"RANK={rank} WORLD_SIZE=2 '{TORCH_PYTHON}' -W ignore s.py" for rank in (0, 1))
        done = self.run_in("--", "sh", "-c", line + "; wait")
        self.assertEqual(done.status, 0, done.err)
        self.assertEqual(sorted(p.name.split("_rank")[1][0] for p in self.captures()), ["0", "1"])

    def test_a_late_rank_on_the_cpu_is_named_and_who_waits_for_it_does_not_pause(self):
        """With torchrun, which imports PyTorch, too, and has no steps."""
        self.script("""
            import time, torch, torch.distributed
            torch.set_num_threads(1)
            torch.distributed.init_process_group("gloo")
            rank = torch.distributed.get_rank()
            model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(16, 16))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            for i in range(12):
                optimizer.zero_grad()
                time.sleep(0.05 * rank)
                model(torch.ones(4, 16)).sum().backward()
                optimizer.step()
            torch.distributed.destroy_process_group()
            """, "late.py")
        done = self.run_in("--no-report", "--", TORCH_PYTHON, "-W", "ignore", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "late.py",
                           environment={"OMP_NUM_THREADS": "1"})
        self.assertEqual(done.status, 0, done.err)
        report = run("report", "stepscope-captures", "--json", cwd=self.folder).json()
        first = report["fleet"]["findings"][0] if "findings" in report["fleet"] else report["findings"][0]
        self.assertEqual(first["id"], "straggler")
        self.assertIn("Rank 1 comes", first["title"])
        (waiting,) = [path for path in self.captures() if "_rank0" in path.name]
        found = [finding["id"] for finding in run("report", waiting, "--json", cwd=self.folder).json()["findings"]]
        self.assertIn("exposed-communication", found)
        self.assertNotIn("host-pause", found)
        gate = run("gate", "stepscope-captures", "--vs", "stepscope-captures", "--json", "--allow-few", cwd=self.folder).json()
        self.assertEqual(gate["losses"], [], "the launcher is no run")

    def test_a_full_disk_harms_nobody(self):
        # The pauses let small chunks go out, on a busy machine too, where the first takes more: on a quick one all steps
        # would be one chunk, larger than the disk. All of it would be 630 kB.
        path = self.script("import time\n" + LOOP + "for i in range(6):\n    step()\n    time.sleep(1.2)\nfor i in range(3000): step()\nprint('done')\n")
        done = subprocess.run([PROGRAM, "run", "--no-report", "--", TORCH_PYTHON, "-W", "ignore", str(path)], capture_output=True, cwd=self.folder, timeout=120, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, 120_000)))
        self.assertEqual((done.returncode, done.stdout), (0, b"done\n"), done.stderr)
        self.assertEqual(run("report", self.captures()[0], cwd=self.folder).status, PARTIAL)

    def test_a_paused_program_is_started_and_stopped(self):
        path = self.script(LOOP + "print('ready', flush=True)\nwhile True: step()\n")
        process = self.start("--paused", "--", TORCH_PYTHON, "-W", "ignore", path)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        listed = run("ctl").out
        pid = next(line.split()[0] for line in listed.splitlines() if "paused" in line and str(self.folder) in line)
        self.assertIn("recording", run("ctl", pid, "start").out)
        self.assertIn("recording", run("ctl", pid, "flush").out)
        time.sleep(0.3)
        self.assertIn("paused", run("ctl", pid, "stop").out)
        process.terminate()
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGTERM)
        self.assertIn(b"captured; to see it", err)
        self.assertIn("ProfilerStep", run("ops", self.captures()[0], cwd=self.folder).out)

    def test_operators_are_those_of_torch_profiler(self):
        """The same steps, seen by both: counts are equal, times nearly so (each profiler's own cost is in the other's)."""
        done = self.python("""
            import ctypes, json
            from torch.profiler import profile, ProfilerActivity
            agent = ctypes.PyDLL(None)
            for i in range(3): step()
            with profile(activities=[ProfilerActivity.CPU]) as p:
                agent.stepscope_agent_start()
                for i in range(10): step()
                agent.stepscope_agent_stop()
            rows = {e.key: (e.count, e.cpu_time_total) for e in p.key_averages()}
            json.dump(rows, open('torch.json', 'w'))""", "--paused", "--no-report")
        self.assertEqual(done.status, 0, done.err)
        theirs = json.loads((self.folder / "torch.json").read_text())
        document = run("ops", self.captures()[0], "--json", cwd=self.folder)
        self.assertEqual(document.status, COMPLETE, document.err)
        ours = {row["key"]: row for row in document.json()["rows"]}
        names = {name for name in theirs if name.startswith("aten::") or "Backward" in name}
        self.assertGreater(len(names), 10)
        for name in names:
            self.assertIn(name, ours)
            self.assertEqual(ours[name]["count"], theirs[name][0], name)
        total = sum(theirs[name][1] for name in names)
        mine = sum(ours[name]["cpu_time_total"] for name in names)
        self.assertLess(max(total / mine, mine / total), 2, "microseconds of all operators together")



# A GPU for PyTorch on the CPU: torch.cuda's functions as far as --memory calls them.
FAKE_GPU_SETUP = """
import os, time, types, torch
now = peak = count = 0
def stats(device):
    pools = lambda: {"all": {"current": now, "peak": peak, "allocated": count, "freed": 0}}
    return {"allocated_bytes": pools(), "reserved_bytes": pools(), "allocation": pools()}
def reset(device):
    global peak
    peak = now
def record(*arguments, **more):
    if os.environ.get("FAKE_REFUSES"):
        raise RuntimeError("there is no history here")
torch._C._cuda_memoryStats, torch._C._cuda_resetPeakMemoryStats = stats, reset
torch._C._cuda_attach_out_of_memory_observer = lambda observer: None
torch.cuda.memory._record_memory_history = record
def snapshot():
    time.sleep(0.05)
    return {"segments": [], "device_traces": [[]]}
torch.cuda.memory._snapshot = snapshot
torch.cuda.is_current_stream_capturing = lambda: False
for call, _ in torch.cuda._queued_calls:  # CUDA's first use
    if type(getattr(call, "__self__", None)).__name__ == "Recorder":
        call()
class OnGpu(torch.nn.Parameter):
    is_cuda = True
    device = types.SimpleNamespace(index=0)
class Plain(torch.optim.Optimizer):
    def step(self, closure=None):
        torch.ones(4) * 2
optimizer = Plain([OnGpu(torch.ones(2))], {})
def step(size, allocations):
    global now, peak, count
    count += allocations
    now += size
    peak = max(now, peak)
    now -= size
    optimizer.step()
"""
# The allocator holds 1, 3 and 2 GiB in three steps and gives them back.
FAKE_GPU = FAKE_GPU_SETUP + """
for size in (1 << 30, 3 << 30, 2 << 30):
    step(size, 100)
print(torch._C._cuda_memoryStats(0)["allocated_bytes"]["all"]["peak"] >> 30)
"""
# The history holds 200,000 events, three for each allocation: half of them are younger than the peak at the fifth step.
FAKE_LONG_RUN = FAKE_GPU_SETUP + """
for number in range(10):
    time.sleep(0.002)
    step(1 << 30, 8000)
"""


@unittest.skipUnless(HAS_TORCH, "needs build/venv")
class Memory(Folder):
    def test_levels_by_step_and_snapshots(self):
        done = self.run_in("--memory", "--", TORCH_PYTHON, self.script(FAKE_GPU))
        self.assertEqual((done.status, done.out), (0, "3\n"), "the program's own peak is whole: " + done.err)
        self.assertIn("allocated at most 3.00 GiB", done.err)
        names = sorted(path.name.split(".", 2)[2] for path in (self.folder / "stepscope-captures").glob("*.*") if path.suffix != ".stepscope")
        self.assertEqual(names, ["end.pickle", "end.tensors.json"], "the history holds the peak until the end")
        self.assertEqual(done.err.count("stepscope memory stepscope-captures/"), 1, done.err)
        memory = run("report", "--json", self.captures()[0]).json()["memory"]
        # The first step has no known start.
        self.assertEqual([bytes >> 30 for bytes in memory["devices"][0]["allocated_peak_by_step_bytes"]], [3, 2])

    def test_a_step_in_which_we_write_a_snapshot_is_left_out(self):
        done = self.run_in("--memory", "--", TORCH_PYTHON, self.script(FAKE_LONG_RUN))
        self.assertEqual(done.status, 0, done.err)
        self.assertIn("1 step left out: Stepscope wrote a memory snapshot in it", " ".join(done.err.split()))
        capture = self.captures()[0]
        converted = self.folder / "converted.json"
        self.assertEqual(run("convert", capture, "-o", converted).status, COMPLETE)
        for file in (capture, converted):
            report = run("report", "--json", file).json()
            (left_out,) = report["steps"]["disturbed"]
            self.assertEqual(left_out["cause"], "Stepscope wrote a memory snapshot")
            self.assertGreater(left_out["overhead_ns"], 50_000_000)
            self.assertEqual(report["steps"]["count"], 8, "of nine whose start is known")
            blamed = [each["title"] for each in report["findings"] if each["id"] == "outlier-step"]
            self.assertFalse([title for title in blamed if title.startswith(f"Step {left_out['step']} ")], blamed)
            rows = run("steps", "--json", file).json()
            self.assertEqual((len(rows["rows"]), rows["disturbed"]), (8, [left_out]))
            self.assertNotIn(left_out["step"], [row["step"] for row in rows["rows"]])

    def test_a_failure_is_one_line_at_the_end(self):
        done = self.run_in("--memory", "--", TORCH_PYTHON, self.script(FAKE_GPU), environment={"FAKE_REFUSES": "1"})
        self.assertEqual((done.status, done.out), (0, "3\n"))
        self.assertEqual(done.err.count("no memory history: RuntimeError: there is no history here"), 1, done.err)

    def test_without_the_option_nothing_is_asked_for(self):
        done = self.run_in("--", TORCH_PYTHON, "-c", "import torch; print([c for c, _ in torch.cuda._queued_calls if 'Recorder' in repr(c)])")
        self.assertEqual((done.status, done.out), (0, "[]\n"))


@unittest.skipUnless(EXAMPLE, "the examples are not built (STEPSCOPE_BUILD_EXAMPLES)")
class CppProgram(Folder):
    def test_a_step_that_is_not_there_is_said(self):
        for name, is_there in (("nosuch", False), ("forward", True)):
            done = self.run_in("--step", name, "--no-report", "--", EXAMPLE, "traces")
            self.assertEqual(done.status, COMPLETE, done.err)
            self.assertEqual("no NVTX range named `nosuch`" in done.err, not is_there, done.err)


if __name__ == "__main__":
    unittest.main()
