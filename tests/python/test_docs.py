"""The Python blocks of pages in docs/python, run in order, in a folder that holds the page's files under their names."""

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

ROOT = support.DATA.parents[1]
PAGES = ROOT / "docs" / "python"


def blocks_of(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.S)


def run_page(page: Path, files: dict[str, Path], blocks: list[str] | None = None) -> str:
    """Runs the page's blocks and gives what they print."""
    blocks = blocks_of(page) if blocks is None else blocks
    assert blocks, "no blocks found"
    names: dict = {}
    out = io.StringIO()
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        for called, file in files.items():
            (Path(folder) / called).parent.mkdir(exist_ok=True)
            shutil.copy(file, Path(folder) / called)
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                for number, block in enumerate(blocks):
                    exec(compile(block, f"{page.name}, block {number + 1}", "exec"), names)
        finally:
            os.chdir(before)
    return out.getvalue()


class Pages(unittest.TestCase):
    @support.needs("torch", "pandas", "pyarrow")
    def test_pytorch_runs_as_printed(self):
        text = run_page(PAGES / "pytorch.md", {"trace.pt.trace.json.gz": ROOT / "examples" / "data-loader-stall.pt.trace.json.gz"})
        for word in ("data-loader-stall", "data_loader", "aten::addmm", "Self CPU time total", "ready in time", "linear", "0.1474"):
            self.assertIn(word, text)

    @support.needs("torch")
    def test_the_example_of_the_readme_runs_as_printed(self):
        ours = [block for block in blocks_of(ROOT / "README.md") if "import stepscope" in block]  # others are PyTorch's
        self.assertEqual(len(ours), 1)
        text = run_page(ROOT / "README.md", {}, ours)
        for word in ("7 steps", "ready in time", "3 steps"):
            self.assertIn(word, text)

    @support.needs("pandas", "pyarrow")
    def test_memory_runs_as_printed(self):
        text = run_page(PAGES / "memory.md", {"snapshot.pickle.gz": support.DATA / "memory" / "h200" / "snap.oom.pickle.gz"})
        for word in ("out-of-memory", "snap.py", "expandable_segments:True", "roundup_power2_divisions"):
            self.assertIn(word, text)

    @support.needs("pandas", "pyarrow")
    def test_jax_reads_what_jax_wrote(self):
        text = run_page(PAGES / "jax.md", {"log/vm.trace.json.gz": support.DATA / "jax" / "vm.trace.json.gz"}, blocks_of(PAGES / "jax.md")[1:])
        self.assertIn("step_num of `train`", text)

    @support.needs("jax", "pandas", "pyarrow")
    def test_jax_runs_as_printed(self):
        self.assertIn("8 steps", run_page(PAGES / "jax.md", {}))

    @unittest.skipUnless("STEPSCOPE_TRAIN_MLP" in os.environ, "no example of C++ was built")
    @support.needs("pandas", "pyarrow")
    def test_cpp_reads_what_the_example_wrote(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([os.environ["STEPSCOPE_TRAIN_MLP"], folder], check=True, capture_output=True)
            text = run_page(PAGES / "cpp.md", {f"traces/{file.name}": file for file in Path(folder).iterdir()})
        self.assertEqual(len(re.findall(r"^0 +\d+ +\d+$", text, re.M)), 2, text)
        self.assertIn("mlp::mm", text)

    def test_every_python_block_of_every_page_is_python(self):
        for page in sorted(PAGES.glob("*.md")):
            for block in blocks_of(page):
                compile(block, str(page), "exec")


if __name__ == "__main__":
    support.main()
