"""Runs the built program for the end-to-end tests: where it is, where the data are, how a run is made.

The tests use nothing but the standard library, so that `ctest` needs nothing installed. By hand:
    STEPSCOPE_PROGRAM=build/release/stepscope python3 tests/cli/test_usage.py
"""
import functools
import json
import os
import pathlib
import re
import subprocess
import unicodedata

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
CASES = ROOT / "tests" / "cases"
PROGRAM = os.environ.get("STEPSCOPE_PROGRAM", str(ROOT / "build" / "release" / "stepscope"))

# The sanitizers look for faults of memory and not of layout: one width, the narrowest, where most is cut.
WIDTHS = (60,) if os.environ.get("STEPSCOPE_SANITIZED") else (60, 80, 160)

COMPLETE, GATE, USAGE, UNUSABLE, PARTIAL = range(5)


class Run:
    def __init__(self, done):
        self.status = done.returncode
        self.out = done.stdout.decode("utf-8")
        self.err = done.stderr.decode("utf-8")

    def json(self):
        return json.loads(self.out, parse_constant=lambda word: (_ for _ in ()).throw(ValueError(word)))


def run(*arguments, stdin=None, environment=None, cwd=DATA, timeout=60):
    """Runs the program in tests/data, so that paths in its output are short and the same everywhere."""
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM", "LC_ALL", "LC_CTYPE", "LANG")}
    env.update(environment or {})
    done = subprocess.run([PROGRAM, *map(str, arguments)], input=stdin if stdin is not None else b"", capture_output=True,
                          cwd=cwd, env=env, timeout=timeout, check=False)
    return Run(done)


@functools.cache
def once(*arguments):
    """The run of a command on files of tests/data that no test changes: made once for all tests of a file that look at it."""
    return run(*arguments)


def recordings():
    """Every recorded trace, as paths relative to tests/data."""
    return sorted(str(p.relative_to(DATA)) for folder in ("h200", "planted", "golden") for p in (DATA / folder).glob("*.pt.trace.json.gz"))


def cases():
    return sorted(str(p.relative_to(DATA)) for p in (DATA / "cases").iterdir())


def columns(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in line)


def without_colour(text):
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
