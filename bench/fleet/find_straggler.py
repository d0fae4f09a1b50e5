#!/usr/bin/env python3
"""Is the planted straggler found, and nobody else named? Makes runs by seed, summarizes, reports, compares with the truth.

    find_straggler.py [--ranks 1024] [--seeds 1-20] [--slow 0.1[,...]] [--kinds compute,loader] [--keep FOLDER]

Seeds take the kinds in turn (make_ranks.py says what they are); `none` plants nothing. Every rank is made as a whole trace,
read and summarized; a batch of them is deleted before the next is made, so that a run needs 110 MB of temporary space
for each process. --keep keeps the runs' summaries (8 MB of 1,024 ranks). Prints a line a run, and a table at the end. Exit
status 1 when one was missed or another was named.
"""
import argparse
import collections
import json
import multiprocessing
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import make_ranks

PROGRAM = os.environ.get("STEPSCOPE_PROGRAM", str(pathlib.Path(__file__).resolve().parents[2] / "build/release/stepscope"))
BATCH = 16
STATE = {}
Told = collections.namedtuple("Told", "kind slow planted named late_ns other_ns step_ns first")


def stepscope(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 4):
        sys.exit(f"stepscope {arguments[0]}: {done.stderr}")
    return done.stdout


def summarize_batch(first):
    """Makes, summarizes and deletes some ranks; the CPU seconds of both."""
    writer, folder = STATE["writer"], STATE["folder"]
    before = time.process_time(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory(dir=folder) as traces:
        for rank in range(first, min(first + BATCH, writer.run.ranks)):
            (pathlib.Path(traces) / f"rank{rank}.json").write_bytes(writer.rank_bytes(rank))
        stepscope("summarize", traces, "--jobs", 1, "--threads", 1, "-o", folder / f"part{first}.sss")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    children = after.ru_utime + after.ru_stime - before[1].ru_utime - before[1].ru_stime
    return time.process_time() - before[0], children


def look_at(run, text, processes, kept):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        STATE.update(writer=make_ranks.Writer(run, text), folder=folder)
        with multiprocessing.get_context("fork").Pool(processes) as pool:
            costs = list(pool.imap_unordered(summarize_batch, range(0, run.ranks, BATCH)))
        whole = kept or folder / "run.sss"
        stepscope("merge", *sorted(folder.glob("part*.sss")), "-o", whole)
        answer = json.loads(stepscope("report", whole, "--json"))
    return answer, [sum(cost) for cost in zip(*costs)]


def compare(run, answer):
    planted = [f"rank {rank}" for rank in run.truth()["stragglers"]]
    fleet = answer["fleet"]
    late = {row["label"]: row["late_ns"] for row in fleet["ranks"]}
    faults = [finding["id"] for finding in answer["findings"] if finding["severity"] == "fault"]
    return Told(run.kind, run.truth()["slow_ratio"], planted, fleet["stragglers"], max((late[rank] for rank in planted), default=None),
                max(ns for rank, ns in late.items() if rank not in planted), fleet["over_ranks"]["step_ns"]["median"],
                faults[0] if faults else None)


def is_right(told):
    return told.named == told.planted and told.first == ("straggler" if told.planted else None)


def print_table(all_told):
    print("| planted | of a step | runs | found, nobody else named | another named | late, ms | latest other, ms |\n|---|---|---|---|---|---|---|")
    for kind, slow in sorted({(told.kind, told.slow) for told in all_told}):
        runs = [told for told in all_told if (told.kind, told.slow) == (kind, slow)]
        late = [told.late_ns / 1e6 for told in runs if told.planted]
        other = [told.other_ns / 1e6 for told in runs]
        others = sum(bool(set(told.named) - set(told.planted)) or told.first == "rank-imbalance" for told in runs)
        print(f"| {kind if slow else 'nothing'} | {slow:.0%} | {len(runs)} | {sum(map(is_right, runs))} | {others} "
              f"| {f'{min(late):.2f} to {max(late):.2f}' if late else ''} | {min(other):.2f} to {max(other):.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--seeds", default="1-20")
    parser.add_argument("--slow", default="0.1", help="sizes, each with every seed")
    parser.add_argument("--kinds", default="compute,loader", help="or none")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    recorded, transfers = make_ranks.load()
    text = make_ranks.text_for(recorded, options.ranks)
    first, _, last = options.seeds.partition("-")
    kinds = options.kinds.split(",")
    all_told = []
    for seed in range(int(first), int(last or first) + 1):
        kind = kinds[seed % len(kinds)]
        for slow in [0.0] if kind == "none" else map(float, options.slow.split(",")):
            run = make_ranks.Run(recorded, transfers, options.ranks, seed, [] if kind == "none" else None, slow,
                                 "compute" if kind == "none" else kind)
            kept = options.keep / f"{kind}-{slow:g}-{options.ranks}-{seed}.sss" if options.keep else None
            answer, (made_s, summarized_s) = look_at(run, text, options.processes, kept)
            told = compare(run, answer)
            all_told.append(told)
            late = f"{told.late_ns / 1e6:5.2f} ms late" if told.planted else ""
            print(f"seed {seed:3}  {kind:7} {slow:4.0%}  planted {', '.join(told.planted) or 'none':10} named {', '.join(told.named) or 'none':10} "
                  f"{late} in {told.step_ns / 1e6:.1f}, latest other {told.other_ns / 1e6:4.2f}  first fault {told.first or 'none'}  "
                  f"{'right' if is_right(told) else 'WRONG'}  CPU s: made {made_s:.0f}, summarized {summarized_s:.0f}", flush=True)
    print_table(all_told)
    return 0 if all(map(is_right, all_told)) else 1


if __name__ == "__main__":
    sys.exit(main())
