"""Every key and word of the JSON documents is described in docs/formats/report.md, and the documents keep their promises."""
import re
import unittest

from made_traces import made_rank
from program import ROOT, cases, once, recordings, run

DESCRIBED = set(re.findall(r"`([a-z0-9_.\-]+)`", (ROOT / "docs" / "formats" / "report.md").read_text()))
WORDS = DESCRIBED | {part for word in DESCRIBED for part in word.split(".")}


def keys_of(value, found):
    if isinstance(value, dict):
        for key, inner in value.items():
            found.add(key)
            keys_of(inner, found)
    elif isinstance(value, list):
        for inner in value:
            keys_of(inner, found)
    return found


class Documents(unittest.TestCase):
    def test_every_key_is_described(self):
        found = set()
        for path in recordings() + cases():
            keys_of(once("report", path, "--json").json(), found)
        straggler = [p for p in recordings() if "straggler" in p]
        keys_of(run("report", *straggler, "--json").json(), found)
        keys_of(run("ops", "h200/solid.pt.trace.json.gz", "--json").json(), found)
        keys_of(run("steps", "h200/solid.pt.trace.json.gz", "--json").json(), found)
        self.assertEqual(found - WORDS, set())

    def test_parts_add_up(self):
        for path in recordings() + cases():
            report = once("report", path, "--json").json()
            for device in report.get("devices", []):
                if device["idle_ns"] is None:
                    continue
                if device["idle_cause_withheld"]:
                    self.assertIn("launch_blocking", path)
                    self.assertIsNone(device["idle_by_cause_ns"])
                    self.assertEqual(report["what_if"]["results"], [])
                    continue
                with self.subTest(path):
                    self.assertEqual(device["gpu_busy_ns"] + device["idle_ns"], device["window_ns"])
                    for view in ("idle_by_cause_ns", "idle_by_cause_edges_ns"):
                        self.assertEqual(sum(device[view].values()), device["idle_ns"])
                    self.assertLessEqual(device["gpu_busy_ns"], device["window_ns"])

    def test_every_finding_has_its_page(self):
        for path in recordings() + cases():
            for finding in once("report", path, "--json").json().get("findings", []):
                if (ROOT / "docs" / "findings").exists():
                    self.assertTrue((ROOT / "docs" / "findings" / f"{finding['id']}.md").exists(), finding["id"])
                self.assertNotEqual(finding["title"], "")
                if finding["severity"] == "information":
                    self.assertIsNone(finding["saving_ns"])

    def test_the_steps_that_are_replayed_of_a_long_run(self):
        """At most 24 in a row: the first, those that stand for all, or those nearest to that with what they are scaled by."""
        def asked(*parts):
            lengths = [length for count, length in parts for _ in range(count)]
            trace = made_rank(list(enumerate(lengths, start=3)), world_size=1).encode()
            found = run("report", "-", "--json", stdin=trace).json()
            self.assertEqual(found["what_if"]["results"][0]["step_recorded_ns"], found["steps"]["median_ns"])
            self.assertEqual(keys_of(found, set()) - WORDS, set())
            return found["what_if"]["self_check"], " ".join(run("report", "-", stdin=trace).out.split())

        check, text = asked((10, 1000))
        self.assertIsNone(check["refused"])
        self.assertEqual((check["step_count"], check.get("first_step"), check.get("scale")), (10, None, None))
        self.assertIn("Predictions replay 10 steps and meet the recorded step", text)
        check, text = asked((24, 1000), (36, 2000))  # the first 24 that are longer ones for the most part
        self.assertEqual((check["step_count"], check["first_step"], check.get("scale")), (24, 13, None))
        self.assertIn("Predictions replay 24 steps (#16 to #39) and meet the recorded step", text)
        check, text = asked((30, 1000), (1, 1500), (30, 3000))
        self.assertEqual((check["step_count"], check["first_step"], check["scale"]), (24, 18, 1.2))
        self.assertIn("Predictions replay 24 steps (#21 to #44), scaled by 1.20 to the median of all, and meet", text)

    def test_threads_do_not_change_it(self):
        one = run("report", "h200/solid.pt.trace.json.gz", "--json", "--threads", "1").out
        self.assertEqual(one, run("report", "h200/solid.pt.trace.json.gz", "--json", "--threads", "4").out)


if __name__ == "__main__":
    unittest.main()
