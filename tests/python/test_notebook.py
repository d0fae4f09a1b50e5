"""examples/first_look.ipynb, run cell by cell; what its cells show is stored in it and compared.

    python -B test_notebook.py --update       stores what they show now

Jupyter is not needed: a cell is Python whose last expression is shown, as text and, where the object can, as HTML. (nbclient and a
kernel would be twenty packages more for the same.) Cells tagged `varies` run, and nothing is stored of them.
"""

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

import support

NOTEBOOK = support.DATA.parents[1] / "examples" / "first_look.ipynb"


def show(value: object) -> dict:
    data = {"text/plain": repr(value).splitlines(True)}
    html = getattr(value, "_repr_html_", None)
    if html is not None and (text := html()) is not None:
        data["text/html"] = text.splitlines(True)
    return data


def run_cell(source: str, names: dict, number: int) -> list[dict]:
    """The cell's outputs as a notebook holds them."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    out, outputs = io.StringIO(), []
    with contextlib.redirect_stdout(out):
        exec(compile(tree, f"cell {number}", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    if out.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": out.getvalue().splitlines(True)})
    if value is not None:
        outputs.append({"data": show(value), "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return outputs


def run_all(notebook: dict) -> list[list[dict]]:
    before = os.getcwd()
    os.chdir(NOTEBOOK.parent)
    try:
        names: dict = {}
        code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        return [run_cell("".join(cell["source"]), names, number + 1) for number, cell in enumerate(code)]
    finally:
        os.chdir(before)


def varies(cell: dict) -> bool:
    return "varies" in cell["metadata"].get("tags", [])


@support.needs("pandas", "pyarrow")
class Notebook(unittest.TestCase):
    maxDiff = None

    def test_it_shows_what_it_says(self):
        notebook = json.loads(NOTEBOOK.read_text())
        code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        for cell, outputs in zip(code, run_all(notebook), strict=True):
            if not varies(cell):
                self.assertEqual(outputs, cell["outputs"], "".join(cell["source"]))
            elif outputs:
                self.assertEqual(cell["outputs"], [])

    def test_it_is_a_notebook(self):
        notebook = json.loads(NOTEBOOK.read_text())
        self.assertEqual((notebook["nbformat"], notebook["nbformat_minor"]), (4, 5))
        ids = [cell["id"] for cell in notebook["cells"]]
        self.assertEqual(len(ids), len(set(ids)))
        for cell in notebook["cells"]:
            wanted = {"cell_type", "id", "metadata", "source"}
            self.assertEqual(set(cell), wanted | ({"outputs", "execution_count"} if cell["cell_type"] == "code" else set()))


def update() -> None:
    notebook = json.loads(NOTEBOOK.read_text())
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, outputs) in enumerate(zip(code, run_all(notebook))):
        cell["outputs"] = [] if varies(cell) else outputs
        cell["execution_count"] = None if varies(cell) else number + 1
    with tempfile.NamedTemporaryFile("w", dir=NOTEBOOK.parent, delete=False, encoding="utf-8") as file:
        json.dump(notebook, file, indent=1, ensure_ascii=False)
        file.write("\n")
    os.chmod(file.name, 0o644)
    os.replace(file.name, NOTEBOOK)


if __name__ == "__main__":
    if "--update" in sys.argv:
        update()
    else:
        support.main()
