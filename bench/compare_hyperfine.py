#!/usr/bin/env python3
"""compare_hyperfine.py: the same commands timed by `stepscope bench` and by hyperfine, in turns.

Each round gives a command 40 runs by either program, in an order that swaps from round to round; the table pools the
runs of all rounds. The commands do little, so what a program adds to them would show.

    cmake --build --preset release --target stepscope && bench/compare_hyperfine.py
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.environ.get("STEPSCOPE_PROGRAM", os.path.join(ROOT, "build", "release", "stepscope"))
TRACE = os.path.join(ROOT, "examples", "data-loader-stall.pt.trace.json.gz")
RUNS = 40
# Rounds and command: what takes long needs fewer to be known as well.
COMMANDS = [(40, ["true"]), (40, ["sh", "-c", "exit 0"]), (20, ["python3", "-S", "-c", "pass"]), (10, ["sleep", "0.02"]),
            (10, [PROGRAM, "report", TRACE])]


def ours(command):
    done = subprocess.run([PROGRAM, "bench", "--json", "--runs", str(RUNS), "--warmup", "3", "--", *command], capture_output=True, check=True)
    return [run["wall_ns"] / 1e6 for run in json.loads(done.stdout)["commands"][0]["runs"]]


def theirs(command):
    with tempfile.NamedTemporaryFile() as file:
        line = " ".join("'" + word + "'" for word in command)
        subprocess.run(["hyperfine", "--shell=none", "--style", "none", "--runs", str(RUNS), "--warmup", "3", "--export-json", file.name, line],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return [seconds * 1e3 for seconds in json.load(file)["results"][0]["times"]]


def main():
    if not shutil.which("hyperfine"):
        sys.exit("install hyperfine first (Debian has it)")
    print(f"{'command':<34} {'':>14} {'ours':>10} {'hyperfine':>10} {'ratio':>7}")
    for rounds, command in COMMANDS:
        times = {ours: [], theirs: []}
        for index in range(rounds):
            for measure in (ours, theirs) if index % 2 == 0 else (theirs, ours):
                times[measure] += measure(command)
        name = " ".join(os.path.basename(word) for word in command)
        for what, pick in (("least", min), ("quarter", lambda v: statistics.quantiles(v, n=4)[0]), ("median", statistics.median)):
            a, b = pick(times[ours]), pick(times[theirs])
            print(f"{name if what == 'least' else '':<34.34} {what:>11} ms {a:10.3f} {b:10.3f} {a / b:7.3f}", flush=True)


main()
