"""Every example that a --help shows, and every command in README's table, is run as it is printed, in a folder that holds the
files it names.

Programs that an example names and that are not ours (jq, flamegraph.pl, torchrun, a training script) are stand-ins that read
their input and succeed: what is tested is that ours takes the words and finds something to do. Which examples there are is
read from the program, so a new one is run without a change here, and fails until its files are made below.
"""
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from program import COMPLETE, DATA, GATE, PARTIAL, PROGRAM, ROOT, run

# Of a gate any verdict will do.
ALLOWED = {"gate": {COMPLETE, GATE, PARTIAL}}
# ctl speaks to whatever program of this user has an agent, those of other tests too: tests/cli/test_run.py has it alone.
NOT_RUN = ("ctl",)
STAND_INS = {"jq": "cat > /dev/null", "flamegraph.pl": "cat > /dev/null", "xdg-open": "exit 0", "srun": 'exec "$@"',
             "torchrun": "exit 0", "python": "exit 0"}
SCRIPTS = ("train", "old", "new", "server")


def commands():
    """As `stepscope --help` lists them."""
    listed = run("--help").out.split("Commands:")[1].split("\n\n")[0]
    return re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE)


def examples(command):
    """The lines after "Examples:": continued ones joined, what is said beside them taken off, "..." filled in."""
    text = run(*command, "--help").out.split("Examples:\n")[1].split("\n\n")[0].replace("\\\n", " ")
    first = None
    for line in text.splitlines():
        if not re.match(r"  \S", line):  # goes on with what was said
            continue
        line = line.strip()
        outside = re.sub(r"'[^']*'", lambda quoted: "'" * len(quoted[0]), line)
        remark = re.search(r"(?<=\S) {3,}(?=\S)(?!--)", outside)
        line = line[: remark.start()] if remark else line
        first = first or line
        yield line.replace("...", first, 1) if line.startswith("...") else line


def with_marks(path):
    """A recording whose steps are marked by spans named `train` and `train_step` too."""
    document = json.loads(gzip.decompress((DATA / path).read_bytes()))
    steps = [event for event in document["traceEvents"] if str(event.get("name", "")).startswith("ProfilerStep#") and event.get("ph") == "X"]
    # Two of its three steps are enough, and read sooner.
    end = sorted(event["ts"] for event in steps)[2]
    document["traceEvents"] = [event for event in document["traceEvents"] if event.get("ph") == "M" or event.get("ts", end) < end]
    steps = [event for event in steps if event["ts"] < end]
    for name in ("train", "train_step"):
        document["traceEvents"] += [{**event, "name": name, "cat": "user_annotation"} for event in steps]
    return json.dumps(document).encode()


def make_files(folder):
    trace = with_marks("h200/solid4_stack.pt.trace.json.gz")
    ranks = [(DATA / "cases" / f"A17_rank{rank}.json").read_bytes() for rank in (0, 1)]
    snapshot = (DATA / "memory" / "C10_oom_fragmented.pickle").read_bytes()
    files = {"trace.json": trace, "both_ranks.json": ranks[0] + ranks[1], "run.stepscope": (DATA / "capture" / "cpu_v1_0.stepscope").read_bytes(),
             "damaged.json": (DATA / "cases" / "A01_truncated_mid_event.json").read_bytes(), "snapshot.pickle": snapshot, "before.pickle": snapshot,
             "after.pickle": snapshot, "old.txt": b"1.0\n" * 20, "new.txt": b"1.0\n" * 20, "data.bin": b"", "f": b"", "t.py": b"", "train.py": b"",
             "files.txt": b"rank0.json.gz\nrank1.json.gz\n", "parts.txt": b"rank0.sss\nrank1.sss\n"}
    small = (DATA / "golden" / "conv.pt.trace.json.gz").read_bytes()
    for name in ("trace.json.gz", "trace.pt.trace.json.gz", "before.json.gz", "after.json.gz", "new.json.gz", "new.pt.trace.json.gz", "run1.json.gz",
                 "run2.json.gz", "run3.json.gz", "new1.json.gz", "new2.json.gz"):
        files[name] = small
    for rank, text in enumerate(ranks):
        for place in ("", "base/", "runs/today/"):
            files[f"{place}rank{rank}.json.gz"] = gzip.compress(text)
        files[f"traces/rank{rank}.pt.trace.json.gz"] = gzip.compress(text)
    files["rank3.json.gz"] = small
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    run("summarize", "before.json.gz", "-o", "base.sss", cwd=folder)
    for rank in (0, 1):
        run("summarize", f"rank{rank}.json.gz", cwd=folder)
        for place in ("parts/part", "node"):
            target = folder / (f"{place}{rank}.sss" if place != "node" else f"node{rank}/part.sss")
            target.parent.mkdir(exist_ok=True)
            shutil.copy(folder / f"rank{rank}.sss", target)
    for name in ("run", "new"):
        run("merge", "rank0.sss", "rank1.sss", "-o", f"{name}.sss", cwd=folder)


def make_programs(folder):
    programs = folder / "programs"
    programs.mkdir()
    (programs / "stepscope").symlink_to(pathlib.Path(PROGRAM).resolve())
    for name, does in STAND_INS.items():
        (programs / name).write_text(f"#!/bin/sh\n{does}\n")
    for name in SCRIPTS:
        (folder / name).write_text("#!/bin/sh\nexit 0\n")
    for path in (*programs.iterdir(), *(folder / name for name in SCRIPTS)):
        if not path.is_symlink():
            path.chmod(0o755)
    return programs


def readme_commands():
    """What README's table says to type; a file that is written beside it (`.folded`) goes without."""
    table = (ROOT / "README.md").read_text().split("| you want to know | type |")[1].split("\n\n")[0]
    return [command.replace("NAME_OF_A_SPAN", "train") for command in re.findall(r"`(stepscope [^`]* [^`]+)`", table)]


# Nothing is read that other tests do not read: nothing for a sanitizer to find.
@unittest.skipIf(os.environ.get("STEPSCOPE_SANITIZED"), "runs every command once more")
class Help(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.folder = pathlib.Path(place.name)
        make_files(cls.folder)
        cls.environment = {**os.environ, "PATH": f"{make_programs(cls.folder)}:{os.environ['PATH']}", "SLURM_PROCID": "3"}

    def check(self, command, line):
        with self.subTest(line):
            done = subprocess.run(["bash", "-c", "set -o pipefail; " + line], cwd=self.folder, env=self.environment, capture_output=True,
                                  stdin=subprocess.DEVNULL, timeout=60, check=False)
            self.assertIn(done.returncode, ALLOWED.get(command, {COMPLETE, PARTIAL}), done.stderr.decode())

    def test_every_example_runs_as_it_is_printed(self):
        seen = 0
        has_agent = (pathlib.Path(PROGRAM).parent / "lib" / "stepscope" / "libstepscope_agent.so").exists()
        for command in commands():
            if command in NOT_RUN or command == "run" and not has_agent:
                continue
            for line in examples([command]):
                if command == "bench" and "--runs" not in line:  # it measures for a second or more
                    continue
                self.check(command, line.split("  (then")[0])  # what to type in another terminal
                seen += 1
        self.assertGreater(seen, 45)

    def test_every_command_of_the_readme_runs(self):
        typed = readme_commands()
        self.assertGreater(len(typed), 12)
        for line in typed:
            self.check(line.split()[1], line)

    def test_every_command_has_examples(self):
        for command in commands():
            with self.subTest(command):
                self.assertGreater(len(list(examples([command]))), 1)


if __name__ == "__main__":
    unittest.main()
