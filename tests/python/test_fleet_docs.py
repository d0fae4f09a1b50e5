"""The blocks of docs/python/fleet.md, run in order beside a run of two ranks; and the Slurm array, run without Slurm."""

import contextlib
import io
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import support
from stepscope import _program, fleet

ROOT = support.DATA.parents[1]


def make_run(folder):
    run = Path(folder) / "run1"
    run.mkdir()
    for rank, path in enumerate(support.RANKS):
        shutil.copy(path, run / f"rank{rank}.pt.trace.json.gz")
    return run


class Page(unittest.TestCase):
    @support.needs("pandas", "pyarrow")
    def test_the_page_runs_as_printed(self):
        blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python" / "fleet.md").read_text(), re.S)
        self.assertGreater(len(blocks), 3)
        names: dict = {}
        out = io.StringIO()
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            make_run(folder)
            os.chdir(folder)
            try:
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                    for number, block in enumerate(blocks):
                        exec(compile(block, f"docs/python/fleet.md, block {number + 1}", "exec"), names)
            finally:
                os.chdir(before)
        for word in ("Rank 1 comes", "straggler", "exposed_communication_ns", "median over steps", "bytes", "2 of 2 files"):
            self.assertIn(word, out.getvalue())


class Slurm(unittest.TestCase):
    SCRIPT = ROOT / "examples" / "slurm" / "fleet.sh"

    def run_script(self, *arguments, **environment):
        return subprocess.run(
            ["bash", str(self.SCRIPT), *map(str, arguments)],
            capture_output=True,
            text=True,
            env={**os.environ, "STEPSCOPE": str(_program.path()), **environment},
        )

    def test_an_array_and_a_merge_answer_as_one_machine(self):
        with tempfile.TemporaryDirectory() as folder:
            run, parts, whole = make_run(folder), Path(folder) / "parts", Path(folder) / "run.sss"
            for number in range(2, 7):
                shutil.copy(support.RANKS[number % 2], run / f"rank {number}.json.gz")
            (run / "broken.json").write_bytes(b"")
            count, first = 3, 4  # --array=4-6
            for task in (4, 5, 6, 5):  # one of them twice
                done = self.run_script(
                    run, parts, SLURM_ARRAY_TASK_ID=str(task), SLURM_ARRAY_TASK_MIN=str(first), SLURM_ARRAY_TASK_COUNT=str(count)
                )
                self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(path.name for path in parts.iterdir()), ["part4.sss", "part5.sss", "part6.sss"])
            done = self.run_script("--merge", parts, whole)
            self.assertEqual(done.returncode, 0, done.stderr)
            told = fleet.load(whole)
            self.assertEqual(len(told), 7)
            self.assertEqual([source for source, _ in told.unreadable], [str(run / "broken.json")])
            self.assertEqual(told.summary, fleet.report(run, progress=False).summary)

    def test_a_task_without_files_and_one_that_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            run, parts = make_run(folder), Path(folder) / "parts"
            done = self.run_script(run, parts, SLURM_ARRAY_TASK_ID="7", SLURM_ARRAY_TASK_MIN="0", SLURM_ARRAY_TASK_COUNT="8")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(list(parts.iterdir()), [])
            done = self.run_script(run, parts, STEPSCOPE="/nonexistent/stepscope")
            self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    support.main()
