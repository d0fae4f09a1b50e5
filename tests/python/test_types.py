"""The package's types hold under mypy --strict, and the stub names what the module has."""

import ast
import subprocess
import sys
import unittest
from pathlib import Path

import support
import stepscope
from stepscope import _core

PACKAGE = Path(stepscope.__file__).resolve().parent


class Types(unittest.TestCase):
    @support.needs("mypy", "torch")
    def test_mypy_strict(self):
        command = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.10", "--cache-dir=/dev/null", str(PACKAGE)]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_stub_is_the_module(self):
        tree = ast.parse((PACKAGE / "_core.pyi").read_text())
        told = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        found = {name for name in vars(_core) if not name.startswith("_")}
        self.assertEqual(told, found)
        for node in tree.body:
            if not isinstance(node, ast.ClassDef) or node.name == "TraceError":
                continue
            members = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            members |= {item.target.id for item in node.body if isinstance(item, ast.AnnAssign)}
            has = {name for name in vars(getattr(_core, node.name)) if not name.startswith("_")}
            self.assertEqual({name for name in members if not name.startswith("_")}, has, node.name)


if __name__ == "__main__":
    support.main()
