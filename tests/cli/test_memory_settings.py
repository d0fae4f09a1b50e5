"""Snapshots of five loops under seven allocator settings on an H200: our peaks are PyTorch's, and each setting's outcome is told from another's recording."""
import json
import unittest

from program import COMPLETE, DATA, run

SETTINGS = DATA / "memory" / "settings"
RUNS = json.loads((SETTINGS / "truth.json").read_text())["runs"]
RECORDED = {name: truth for name, truth in RUNS.items() if (SETTINGS / f"{name}.pickle.gz").exists()}


def text_of(conf):
    """As `--what-if` takes it."""
    return conf or "default"


def document(name, *arguments):
    done = run("memory", f"memory/settings/{name}.pickle.gz", *arguments, "--json")
    assert done.status == COMPLETE, done
    return done.json()


class Recorded(unittest.TestCase):
    def test_peaks_are_those_that_pytorch_counted(self):
        self.assertEqual(len(RECORDED), 26)
        for name, truth in RECORDED.items():
            device = document(name)["devices"][0]
            for kind in ("allocated", "reserved", "requested", "active"):
                if f"{kind}_peak_bytes" in truth:
                    self.assertEqual(device[kind]["peak_bytes"], truth[f"{kind}_peak_bytes"], f"{name}: {kind}")

    def test_other_settings_do_what_they_were_seen_to_do(self):
        compared = failures = 0
        for name, truth in RECORDED.items():
            others = {
                other: wanted
                for other, wanted in RUNS.items()
                if other != name and wanted["case"] == truth["case"] and (truth.get("failed_at") is None or wanted.get("failed_at") == truth["failed_at"])
            }
            asked = [word for wanted in others.values() for word in ("--what-if", "no_caching" if wanted["no_caching"] else text_of(wanted["conf"]))]
            if not asked:
                continue
            capacity = ["--capacity", str(truth["cap_bytes"])] if "cap_bytes" in truth else []
            answers = document(name, *asked, *capacity)["what_if"]
            self.assertEqual(len(answers), len(others))
            for (other, wanted), answer in zip(others.items(), answers):
                where = f"{name} -> {other}"
                self.assertEqual(answer["replay_matched"], answer["replay_total"], where)
                self.assertEqual(answer["oom"] is not None, "failed_bytes" in wanted, where)
                if wanted["no_caching"]:
                    continue
                self.assertEqual((answer["reserved_peak_bytes"], answer["retries"]), (wanted["reserved_peak_bytes"], wanted["retries"]), where)
                compared += 1
                if answer["oom"] is not None and "roundup" not in truth["conf"] + wanted["conf"]:
                    # Recorded rounded to 512 bytes.
                    self.assertEqual(answer["oom"]["request_bytes"], -(-wanted["failed_bytes"] // 512) * 512, where)
                    failures += 1
        self.assertGreaterEqual(compared, 100)
        self.assertGreaterEqual(failures, 4)


if __name__ == "__main__":
    unittest.main()
