"""What the tests with other readers share: recordings written anew by us, and a file as our own sessions write it.

A reader that is not there ends the test as skipped, with what to do about it: skip("...").
"""
import gzip
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
PROGRAM = os.environ.get("STEPSCOPE_PROGRAM", str(ROOT / "build/release/stepscope"))
SESSION_LIKE_TRACE = os.environ.get("STEPSCOPE_SESSION_LIKE_TRACE", str(ROOT / "build/release/tests/readers/session_like_trace"))
SKIPPED = 77

_folder = tempfile.TemporaryDirectory(prefix="stepscope_readers_")
FOLDER = pathlib.Path(_folder.name)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def original(name):
    """A recording as PyTorch wrote it, as a plain file."""
    path = FOLDER / "original" / f"{name.replace('/', '_')}.pt.trace.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.decompress((DATA / f"{name}.pt.trace.json.gz").read_bytes()))
    return str(path)


def rewritten(name):
    """The same recording, read and written by us."""
    path = FOLDER / "rewritten" / f"{name.replace('/', '_')}.pt.trace.json"
    path.parent.mkdir(exist_ok=True)
    subprocess.run([PROGRAM, "convert", str(DATA / f"{name}.pt.trace.json.gz"), "-o", str(path)], check=True)
    return str(path)


def session_like(suffix=".pt.trace.json"):
    """Three steps of 1000 us; see session_like_trace.cpp."""
    path = FOLDER / f"session_like{suffix}"
    subprocess.run([SESSION_LIKE_TRACE, str(path)], check=True)
    return str(path)


def convert(name, path):
    convert_file(f"{name}.pt.trace.json.gz", path)


def convert_file(source, path):
    subprocess.run([PROGRAM, "convert", str(DATA / source), "-o", str(path)], check=True)


def converted(name, ending):
    """The bytes of the recording in another format."""
    path = FOLDER / f"{name.replace('/', '_')}{ending}"
    convert(name, path)
    return path.read_bytes()
