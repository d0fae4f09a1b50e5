"""Reports compared with what was agreed: tests/cases/NAME/{case.json, expected.json, expected.txt}.

case.json names the file (relative to tests/data), further arguments, the command if it is not report, and with text_only that the document
is left out, where it would be large. After a change that is meant:
    STEPSCOPE_PROGRAM=build/release/stepscope python3 tests/cli/test_goldens.py --update
then read the difference before committing it.
"""
import json
import sys
import unittest

from program import CASES, run

UPDATE = "--update" in sys.argv


def golden_cases():
    return sorted(p.parent for p in CASES.glob("*/case.json"))


def produce(folder):
    case = json.loads((folder / "case.json").read_text())
    files = case["files"]
    arguments = case.get("arguments", [])
    command = case.get("command", "report")
    texts = {"expected.txt": run(command, *files, *arguments, "--width", "80").out}
    if not case.get("text_only"):
        texts["expected.json"] = run(command, *files, *arguments, "--json").out
    return texts


class Goldens(unittest.TestCase):
    maxDiff = None

    def test_there_are_some(self):
        self.assertGreaterEqual(len(golden_cases()), 6)

    def test_each(self):
        for folder in golden_cases():
            for name, text in produce(folder).items():
                with self.subTest(folder.name, file=name):
                    if UPDATE:
                        (folder / name).write_text(text)
                    self.assertEqual(text, (folder / name).read_text())


if __name__ == "__main__":
    unittest.main(argv=[a for a in sys.argv if a != "--update"])
