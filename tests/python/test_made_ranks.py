"""What is planted in made ranks (bench/fleet/make_ranks.py) is what the program finds in them, and how much it costs.

Eight whole traces a run. More ranks, seeds and sizes: bench/fleet/find_straggler.py (docs/performance.md).
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/fleet"))
import make_ranks

PROGRAM = os.environ["STEPSCOPE_PROGRAM"]
RANKS = 8


class MadeRanks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.recorded, cls.transfers = make_ranks.load()
        cls.text = make_ranks.text_for(cls.recorded, RANKS)
        cls.answers = {}

    def run_of(self, kind, slow, stragglers):
        return make_ranks.Run(self.recorded, self.transfers, RANKS, 1, stragglers, slow, kind)

    def answer(self, kind="compute", slow=0.0, stragglers=()):
        key = kind, slow, tuple(stragglers)
        if key not in self.answers:
            writer = make_ranks.Writer(self.run_of(kind, slow, list(stragglers)), self.text)
            with tempfile.TemporaryDirectory() as folder:
                for rank in range(RANKS):
                    pathlib.Path(folder, f"rank{rank}.json").write_bytes(writer.rank_bytes(rank))
                done = subprocess.run([PROGRAM, "report", folder, "--json"], capture_output=True, text=True, check=True)
            self.answers[key] = json.loads(done.stdout)
        return self.answers[key]

    def first_fault(self, answer):
        faults = [finding for finding in answer["findings"] if finding["severity"] != "information"]
        return faults[0] if faults else None

    def told(self, finding):
        return " ".join([finding["title"], *(e["text"] for e in finding["evidence"]), *finding["advice"]])

    def test_equal_speeds_give_the_recorded_file(self):
        lengths = {unit: unit.end - unit.start for unit in self.recorded.collectives}
        run = make_ranks.Run(self.recorded, lengths, RANKS, 1, [], noise=0)
        text = make_ranks.Writer(run, self.text)
        made, was = (json.loads(bytes(each), parse_float=str)["traceEvents"] for each in (text.rank_bytes(3), self.recorded.text.encode()))
        self.assertEqual([(e.get("ts"), e.get("dur")) for e in made], [(e.get("ts"), e.get("dur")) for e in was])

    def test_a_blocking_call_ends_with_what_it_waits_for(self):
        """The straggler's call is as short as its wait is; the others' are longer by what they wait."""
        healthy, late = self.run_of("compute", 0.0, []), self.run_of("loader", 0.1, [2])
        self.assertEqual(len(self.recorded.waits), 3)
        for start, end, unit in self.recorded.waits:
            for run in (healthy, late):
                tail = run.host[end] - run.end[unit]
                self.assertTrue((tail >= end - unit.end - 1).all() and (run.host[end] > run.host[start]).all())
            waited = (late.host[end] - late.host[start]) - (healthy.host[end] - healthy.host[start])
            self.assertGreater(min(waited[rank] for rank in range(RANKS) if rank != 2), 2e6)
            self.assertLess(waited[2], min(waited[rank] for rank in range(RANKS) if rank != 2))

    def test_nothing_planted_nothing_found(self):
        answer = self.answer()
        self.assertIsNone(self.first_fault(answer))
        self.assertEqual(answer["fleet"]["stragglers"], [])

    def test_the_replay_gives_the_run_without_what_was_planted(self):
        """With the late rank replayed as fast as the median one the run takes as long as the same run made without it."""
        planted_free = self.answer()["fleet"]["replay"]["recorded_step_ns"]
        for kind, slow in (("compute", 0.1), ("loader", 0.1), ("gpu", 0.12)):
            answer = self.answer(kind, slow, [2])
            self.assertEqual(answer["fleet"]["stragglers"], ["rank 2"], kind)
            replay = answer["fleet"]["replay"]
            mended = next(w for w in replay["what_ifs"] if w["transform"] == "rank_as_median" and w["rank"] == "rank 2")
            self.assertAlmostEqual(mended["step_recorded_ns"] / planted_free, 1, delta=0.002, msg=kind)
            # Without the profiler it costs about as much as with it: kernels and waits are the same.
            cost = replay["recorded_step_ns"] - planted_free
            uncertain = mended["step_unprofiled_ns"]["high"] - mended["step_unprofiled_ns"]["low"]
            self.assertAlmostEqual(mended["saving_ns"]["mid"], cost, delta=uncertain / 2, msg=kind)
            self.assertGreater(mended["saving_ns"]["mid"], 0.5 * cost, kind)

    def test_a_slow_gpu(self):
        first = self.first_fault(self.answer("gpu", 0.12, [2]))
        self.assertEqual(first["id"], "straggler")
        self.assertIn("Rank 2 comes", first["title"])
        self.assertRegex(self.told(first), r"Its kernels take 1[0-3]\s% longer than the same kernels on the typical rank")
        self.assertIn("Its GPU is slow", self.told(first))

    def test_a_slow_gpu_that_delays_little(self):
        """Below the straggler's 5 % of a step its GPU is told, as a note."""
        first = self.first_fault(self.answer("gpu", 0.052, [1]))
        self.assertEqual((first["id"], first["severity"]), ("slow-gpu", "note"))
        self.assertRegex(first["title"], r"The kernels of rank 1 take 5(\.\d)?\s% longer")

    def test_more_work_of_one_kind_on_one_rank(self):
        """A fifth more delays the others by 4.7 % of a step, which is no fault yet; a third more does."""
        first = self.first_fault(self.answer("work", 0.2, [2]))
        self.assertEqual((first["id"], first["severity"]), ("slow-gpu", "note"))
        self.assertRegex(first["title"], r"The matmul kernels of rank 2 take (19|20|21)\s% longer .* the others do not")
        self.assertIn("more work in it", self.told(first))
        first = self.first_fault(self.answer("work", 0.3, [2]))
        self.assertEqual(first["id"], "straggler")
        self.assertIn("Rank 2 comes", first["title"])
        self.assertRegex(self.told(first), r"Its matmul kernels take (29|30|31)\s% longer .* its other kernels do not")
        self.assertIn("more work in it", self.told(first))
        self.assertNotIn("Its GPU is slow", self.told(first))

    def test_more_work_of_one_kind_on_many_ranks(self):
        first = self.first_fault(self.answer("work", 0.3, [1, 4, 6]))
        self.assertEqual(first["id"], "rank-imbalance")
        self.assertIn("ranks 1, 4 and 6", first["title"])

    def test_ranks_in_turn(self):
        run = self.run_of("turns", 0.2, None)
        self.assertEqual(len(set(run.stragglers)), 3)
        first = self.first_fault(self.answer("turns", 0.2))
        self.assertEqual(first["id"], "rank-imbalance")
        self.assertIn("another rank", first["title"])


if __name__ == "__main__":
    unittest.main()
