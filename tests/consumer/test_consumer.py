"""A program outside the project finds and links the library: from an install tree and through FetchContent.

Environment: STEPSCOPE_SOURCE (the repository), STEPSCOPE_BUILD (a finished build tree of it).
"""
import os
import pathlib
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
SOURCE = os.environ["STEPSCOPE_SOURCE"]
BUILD = os.environ["STEPSCOPE_BUILD"]


def run(*command, cwd=None):
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout


class Consumer(unittest.TestCase):
    def build_and_run(self, folder, *options):
        run("cmake", "-G", "Ninja", "-S", HERE, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", *options)
        run("cmake", "--build", folder)
        # In a folder of its own: the program writes what a user's would.
        with tempfile.TemporaryDirectory() as work:
            return run(pathlib.Path(folder) / "consumer", cwd=work)

    def test_install_tree_is_found_by_find_package(self):
        with tempfile.TemporaryDirectory() as folder:
            prefix = pathlib.Path(folder) / "prefix"
            run("cmake", "--install", BUILD, "--prefix", prefix)
            # A moved install tree still works: nothing in it names where it was made.
            moved = prefix.rename(pathlib.Path(folder) / "moved")
            for text in moved.rglob("*.cmake"):
                self.assertNotIn(SOURCE, text.read_text(), text)
            self.assertIn("clock:", self.build_and_run(pathlib.Path(folder) / "build", "-DUSE=package", f"-DCMAKE_PREFIX_PATH={moved}"))
            self.assertTrue((moved / "bin" / "stepscope").exists())
            for document in ("findings/hidden-sync.md", "formats/report.md", "glossary.md"):  # the program names them
                self.assertTrue((moved / "share" / "doc" / "stepscope" / document).exists(), document)
            self.assertFalse(any("src" in header.parts for header in moved.rglob("*.h")))

    def test_source_tree_is_used_by_fetch_content(self):
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder) / "build"
            options = ["-DUSE=source", f"-DSTEPSCOPE_SOURCE={SOURCE}"]
            self.assertIn("clock:", self.build_and_run(build, *options))
            self.assertFalse(list(build.rglob("libstepscope.so*")))
            # The same objects, linked anew.
            self.assertIn("clock:", self.build_and_run(build, *options, "-DBUILD_SHARED_LIBS=ON"))
            self.assertTrue(list(build.rglob("libstepscope.so*")))


if __name__ == "__main__":
    unittest.main()
