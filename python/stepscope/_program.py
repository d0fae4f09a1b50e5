"""The command `stepscope`: the compiled program of this package takes over the process."""

import os
import sys
from pathlib import Path


def path() -> Path:
    """Where the program lies."""
    return Path(__file__).parent / "bin" / "stepscope"


def main() -> None:
    program = str(path())
    try:
        os.execv(program, [sys.argv[0], *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"stepscope: {program}: {error.strerror}; install the package anew")
