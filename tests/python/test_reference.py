"""The reference of `make docs`: every public name has an entry, and everything of the package's own says what it is."""

import importlib
import inspect
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import support

MODULES = ["stepscope", "stepscope.fleet", "stepscope.memory", "stepscope.torch"]


def public_names(module) -> list[str]:
    return [name for name in module.__all__ if name not in ("__version__", "memory")]


def members_of(cls) -> list[tuple[str, object]]:
    return [(name, member) for name, member in vars(cls).items() if not name.startswith("_") and (callable(member) or isinstance(member, property))]


@support.needs("torch")
class Reference(unittest.TestCase):
    @support.needs("pdoc")
    def test_every_public_name_has_an_entry(self):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-B", "-m", "pdoc", "--docformat", "markdown", "--output-directory", folder, "stepscope", "stepscope.fleet", "stepscope.torch"]
            subprocess.run(command, check=True, capture_output=True)
            for name in MODULES:
                page = Path(folder, *name.split(".")).with_suffix(".html").read_text()
                for each in public_names(importlib.import_module(name)):
                    self.assertIn(f'id="{each}"', page, name)
            self.assertFalse(list(Path(folder).rglob("_*.html")))

    def test_everything_says_what_it_is(self):
        missing = []
        for name in MODULES:
            module = importlib.import_module(name)
            self.assertTrue(module.__doc__)
            for each in public_names(module):
                value = getattr(module, each)
                if not (value.__module__ or "").startswith("stepscope"):
                    continue  # torch's own
                if not inspect.getdoc(value):
                    missing.append(f"{name}.{each}")
                if inspect.isclass(value) and not value.__module__.endswith("_core"):
                    missing += [f"{name}.{each}.{member}" for member, what in members_of(value) if not inspect.getdoc(what)]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    support.main()
