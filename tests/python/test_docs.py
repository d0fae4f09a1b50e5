"""The Python blocks of pages in docs/python, run in order, in a folder that holds the page's files under their names."""

import contextlib
import io
import os
import re
import shutil
import tempfile
import unittest
from pathlib import Path

import support

ROOT = support.DATA.parents[1]


def run_page(name: str, files: dict[str, Path]) -> str:
    """Runs the page's blocks and gives what they print."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python" / name).read_text(), re.S)
    assert len(blocks) > 2, "no blocks found"
    names: dict = {}
    out = io.StringIO()
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        for called, file in files.items():
            shutil.copy(file, Path(folder) / called)
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                for number, block in enumerate(blocks):
                    exec(compile(block, f"docs/python/{name}, block {number + 1}", "exec"), names)
        finally:
            os.chdir(before)
    return out.getvalue()


class Pages(unittest.TestCase):
    @support.needs("torch", "pandas", "pyarrow")
    def test_pytorch_runs_as_printed(self):
        text = run_page("pytorch.md", {"trace.pt.trace.json.gz": ROOT / "examples" / "data-loader-stall.pt.trace.json.gz"})
        for word in ("data-loader-stall", "data_loader", "aten::addmm", "Self CPU time total", "ready in time", "linear", "0.1474"):
            self.assertIn(word, text)

    @support.needs("pandas", "pyarrow")
    def test_memory_runs_as_printed(self):
        text = run_page("memory.md", {"snapshot.pickle.gz": support.DATA / "memory" / "h200" / "snap.oom.pickle.gz"})
        for word in ("out-of-memory", "snap.py", "expandable_segments:True", "roundup_power2_divisions"):
            self.assertIn(word, text)

    def test_every_python_block_of_every_page_is_python(self):
        for page in sorted((ROOT / "docs" / "python").glob("*.md")):
            for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.S):
                compile(block, str(page), "exec")


if __name__ == "__main__":
    support.main()
