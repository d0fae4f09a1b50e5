"""The command `stepscope`: the compiled program of this package takes over the process.

Only what it cannot do by itself stays here: files behind URLs, and other engines than this machine's cores. The program
hands the same arguments over to `python3 -m stepscope` where it is called by itself.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

_FLEET_COMMANDS = ("report", "summarize", "merge")


def path() -> Path:
    """Where the program lies."""
    return Path(__file__).parent / "bin" / "stepscope"


def is_for_python(arguments: Sequence[str]) -> bool:
    """Is this a command over many ranks that names a URL or an engine? As src/cli/hand_over.cpp decides."""
    if not arguments or arguments[0] not in _FLEET_COMMANDS:
        return False
    for argument in arguments[1:]:
        if argument == "--engine" or argument.startswith("--engine="):
            return True
        if re.match(r"[A-Za-z0-9+.-]+://", argument):
            return True
    return False


def main() -> None:
    if is_for_python(sys.argv[1:]):
        from .fleet._command import main as run

        os.environ.setdefault("STEPSCOPE_HANDED_OVER", "1")  # the program must not hand anything back
        sys.exit(run(sys.argv[1:]))
    program = str(path())
    try:
        os.execv(program, [sys.argv[0], *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"stepscope: {program}: {error.strerror}; install the package anew")
