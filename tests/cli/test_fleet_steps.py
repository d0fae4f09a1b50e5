"""Steps of many files: one median wherever it is told, and steps that a rank's recording skips."""
import json
import pathlib
import tempfile
import unittest

from made_traces import made_rank
from program import COMPLETE, GATE, PARTIAL, run


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, *arguments, **options):
        (self.folder / name).write_text(made_rank(*arguments, **options))
        return name

    def run_here(self, *arguments):
        done = run(*arguments, cwd=self.folder)
        self.assertEqual(done.status, COMPLETE, done.err)
        return done

    def json(self, *arguments):
        return self.run_here(*arguments, "--json").json()


class Median(InFolder):
    def test_of_an_even_number_of_steps_it_is_the_same_everywhere(self):
        for lengths, median in (((20_000, 50_000, 10_000, 30_000), 25), ((20_000, 50_000), 35), ((20_000, 50_000, 30_000), 30)):
            with self.subTest(lengths=lengths):
                steps = list(enumerate(lengths, start=4))
                self.write("a.json", steps)
                self.write("b.json", [(number, 2 * length) for number, length in steps])
                own = self.json("report", "a.json")["steps"]
                self.assertEqual(own["median_ns"], median * 1_000_000)
                self.assertLessEqual(own["median_ns"], own["p90_ns"])
                table = self.json("steps", "a.json")
                self.assertEqual([table[key] for key in ("median_ns", "p10_ns", "p90_ns")], [own[key] for key in ("median_ns", "p10_ns", "p90_ns")])
                rows = {line.split()[0]: line.split()[1] for line in self.run_here("report", "a.json", "b.json").out.splitlines() if line.lstrip().startswith(("a.json  ", "b.json  "))}
                self.assertEqual(rows, {"a.json": f"{median}.00", "b.json": f"{2 * median}.00"})
                self.run_here("summarize", "a.json", "-o", "a.sss")
                summary = self.json("report", "a.sss")["fleet"]
                self.assertEqual(summary["ranks"][0]["step_ns"], own["median_ns"])
                self.assertIn(f"{median}.0 ms", self.run_here("report", "a.sss").out)


class ManySteps(InFolder):
    def setUp(self):
        super().setUp()
        self.write("even.json", [(number, 1_000) for number in range(1, 3001)])
        self.write("late.json", [(number, 1_000 if number < 1200 else 1_500) for number in range(1, 3001)])

    def gate(self, base, new):
        done = run("gate", base, new, cwd=self.folder)
        return done.status, " ".join(done.out.split())

    def test_steps_that_stand_for_all_are_judged_and_said(self):
        self.run_here("summarize", "late.json", "-o", "late.sss")
        text = " ".join(self.run_here("report", "late.sss").out.split())
        self.assertIn("1,024 of 3,000 steps, spread over the recording, stand for all", text)
        (rank,) = self.json("report", "late.sss")["fleet"]["ranks"]
        self.assertEqual((rank["step_count"], rank["steps_not_kept_count"], rank["steps_spread_over_count"]), (1024, 0, 3000))
        self.assertEqual(rank["step_ns"], 1_500_000)
        status, text = self.gate("even.json", "even.json")
        self.assertEqual(status, COMPLETE, text)
        self.assertIn("1024 of its 3000 steps were compared, spread over the run", text)

    def test_what_is_slower_late_is_seen(self):
        status, text = self.gate("even.json", "late.json")
        self.assertEqual(status, PARTIAL, text)
        self.assertIn("the steps drift", text)
        self.assertIn("1.00 -> 1.50 ms", text)
        self.write("slow.json", [(number, 1_000 if number < 20 else 1_500) for number in range(1, 3001)])
        status, text = self.gate("even.json", "slow.json")
        self.assertEqual(status, GATE, text)
        done = self.json("diff", "even.json", "late.json")
        self.assertIn("B (late.json): 1024 of its 3000 steps are compared, spread over the run", done["doubts"])


class MergedRanks(InFolder):
    def test_two_processes_of_the_same_steps_are_two_ranks_whatever_their_correlations(self):
        first = json.loads(made_rank([(number, 20_000) for number in range(4, 10)], rank=0))
        second = json.loads(made_rank([(number, 20_000) for number in range(4, 10)], rank=1))
        for event in second["traceEvents"]:
            event["pid"] = 8
            if "correlation" in event["args"]:
                event["args"]["correlation"] += 1000
        first["traceEvents"] += second["traceEvents"]
        (self.folder / "merged.json").write_text(json.dumps(first))
        done = run("report", "merged.json", "--json", cwd=self.folder)
        self.assertEqual(done.status, PARTIAL)
        self.assertEqual(done.json()["ledger"]["merged_process_count"], 2)
        self.assertIn("two ranks merged in one file", done.json()["headline_withheld"])


class MissingSteps(InFolder):
    SKIPS = [(4, 20_000), (5, 20_000), (None, 20_000), (7, 20_000), (8, 20_000), (None, 60_000), (12, 20_000), (13, 20_000)]

    def ranks(self, skips_of_rank_0=False):
        whole = [(number, 20_000) for number in range(4, 14)]
        self.write("rank0.json", self.SKIPS if skips_of_rank_0 else whole, rank=0)
        self.write("rank1.json", self.SKIPS, rank=1)
        return ["rank0.json", "rank1.json"]

    def test_the_figures_of_a_folder_are_those_of_the_ranks(self):
        ranks = self.ranks()
        self.run_here("summarize", *ranks, "-o", "run.sss")
        of_traces, of_summary = self.json("report", *ranks)["fleet"], self.json("report", "run.sss")["fleet"]
        self.assertEqual(of_traces, of_summary)
        for rank, row in enumerate(of_summary["ranks"]):
            own = self.json("report", ranks[rank])
            self.assertEqual(row["missing_steps"], own["steps"]["missing"])
            self.assertEqual(row["step_count"], own["steps"]["count"])
            self.assertEqual(row["step_ns"], own["steps"]["median_ns"])
            device = own["devices"][0]
            of_all_steps = {"gpu_busy_ns": device["gpu_busy_ns"], "exposed_communication_ns": device["exposed_communication_ns"],
                            "compute_ns": device["gpu_busy_ns"] - device["exposed_communication_ns"]}
            for key, ns in of_all_steps.items():  # all steps are alike
                self.assertEqual(row[key] * row["step_count"], ns, key)
            idle = {cause: ns // row["step_count"] for cause, ns in device["idle_by_cause_ns"].items() if ns > 0}
            self.assertEqual(row["parts"]["idle_ns"], idle)
        self.assertEqual(of_summary["ranks"][0]["missing_steps"], [])
        self.assertEqual(of_summary["ranks"][1]["missing_steps"], [{"first": 6, "last": 6}, {"first": 9, "last": 11}])
        self.assertEqual(of_summary["stragglers"], [])

    def test_it_is_said_which_ranks_skip_which(self):
        text = self.run_here("report", *self.ranks()).out
        self.assertIn("steps 4-13, not all", text.splitlines()[0])
        words = "steps #6, #9 to #11 are missing in the recording: the time of their gaps is left out"
        self.assertIn("rank 1: " + words, " ".join(text.split()))
        text = self.run_here("report", *self.ranks(skips_of_rank_0=True)).out
        self.assertIn("all: " + words, " ".join(text.split()))
        self.run_here("summarize", "rank0.json", "-o", "0.sss")
        self.run_here("summarize", "rank1.json", "-o", "1.sss")
        self.run_here("merge", "0.sss", "1.sss", "-o", "run.sss")
        self.assertEqual(self.run_here("report", "run.sss").out.split("Data")[1], text.split("Data")[1])


if __name__ == "__main__":
    unittest.main()
