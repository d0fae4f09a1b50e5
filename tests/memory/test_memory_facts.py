"""The facts of memory snapshots against histories whose truth is known: every level at every kind of cut, live sets at
any moment, growth, bytes times time, failures and steps."""
import json
import os
import pickle
import subprocess
import tempfile
import unittest

from made_histories import Program

DUMP = os.environ["STEPSCOPE_DUMP_FACTS"]

SETTINGS = {
    "default": {},
    "expandable": {"expandable": True},
    "max_split": {"max_split": 32 << 20},
    "divisions": {"divisions": 4},
    "streams": {"streams": 3},
    "pools": {"pools": 3},
    "capacity": {"capacity": 260 << 20},
    "all": {"streams": 2, "pools": 2, "max_split": 64 << 20, "divisions": 8, "capacity": 400 << 20},
}
SEEDS = range(1, 13)


def dump(snapshot, moments):
    with tempfile.NamedTemporaryFile(suffix=".pickle") as file:
        pickle.dump(snapshot, file, protocol=4)
        file.flush()
        done = subprocess.run([DUMP, file.name, *moments], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["0"]


class FactsTest(unittest.TestCase):
    def cuts(self, program):
        """First retained entries: all of the history, and two that begin in mid-life."""
        count = len(program.entries)
        return [0, count // 3, count - count // 5]

    def check_levels(self, program, first, facts):
        for kind, level in program.levels(first).items():
            start, peak, end, entry = facts[kind]
            # Where an older block's size is an estimate only requested and reserved bytes are exact.
            if kind in ("allocated", "active") and facts["estimated"] > 0:
                self.assertLess(abs(start - level[0]), facts["estimated"] * ((1 << 20) + 1))
                continue
            self.assertEqual((start, peak, end), (level[0], max(level), level[-1]), kind)
            place = level.index(max(level))
            self.assertEqual(entry, place - 1 if place else None, kind)

    def check_live(self, program, first, facts, moments):
        before = 0
        for moment, live, growth in zip(moments, facts["live"], facts["growth"]):
            expected = program.live(first, moment)
            self.assertEqual({name: tuple(group) for name, group in live.items()}, program.group(expected, first))
            grown = [each for each in expected if each.made >= first + before]
            self.assertEqual({name: tuple(group) for name, group in growth.items()}, program.group(grown, first))
            before = moment
        end = program.live(first, len(program.entries) - first)
        # What waits for another stream has been freed by the program.
        kept = program.group([each for each in end if each.made >= first and each.let_go is None], first)
        self.assertEqual({name: tuple(group) for name, group in facts["never_freed"].items()}, kept)

    def check_byte_time(self, program, first, facts):
        times = [entry["time_us"] for entry in program.entries]
        sums = {}
        for each in program.allocations:
            if each.gone is not None and each.gone < first:
                continue
            begin = times[max(each.made, first)]
            end = times[-1] if each.gone is None else times[each.gone]
            name = program.line_of(each, first)
            sums[name] = sums.get(name, 0) + each.requested * (end - begin) / 1e6
        self.assertEqual(facts["byte_seconds"].keys(), sums.keys())
        for name, value in sums.items():
            self.assertAlmostEqual(facts["byte_seconds"][name], value, delta=1e-6 * max(value, 1))

    def check_oom(self, program, first, facts):
        failed = [index for index, entry in enumerate(program.entries) if entry["action"] == "oom"]
        self.assertEqual([oom["entry"] for oom in facts["ooms"]], [each - first for each in failed if each >= first])
        for oom in facts["ooms"]:
            entry = program.entries[oom["entry"] + first]
            is_small = entry["size"] <= 1 << 20
            pieces = [block.size for segment in program.segments for block in segment.blocks if block.is_free and
                      (segment.stream, segment.pool, segment.is_small) == (entry["stream"], entry["pool_id"], is_small)]
            self.assertEqual(oom["request"], entry["size"])
            self.assertEqual(oom["reserved"], program.reserved)
            self.assertEqual(oom["usable"], [sum(pieces), max(pieces, default=0), len(pieces)])

    def check_steps(self, program, first, facts):
        level = program.levels(first)["allocated"]
        marks = [entry - first for _, entry, _ in program.marks if entry >= first] + [len(level) - 1]
        if len(marks) < 3 or facts["estimated"] > 0:
            return
        peaks = [max(level[begin:end + 1]) for begin, end in zip(marks, marks[1:])]
        self.assertEqual(facts["steps"], peaks)

    def test_histories(self):
        exact = 0
        for name, settings in SETTINGS.items():
            for seed in SEEDS:
                program = Program(seed, **settings)
                program.run(steps=8)
                for first in self.cuts(program):
                    with self.subTest(settings=name, seed=seed, first=first):
                        count = len(program.entries) - first
                        moments = [count // 7, count // 2, count]
                        facts = dump(program.snapshot(first), [f"#{moment - 1}" for moment in moments])
                        self.assertEqual(facts["contradictions"], 0)
                        self.assertEqual(facts["is_whole_life"], first == 0)
                        if first == 0:
                            self.assertEqual(facts["estimated"], 0)
                        exact += facts["estimated"] == 0
                        self.check_levels(program, first, facts)
                        self.check_live(program, first, facts, moments)
                        self.check_byte_time(program, first, facts)
                        self.check_oom(program, first, facts)
                        self.check_steps(program, first, facts)
        self.assertGreater(exact, len(SETTINGS) * len(SEEDS))  # not only the whole histories


if __name__ == "__main__":
    unittest.main()
