"""The sdist holds what the build reads, and no more: pyproject.toml lists it, so a new folder would be forgotten.

Making the sdist compiles nothing. That a wheel comes out of it is seen by `make wheel`.
"""

import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

import support

ROOT = support.DATA.parents[1]


def made_from(root: Path) -> set[str]:
    """Names in the sdist, without its folder."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", folder, str(root)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        (archive,) = Path(folder).glob("stepscope-*.tar.gz")
        with tarfile.open(archive) as tar:
            return {name.partition("/")[2] for name in tar.getnames()}


def named_in_cmake() -> set[str]:
    """Files that CMakeLists.txt and cmake/*.cmake read by name, from the top of the project."""
    named = set()
    for file in [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")]:
        for name in re.findall(r"\$\{PROJECT_SOURCE_DIR\}/([\w./-]+\.\w+)", file.read_text()):
            named.add(name)
    return named


@support.needs("build", "scikit_build_core")
class Sdist(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.names = made_from(ROOT)

    def test_every_source_of_the_build_is_in_it(self):
        for folder, pattern in (("src", "*.cpp"), ("src", "*.h"), ("src", "*.py"), ("src", "*.map"), ("include", "*.h"), ("cmake", "*"), ("python", "*.py*")):
            for path in (ROOT / folder).rglob(pattern):
                name = str(path.relative_to(ROOT))
                if path.is_dir() or name.endswith("_test.cpp") or "__pycache__" in name:
                    continue
                self.assertIn(name, self.names)
        named = {name for name in named_in_cmake() if not name.startswith("tests/")}
        self.assertIn("web/dist/page.html", named)
        self.assertLessEqual(named, self.names)
        self.assertLessEqual({"CMakeLists.txt", "pyproject.toml", "PKG-INFO", "LICENSE", "THIRD_PARTY.txt"}, self.names)

    def test_nothing_else_is(self):
        kept = ("src/", "include/", "cmake/", "python/", "web/dist/page.html")
        for name in self.names:
            if "/" in name:
                self.assertTrue(name.startswith(kept), name)
            self.assertFalse(name.endswith(("_test.cpp", ".pyc", ".so", ".o")), name)

    def test_what_is_compiled_in_is_named_with_its_licence(self):
        """Each library of cmake/dependencies.cmake that ends in a program."""
        text = (ROOT / "THIRD_PARTY.txt").read_text().lower()
        found = re.findall(r"stepscope_find_(?:package|library)\((\w+)", (ROOT / "cmake" / "dependencies.cmake").read_text())
        told = {"zlib": "zlib", "simdjson": "simdjson", "fmt": "{fmt}", "nlohmann_json": "json for modern c++", "stepscope_robin_map": "robin-map", "stepscope_xxhash": "xxhash", "stepscope_zstd": "zstandard", "stepscope_isal": "isa-l", "stepscope_cli11": "cli11"}
        for name in found:
            if name.lower() in ("name", "gtest", "benchmark", "target"):
                continue
            self.assertIn(name.lower(), told, "a new dependency: say its licence in THIRD_PARTY.txt")
            self.assertIn(told[name.lower()], text)


if __name__ == "__main__":
    support.main()
