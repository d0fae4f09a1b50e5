"""The workflow file that docs/gate.md points to: it is YAML of the right shape, and its commands do what it says."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import support
from stepscope import _program

WORKFLOW = Path(__file__).parents[2] / "examples" / "ci" / "stepscope-gate.yml"


@support.needs("yaml")
class Workflow(unittest.TestCase):
    def setUp(self):
        import yaml

        self.workflow = yaml.safe_load(WORKFLOW.read_text())
        self.steps = {step.get("name", step.get("uses")): step for step in self.workflow["jobs"]["gate"]["steps"]}
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "ci").mkdir()
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "stepscope").symlink_to(_program.path())

    def measure(self, ms):
        """What the step `Measure` leaves behind: three runs."""
        (self.folder / "runs").mkdir(exist_ok=True)
        for run in 1, 2, 3:
            times = [ms + 0.01 * ((7 * i + run) % 5) for i in range(100)]
            memory = {"allocated_peak_bytes": 1 << 30}
            (self.folder / "runs" / f"{run}.json").write_text(json.dumps({"unit": "ms", "steps": times, **memory}))

    def run_step(self, name):
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        script = self.steps[name]["run"]
        return subprocess.run(
            ["bash", "-e", "-c", script], cwd=self.folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
        )

    def test_it_is_a_workflow(self):
        # YAML 1.1 takes the key `on` for a truth.
        self.assertEqual(set(self.workflow), {"name", True, "jobs"})
        self.assertEqual(set(self.workflow[True]), {"pull_request", "workflow_dispatch"})
        job = self.workflow["jobs"]["gate"]
        self.assertIn("gpu", job["runs-on"])
        for step in job["steps"]:
            self.assertEqual(len({"run", "uses"} & set(step)), 1, step)
        # The two that exclude each other.
        asked = "inputs.update_base"
        self.assertEqual(self.steps["Gate"]["if"], "${{ !%s }}" % asked)
        self.assertEqual(self.steps["Make a new base"]["if"], "${{ %s }}" % asked)
        self.assertIn("update_base", self.workflow[True]["workflow_dispatch"]["inputs"])

    def test_its_commands_make_a_base_and_gate(self):
        self.measure(40)
        done = self.run_step("Make a new base")
        self.assertEqual(done.returncode, 0, done.stderr)
        kept = self.steps["actions/upload-artifact@v4"]["with"]["path"].split()
        self.measure(40.1)
        done = self.run_step("Gate")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for path in kept:
            self.assertTrue((self.folder / path).exists(), path)
        self.measure(43)
        done = self.run_step("Gate")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("::error", done.stdout)


if __name__ == "__main__":
    support.main()
