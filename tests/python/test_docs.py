"""The Python blocks of docs/python/pytorch.md, run in order, in a folder that holds a trace under the page's name."""

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


class Pages(unittest.TestCase):
    @support.needs("torch", "pandas", "pyarrow")
    def test_the_page_runs_as_printed(self):
        page = (ROOT / "docs" / "python" / "pytorch.md").read_text()
        blocks = re.findall(r"```python\n(.*?)```", page, re.S)
        self.assertGreater(len(blocks), 5)
        names: dict = {}
        out = io.StringIO()
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(ROOT / "examples" / "data-loader-stall.pt.trace.json.gz", Path(folder) / "trace.pt.trace.json.gz")
            os.chdir(folder)
            try:
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                    for number, block in enumerate(blocks):
                        exec(compile(block, f"docs/python/pytorch.md, block {number + 1}", "exec"), names)
            finally:
                os.chdir(before)
        text = out.getvalue()
        for word in ("data-loader-stall", "data_loader", "aten::addmm", "Self CPU time total", "ready in time", "linear", "0.1474"):
            self.assertIn(word, text)

    def test_every_python_block_of_every_page_is_python(self):
        for page in sorted((ROOT / "docs" / "python").glob("*.md")):
            for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.S):
                compile(block, str(page), "exec")


if __name__ == "__main__":
    support.main()
