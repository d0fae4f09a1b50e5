#!/usr/bin/env python3
"""Makes the recordings of many ranks out of the two of a recorded DDP run, with one straggler planted.

    make_ranks.py OUT --ranks 1024 --seed 1 [--straggler N|none] [--slow 0.1] [--kind compute|loader]

OUT/rank0.json.gz ..., and OUT/truth.json with what was planted. All ranks run the program of tests/data/h200/ddp_rank0;
what differs, by the seed:
  - the speed of each rank (0.5 %), of each stretch of its step (2 %), and the clock of each host of 8 ranks (0.5 ms);
  - the straggler computes slower by --slow of a step (kernels and host alike), or its data loader takes as much longer.
A collective begins on a rank when that rank has come to it and ends on all ranks at once, when the last has come and
the bytes have moved (the shorter of the two recorded lengths); what follows the last one of a step waits for its end.
So waits, ends and straggler are what they would be, and nothing else of the trace changes: its 32,000 events, names,
shapes and links stay as recorded.
"""
import argparse
import gzip
import json
import multiprocessing
import pathlib
import random
import re

import numpy as np

H200 = pathlib.Path(__file__).resolve().parents[2] / "tests/data/h200"
# Every event's place and time. Metadata has its time before its place and is left alone.
TIMED = re.compile(r'("pid": ([^,]+), "tid": ([^,]+),\s*"ts": )([0-9]+\.[0-9]{3})(?:(, "dur": )([0-9]+\.[0-9]{3}))?')
COMMUNICATION = ("0", "17")  # pid and tid of NCCL's stream in ddp_rank0
PIECES = 20  # of a step, each with a speed of its own
RANKS_PER_HOST = 8


def ns(text):
    whole, part = text.split(".")
    return int(whole) * 1000 + int(part)


def us(number):
    return f"{number // 1000}.{number % 1000:03d}"


def load(path):
    return json.loads(gzip.open(path).read(), parse_float=str)


def collectives(document):
    """(start, end) in order, in ns."""
    found = [(ns(e["ts"]), ns(e["dur"])) for e in document["traceEvents"] if e.get("cat") == "kernel" and e["name"].startswith("nccl")]
    return sorted((start, start + length) for start, length in found)


def spans(document, prefix):
    found = [(ns(e["ts"]), ns(e["dur"])) for e in document["traceEvents"]
             if e.get("cat") == "user_annotation" and e["name"].startswith(prefix)]
    return sorted((start, start + length) for start, length in found)


class Template:
    """The text of rank 0 cut at its times."""

    def __init__(self, text):
        self.pieces, self.starts, self.lengths, self.is_communication = [], [], [], []
        at = 0
        for match in TIMED.finditer(text):
            self.pieces.append(text[at:match.end(1)])
            self.starts.append(ns(match[4]))
            self.lengths.append(ns(match[6]) if match[6] else -1)
            self.is_communication.append((match[2], match[3]) == COMMUNICATION)
            at = match.end()
        self.tail = text[at:]
        self.starts, self.lengths = np.array(self.starts), np.array(self.lengths)
        self.is_communication = np.array(self.is_communication)

    def write(self, warp, communication_warp):
        """The text with all times moved."""
        ends = self.starts + np.maximum(self.lengths, 0)
        moved = [np.where(self.is_communication, communication_warp(t), warp(t)) for t in (self.starts, ends)]
        out = []
        for piece, start, end, length in zip(self.pieces, moved[0].tolist(), moved[1].tolist(), self.lengths.tolist()):
            out.append(piece)
            out.append(us(start) if length < 0 else us(start) + ', "dur": ' + us(max(end - start, 0)))
        return "".join(out) + self.tail


def piecewise(times, values):
    """A function of times in ns through these points, at speed 1 outside them. Integers, relative to the first point:
    a float64 cannot hold ns since the machine started."""
    first_time, first_value = int(times[0]), int(values[0])
    x = np.array([int(t) - first_time for t in times], float)
    y = np.array([int(v) - first_value for v in values], float)

    def apply(t):
        relative = (t - first_time).astype(float)
        inside = np.interp(relative, x, y)
        outside = np.where(relative < 0, relative, relative - x[-1] + y[-1])
        moved = np.where((relative >= 0) & (relative <= x[-1]), inside, outside)
        return np.rint(moved).astype(np.int64) + first_value

    return apply


class Plan:
    """When each rank comes to each collective, and when each collective ends."""

    def __init__(self, options):
        recorded = [load(H200 / f"ddp_rank{r}.pt.trace.json.gz") for r in (0, 1)]
        both = [collectives(document) for document in recorded]
        self.recorded = both[0]
        transfers = [min(a[1] - a[0], b[1] - b[0]) for a, b in zip(*both)]
        steps = spans(recorded[0], "ProfilerStep#")
        self.ranks, self.seed = options.ranks, options.seed
        chooser = random.Random(options.seed)
        self.straggler = chooser.randrange(self.ranks) if options.straggler is None else options.straggler
        self.kind, self.slow = options.kind, options.slow if self.straggler >= 0 else 0.0
        # The last collective of each step: what the optimizer waits for.
        last_of_step = [max(i for i, (start, _) in enumerate(self.recorded) if start < end) for start, end in
                        [(steps[i][0], steps[i + 1][0] if i + 1 < len(steps) else 1 << 62) for i in range(len(steps))]]
        step_length = (steps[-1][1] - steps[0][0]) / len(steps)
        loads = spans(recorded[0], "enumerate(DataLoader)")
        self.delay = int(step_length * self.slow) if self.kind == "loader" else 0
        self.load_times = [(start + end) // 2 for start, end in loads]
        self.build(steps, last_of_step, transfers)

    def speeds(self, rank, pieces):
        generator = np.random.default_rng([self.seed, rank])
        own = 1 + 0.005 * generator.standard_normal()
        if rank == self.straggler and self.kind == "compute":
            own *= 1 + self.slow
        return np.maximum(0.5, own * (1 + 0.02 * generator.standard_normal(pieces)))

    def clock_offset(self, rank):
        return int(500_000 * np.random.default_rng([self.seed, 1 << 20, rank // RANKS_PER_HOST]).standard_normal())

    def build(self, steps, last_of_step, transfers):
        """Walks through the steps, all ranks side by side: who comes to a collective when decides when all go on."""
        bounds = [steps[0][0]] + [self.recorded[i][1] for i in last_of_step]
        now = np.full(self.ranks, bounds[0], dtype=np.int64)
        self.points = [([], []) for _ in range(self.ranks)]  # of all streams but NCCL's
        self.communication = [([], []) for _ in range(self.ranks)]
        speeds = [self.speeds(r, PIECES * len(last_of_step)) for r in range(self.ranks)]
        last_end, at = 0, 0
        for k, (begin, end) in enumerate(zip(bounds, bounds[1:])):
            warps = []
            for rank in range(self.ranks):
                times = np.linspace(begin, end, PIECES + 1).astype(np.int64)
                values = now[rank] + np.concatenate([[0], np.cumsum(np.diff(times) * speeds[rank][k * PIECES:(k + 1) * PIECES])])
                times, values = [int(t) for t in times], [int(v) for v in values]
                if rank == self.straggler and self.delay:
                    times, values = self.delayed(times, values, begin, end)
                warps.append(piecewise(times, values))
                self.points[rank][0].extend(times)
                self.points[rank][1].extend(values)
            while at < len(self.recorded) and self.recorded[at][0] < end:
                start, recorded_end = self.recorded[at]
                arrivals = np.array([max(int(w(np.array([start]))[0]), last_end) for w in warps])
                last_end = int(arrivals.max()) + transfers[at]
                for rank in range(self.ranks):
                    self.communication[rank][0].extend((start, recorded_end))
                    self.communication[rank][1].extend((int(arrivals[rank]), last_end))
                at += 1
            # All wait; what begins later than the collective's recorded end comes after its end.
            now = np.array([max(self.points[r][1][-1], last_end) for r in range(self.ranks)])
            for rank in range(self.ranks):
                self.points[rank][0].append(end + 1)
                self.points[rank][1].append(int(now[rank]) + 1)
            bounds[k + 1] = end + 1
            now = now + 1

    def delayed(self, times, values, begin, end):
        """Holds everything in the middle of the data loader's span."""
        for load in self.load_times:
            if not begin < load < end:
                continue
            place = next(i for i, t in enumerate(times) if t > load)
            at = int(np.interp(load - begin, [t - begin for t in times], [float(v - values[0]) for v in values])) + values[0]
            times = times[:place] + [load, load + 1] + times[place:]
            values = values[:place] + [at, at + self.delay] + [v + self.delay for v in values[place:]]
        return times, values

    def warps(self, rank):
        offset = self.clock_offset(rank)
        made = [piecewise(*self.points[rank]), piecewise(*self.communication[rank])]
        return [lambda t, w=w: w(t) + offset for w in made]


def cut_list(ranks):
    """As torch writes long lists into a kernel's arguments."""
    return "[" + ", ".join(map(str, ranks[:30])) + (", ...]" if len(ranks) > 30 else "]")


def rank_text(text, rank, ranks):
    everyone = list(range(ranks))
    text = text.replace('"rank": 0, "world_size": 2', f'"rank": {rank}, "world_size": {ranks}', 1)
    return text.replace('"pg_size": 2, "ranks": [0, 1]', f'"pg_size": {ranks}, "ranks": {everyone}', 1)


def group_text(text, ranks):
    text = text.replace('"Group size": 2', f'"Group size": {ranks}')
    return text.replace('"Process Group Ranks": "[0, 1]"', f'"Process Group Ranks": "{cut_list(list(range(ranks)))}"')


STATE = {}


def write_rank(rank):
    plan, template, options = STATE["plan"], STATE["template"], STATE["options"]
    text = rank_text(template.write(*plan.warps(rank)), rank, options.ranks)
    name = options.out / f"rank{rank}.json"
    if options.plain:
        name.write_text(text)
    else:
        with open(f"{name}.gz", "wb") as file:
            file.write(gzip.compress(text.encode(), 1, mtime=0))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--straggler", type=lambda text: -1 if text == "none" else int(text), help="a rank or none; else by the seed")
    parser.add_argument("--slow", type=float, default=0.1, help="of a step")
    parser.add_argument("--kind", choices=("compute", "loader"), default="compute")
    parser.add_argument("--only", type=int, nargs="*", help="write only these ranks of the run")
    parser.add_argument("--plain", action="store_true", help="not compressed")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    text = gzip.open(H200 / "ddp_rank0.pt.trace.json.gz").read().decode()
    STATE.update(plan=Plan(options), template=Template(group_text(text, options.ranks)), options=options)
    plan = STATE["plan"]
    truth = {"ranks": plan.ranks, "seed": plan.seed, "straggler": plan.straggler if plan.straggler >= 0 else None,
             "slow_ratio": plan.slow, "kind": plan.kind}
    (options.out / "truth.json").write_text(json.dumps(truth) + "\n")
    with multiprocessing.get_context("fork").Pool(options.processes) as pool:
        for _ in pool.imap_unordered(write_rank, options.only if options.only is not None else range(options.ranks)):
            pass


if __name__ == "__main__":
    main()
