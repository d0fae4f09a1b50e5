#!/usr/bin/env python3
"""Makes the recordings of many ranks out of the two of a recorded DDP run, with a fault planted or none.

    make_ranks.py OUT --ranks 1024 --seed 1 [--straggler N[,N...]|none] [--slow 0.1] [--kind compute|loader|gpu|work|turns]

OUT/rank0.json.gz ..., and OUT/truth.json with what was planted. All ranks run the program of tests/data/h200/ddp_rank0;
what differs, by the seed:
  - the speed of each rank (0.5 %), of each stretch of its step (2 %), and the clock of each host of 8 ranks (0.5 ms);
  - the straggler, by --kind: `compute`, kernels and host alike take longer by --slow; `loader`, its data loader by that share
    of a step; `gpu`, its kernels only; `work`, its matrix products only (longer batches); `turns`, in each step another
    rank as with `compute`.
A collective begins on a rank when that rank has come to it and ends on all ranks at once, when the last has come and
the bytes have moved (the shorter of the two recorded lengths). What waits for it, on the GPU or in a blocking call of the
host, goes on then (recorded_rank.py). Nothing else of the trace changes: its 32,000 events, names, shapes and links stay.
Needs numpy.
"""
import argparse
import gzip
import json
import multiprocessing
import pathlib
import random

import numpy as np

import recorded_rank
from trace_text import TraceText

H200 = pathlib.Path(__file__).resolve().parents[2] / "tests/data/h200"
PIECES = 20  # of a step, each with a speed of its own
RANKS_PER_HOST = 8
RANK_NOISE, PIECE_NOISE, CLOCK_NS = 0.005, 0.02, 500_000
KINDS = ("compute", "loader", "gpu", "work", "turns")
MATRIX_PRODUCTS = ("nvjet", "cutlass", "gemm", "cublas")


class Run:
    """The points of all ranks: times in ns after the first step's start, one row a rank."""

    def __init__(self, recorded, transfers, ranks, seed, stragglers=None, slow=0.0, kind="compute", noise=1.0):
        self.recorded, self.transfers, self.ranks, self.seed = recorded, transfers, ranks, seed
        self.kind, self.slow, self.noise = kind, slow, noise
        self.stragglers = [random.Random(seed).randrange(ranks)] if stragglers is None else stragglers
        if kind == "turns":
            self.stragglers = random.Random(seed).sample(range(ranks), len(recorded.steps))
        self.origin = recorded.steps[0][0]
        self.cuts = self.find_cuts()
        self.host_speed, self.kernel_speed = self.speeds()
        self.host = {}  # by recorded time
        self.start, self.end = {}, {}  # by unit
        self.simulate()

    def find_cuts(self):
        """Where stretches of the host begin, and which speed each has."""
        starts = [start for start, _ in self.recorded.steps] + [self.recorded.steps[-1][1]]
        return [start + (end - start) * piece // PIECES for start, end in zip(starts, starts[1:]) for piece in range(PIECES)]

    def speeds(self):
        """How much longer than recorded host and kernels take, by rank and stretch."""
        count = len(self.cuts)
        host = np.empty((count, self.ranks))
        for rank in range(self.ranks):
            generator = np.random.default_rng([self.seed, rank])
            own = 1 + self.noise * RANK_NOISE * generator.standard_normal()
            host[:, rank] = np.maximum(0.5, own * (1 + self.noise * PIECE_NOISE * generator.standard_normal(count)))
        kernels = host.copy()
        for place, rank in enumerate(self.stragglers):
            if self.kind == "compute":
                host[:, rank] *= 1 + self.slow
            if self.kind in ("compute", "gpu"):
                kernels[:, rank] *= 1 + self.slow
            if self.kind == "turns":
                for speed in (host, kernels):
                    speed[place * PIECES:(place + 1) * PIECES, rank] *= 1 + self.slow
        return host, kernels

    def delays(self):
        """{recorded time: ns by rank} that the host is held up there."""
        if self.kind != "loader" or not self.stragglers:
            return {}
        step = (self.recorded.steps[-1][1] - self.recorded.steps[0][0]) / len(self.recorded.steps)
        delay = np.zeros(self.ranks)
        delay[self.stragglers] = step * self.slow
        return {(start + end) // 2: delay for start, end in self.recorded.loads}

    def piece_of(self, at):
        return max(0, recorded_rank.first_after(self.cuts, at) - 1)

    def simulate(self):
        """Goes through all points in the order of their recorded times, which everything that waits comes after."""
        delays = self.delays()
        waits = self.recorded.waits
        order = [(unit.end, 0, "end", unit) for unit in self.recorded.units]
        order += [(unit.start, 3, "start", unit) for unit in self.recorded.units]
        order += [(end, 1, "return", (start, end, unit)) for start, end, unit in waits]
        points = {unit.launch for unit in self.recorded.units} | {start for start, _, _ in waits} | set(self.cuts) | set(delays)
        points.add(self.recorded.steps[-1][1])
        order += [(at, 2, "host", at) for at in points if not any(start < at <= end for start, end, _ in waits)]
        order.sort(key=lambda entry: entry[:2])
        self.at, self.now = self.origin, np.zeros(self.ranks)
        for at, _, what, item in order:
            if what == "host":
                self.go_to(at)
                if at in delays:
                    self.host[at] = self.now
                    self.now = self.now + delays[at]
                    self.at = at + 1
                    at += 1
            elif what == "return":
                self.wait(*item)
            elif what == "start":
                self.begin(item)
                continue
            else:
                self.finish(item)
                continue
            self.host[at] = self.now

    def go_to(self, at):
        self.now = self.now + (at - self.at) * self.host_speed[self.piece_of(self.at)]
        self.at = at

    def wait(self, start, end, unit):
        own = min(recorded_rank.OWN_NS, end - start)
        self.now = np.maximum(self.host[start] + own, self.end[unit] + (end - unit.end))
        self.at = end

    def begin(self, unit):
        times = []
        for kind, other, after in unit.edges:
            if kind == "launch":
                times.append(self.host[unit.launch] + after)
            elif kind == "end":
                times.append(self.end[other] + after)
            else:
                times.append(self.start[other] + after * self.stretched(other))
        self.start[unit] = np.maximum.reduce(times) + unit.late

    def stretched(self, unit):
        """How much longer than recorded it takes, by rank."""
        if not unit.is_kernel:
            return np.ones(self.ranks)
        factor = self.kernel_speed[self.piece_of(unit.start)]
        if self.kind == "work" and any(word in unit.name for word in MATRIX_PRODUCTS):
            factor = factor.copy()
            factor[self.stragglers] *= 1 + self.slow
        return factor

    def finish(self, unit):
        start = self.start[unit]
        if unit.is_collective:
            self.end[unit] = np.full(self.ranks, start.max() + self.transfers[unit])
            return
        self.end[unit] = start + (unit.end - unit.start) * self.stretched(unit)
        if unit.before and unit.before.end > unit.start:
            self.end[unit] = np.maximum(self.end[unit], self.end[unit.before])

    def clock_offset(self, rank):
        return int(self.noise * CLOCK_NS * np.random.default_rng([self.seed, 1 << 20, rank // RANKS_PER_HOST]).standard_normal())

    def truth(self):
        planted = self.stragglers if self.slow > 0 else []
        return {"ranks": self.ranks, "seed": self.seed, "straggler": planted[0] if len(planted) == 1 else None, "stragglers": planted,
                "slow_ratio": self.slow if planted else 0.0, "kind": self.kind}


class Writer:
    """The points of a run as functions of the recorded time, and the text (text_for) that they move."""

    def __init__(self, run, text):
        self.run, self.text = run, text
        lines = {"host": sorted(run.host.items())}
        for stream in {unit.stream for unit in run.recorded.units}:
            points = {}
            for unit in (u for u in run.recorded.units if u.stream == stream):
                points[unit.start], points[unit.end] = run.start[unit], run.end[unit]
            lines[stream] = sorted(points.items())
        origin = run.origin
        self.lines = {name: (np.array([at - origin for at, _ in line], float), np.array([row for _, row in line]))
                      for name, line in lines.items()}
        streams = {f"{stream}" for stream in lines if stream != "host"}
        where = np.array([tid if pid == "0" and tid in streams else "host" for pid, tid in self.text.places])
        self.members = {name: np.flatnonzero(where == str(name)) for name in lines}

    def rank_bytes(self, rank):
        moved = []
        for times in (self.text.starts, self.text.ends):
            out = np.empty(len(times), np.int64)
            for name, members in self.members.items():
                at, values = self.lines[name]
                relative = (times[members] - self.run.origin).astype(float)
                values = values[:, rank]
                inside = np.interp(relative, at, values)
                before, after = relative < at[0], relative > at[-1]
                inside[before] = relative[before] - at[0] + values[0]
                inside[after] = relative[after] - at[-1] + values[-1]
                out[members] = np.rint(inside).astype(np.int64)
            moved.append(out + self.run.origin + self.run.clock_offset(rank))
        return self.text.write(rank, *moved)


def cut_list(ranks):
    """As torch writes long lists into a kernel's arguments."""
    return "[" + ", ".join(map(str, ranks[:30])) + (", ...]" if len(ranks) > 30 else "]")


def text_for(recorded, ranks):
    """The trace's text in a run of so many ranks."""
    everyone = list(range(ranks))
    text = recorded.text.replace('"world_size": 2', f'"world_size": {ranks}', 1)
    text = text.replace('"pg_size": 2, "ranks": [0, 1]', f'"pg_size": {ranks}, "ranks": {everyone}', 1)
    text = text.replace('"Group size": 2', f'"Group size": {ranks}')
    text = text.replace('"Process Group Ranks": "[0, 1]"', f'"Process Group Ranks": "{cut_list(everyone)}"')
    return TraceText(text)


def load():
    """The recorded rank 0 and how long each of its collectives moves data: as the shorter of both ranks did."""
    recorded = recorded_rank.RecordedRank(H200 / "ddp_rank0.pt.trace.json.gz")
    other = recorded_rank.collective_lengths(H200 / "ddp_rank1.pt.trace.json.gz")
    return recorded, {unit: min(unit.end - unit.start, length) for unit, length in zip(recorded.collectives, other)}


STATE = {}


def write_rank(rank):
    writer, options = STATE["writer"], STATE["options"]
    text = writer.rank_bytes(rank)
    name = options.out / f"rank{rank}.json"
    if options.plain:
        name.write_bytes(text)
    else:
        with open(f"{name}.gz", "wb") as file:
            file.write(gzip.compress(text, 1, mtime=0))


def which_ranks(text):
    return [] if text == "none" else [int(rank) for rank in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--straggler", type=which_ranks, help="ranks or none; else one by the seed")
    parser.add_argument("--slow", type=float, default=0.1, help="how much longer; with loader, of a step")
    parser.add_argument("--kind", choices=KINDS, default="compute")
    parser.add_argument("--only", type=int, nargs="*", help="write only these ranks of the run")
    parser.add_argument("--plain", action="store_true", help="not compressed")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    recorded, transfers = load()
    run = Run(recorded, transfers, options.ranks, options.seed, options.straggler, options.slow, options.kind)
    STATE.update(writer=Writer(run, text_for(recorded, options.ranks)), options=options)
    (options.out / "truth.json").write_text(json.dumps(run.truth()) + "\n")
    with multiprocessing.get_context("fork").Pool(options.processes) as pool:
        for _ in pool.imap_unordered(write_rank, options.only if options.only is not None else range(options.ranks)):
            pass


if __name__ == "__main__":
    main()
