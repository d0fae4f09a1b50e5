"""examples/cpp/train_mlp, as a newcomer meets it: it trains, it writes traces, and the line that it prints gives a report."""
import os
import pathlib
import subprocess
import tempfile
import unittest

from program import COMPLETE, run

EXAMPLE = os.environ.get("STEPSCOPE_TRAIN_MLP", "")


@unittest.skipUnless(EXAMPLE, "the examples are not built (STEPSCOPE_BUILD_EXAMPLES)")
class Example(unittest.TestCase):
    def train(self, folder):
        return subprocess.run([EXAMPLE, folder], capture_output=True, text=True, timeout=60, check=False)

    def test_what_it_prints_can_be_typed(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.train(os.path.join(folder, "traces"))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            losses = [float(line.split()[-1]) for line in done.stdout.splitlines() if line.startswith("step ")]
            self.assertLess(losses[-1], losses[0])
            commands = [line.split() for line in done.stdout.splitlines() if line.startswith("stepscope ")]
            self.assertEqual(len(commands), 2, done.stdout)
            self.assertEqual(len(list(pathlib.Path(folder, "traces").iterdir())), 2)
            for program, *arguments in commands:
                self.assertEqual(program, "stepscope")
                report = run(*arguments)
                self.assertEqual(report.status, COMPLETE, report.err)
                self.assertIn("3 steps", report.out)
                self.assertIn("data complete: CPU only", report.out)
                self.assertIn("mlp::mm", report.out)
            for command in ("report", "steps", "stacks"):
                said = run(command, commands[0][2])
                for word in ("prof.", "=True", "torch", "DataLoader", "gc."):
                    self.assertNotIn(word, said.out + said.err, "a C++ program hears no Python")
            first = run("report", commands[0][2], "--json").json()
            self.assertEqual(first["source"]["producer"], "stepscope session")
            self.assertEqual([first["steps"]["first"], first["steps"]["last"]], [12, 14])
            self.assertTrue(first["ledger"]["is_host_only"])
            operators = run("ops", commands[0][2], "--by", "shape", "--json").json()
            self.assertEqual(operators["sort"], "self_cpu_time_total")
            self.assertIn("[[256, 32], [32, 512]]", [str(row["input_shapes"]) for row in operators["rows"]])

    def test_a_folder_that_cannot_be_made_is_named(self):
        done = self.train("/proc/nowhere")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/proc/nowhere", done.stderr)


if __name__ == "__main__":
    unittest.main()
