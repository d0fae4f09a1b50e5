"""What the tests of the package share."""

import importlib.util
import os
import sys
import unittest
from pathlib import Path

DATA = Path(os.environ.get("STEPSCOPE_TEST_DATA", Path(__file__).parents[1] / "data"))
SOLID = DATA / "h200" / "straggler_rank1.pt.trace.json.gz"
RANKS = [DATA / "h200" / f"straggler_rank{rank}.pt.trace.json.gz" for rank in (0, 1)]
CONV = DATA / "golden" / "conv.pt.trace.json.gz"


def needs(*modules: str):
    """Skips a test where one of the modules is not installed."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


def main() -> None:
    """Runs the file's tests; exits 77 where all of them were skipped, which ctest shows as skipped."""
    result = unittest.main(exit=False, verbosity=1).result
    if not result.wasSuccessful():
        sys.exit(1)
    if result.testsRun > 0 and len(result.skipped) == result.testsRun:
        sys.exit(77)
