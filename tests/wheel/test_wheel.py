"""The wheel of `make wheel`: what is in it, how old a system it serves, and that it works where nothing else is.

    make test-wheel           or: build/venv/bin/python -B tests/wheel/test_wheel.py

Environments are made with every CPython 3.10 to 3.14 that is found (PATH, ~/.pyenv/versions; PYTHONS=/path:/path instead), and
pip fetches nanobind-backend, pandas and pyarrow into each. Where build/venv has PyTorch, the environment of the same Python
sees its packages in a second round. Minutes, and needs a network: not part of `make test`.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "build" / "dist"
# Ubuntu 22.04, the oldest system that PyTorch users are expected on (the wheel's tag says the same).
OLDEST_GLIBC = (2, 35)
# Half as much again as it is now (9.0 MB): a library or a test that got in by mistake is larger than that.
MOST_BYTES = 14_000_000


def wheel() -> Path:
    found = list(DIST.glob("stepscope-*.whl"))
    if len(found) != 1:
        raise unittest.SkipTest("make wheel first")
    return found[0]


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def pythons() -> dict[tuple[int, int], str]:
    if asked := os.environ.get("PYTHONS"):
        places = asked.split(":")
    else:
        places = [str(path) for path in sorted(Path.home().glob(".pyenv/versions/3.1[0-4]*/bin/python3"))]
        places += [place for minor in range(10, 15) if (place := shutil.which(f"python3.{minor}"))]
    found: dict[tuple[int, int], str] = {}
    for place in places:
        done = subprocess.run(
            [place, "-c", "import sys, ensurepip; print(*sys.version_info[:2])"], capture_output=True, text=True
        )
        if done.returncode == 0:
            major, minor = map(int, done.stdout.split())
            found.setdefault((major, minor), place)
    return found


def needs_of(library: Path) -> dict[str, tuple[int, ...]]:
    """The newest version of each family of symbols (GLIBC, GLIBCXX) that the dynamic linker must have."""
    newest: dict[str, tuple[int, ...]] = {}
    for family, version in re.findall(r"\b(GLIBC|GLIBCXX)_([0-9.]+)", run("objdump", "-T", library)):
        parts = tuple(map(int, version.split(".")))
        newest[family] = max(newest.get(family, ()), parts)
    return newest


class Content(unittest.TestCase):
    def test_what_is_in_it(self):
        with zipfile.ZipFile(wheel()) as archive:
            names = set(archive.namelist())
            self.assertTrue(archive.getinfo("stepscope/bin/stepscope").external_attr >> 16 & 0o100, "not executable")
            info = next(name for name in names if name.endswith(".dist-info/METADATA"))
            metadata = archive.read(info).decode()
            tag = archive.read(info.replace("METADATA", "WHEEL")).decode()
            points = archive.read(info.replace("METADATA", "entry_points.txt")).decode()
        for name in (
            "_core.abi3.so", "_core.pyi", "py.typed", "bin/stepscope", "lib/stepscope/libstepscope_agent.so",
            "lib/stepscope/python/sitecustomize.py", "lib/stepscope/python/stepscope_memory.py",
            "lib/stepscope/python/stepscope_optimizers.py", "torch/__init__.py",
        ):
            self.assertIn(f"stepscope/{name}", names)
        package = ROOT / "python" / "stepscope"
        for file in package.rglob("*.py*"):
            if "__pycache__" not in file.parts:
                self.assertIn(f"stepscope/{file.relative_to(package)}", names)
        for name in ("LICENSE", "THIRD_PARTY.txt"):
            self.assertTrue(any(each.endswith(f"licenses/{name}") for each in names), name)
        self.assertIn("stepscope = stepscope._program:main", points)
        self.assertIn("License-Expression: Apache-2.0", metadata)
        self.assertRegex(tag, r"Tag: cp310-abi3-manylinux_2_\d+_x86_64")
        leftovers = [
            name for name in names
            if name.endswith((".pyc", ".a", ".o", ".h", ".cpp", ".cmake", "_test.py")) or "__pycache__" in name
        ]
        self.assertEqual(leftovers, [])
        tops = {name.split("/")[0] for name in names}
        self.assertEqual({top for top in tops if not top.endswith(".dist-info")}, {"stepscope", "stepscope.libs"})

    def test_size(self):
        self.assertLess(wheel().stat().st_size, MOST_BYTES)

    def test_old_systems_can_load_it(self):
        with tempfile.TemporaryDirectory() as folder:
            with zipfile.ZipFile(wheel()) as archive:
                archive.extractall(folder)
            libraries = [path for path in Path(folder).rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
            self.assertGreaterEqual(len(libraries), 3)
            for library in libraries:
                self.assertLessEqual(needs_of(library)["GLIBC"], OLDEST_GLIBC, library.name)
            # The agent is loaded into programs with any libstdc++: it brings none of its own and needs nothing else.
            agent = next(path for path in libraries if path.name == "libstepscope_agent.so")
            needed = set(re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", agent)))
            self.assertLessEqual(needed, {"libstdc++.so.6", "libgcc_s.so.1", "libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"})


class Installed(unittest.TestCase):
    def check(self, version: tuple[int, int], python: str) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "STEPSCOPE"))}
        with tempfile.TemporaryDirectory() as folder:
            venv = Path(folder) / "venv"
            inside = venv / "bin" / "python"
            run(python, "-m", "venv", venv)
            pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
            run(*pip, "--only-binary", ":all:", wheel())
            check = [inside, "-B", ROOT / "tests" / "wheel" / "check_installed.py", ROOT / "tests" / "data", ROOT]
            self.assertIn("function load", run(inside, "-c", "import stepscope; print(stepscope.load)"))
            run(*pip, "--only-binary", ":all:", "pandas", "pyarrow")
            said = run(*check, cwd=folder, env=environment)
            for word in ("import", "trace", "command", "agent"):
                self.assertIn(word, said.split())
            torch = list((ROOT / "build" / "venv" / "lib" / f"python{version[0]}.{version[1]}" / "site-packages").glob("torch"))
            if torch:
                site = next(venv.glob("lib/python*/site-packages"))
                (site / "torch-from-build-venv.pth").write_text(f"{torch[0].parent}\n")
                said = run(*check, "torch", cwd=folder, env=environment)
                self.assertIn("page", said.split())
            print(f"CPython {version[0]}.{version[1]} ({python}): {' '.join(said.split())}", flush=True)

    def test_every_python(self):
        found = pythons()
        self.assertTrue(found, "no CPython 3.10 or later with ensurepip")
        wheel()
        for version, python in sorted(found.items()):
            with self.subTest(python=python):
                self.check(version, python)


if __name__ == "__main__":
    unittest.main(verbosity=1)
