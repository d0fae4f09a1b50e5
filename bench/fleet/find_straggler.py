#!/usr/bin/env python3
"""Is the planted straggler found? Makes runs by seed (make_ranks.py), summarizes, reports, and compares with the truth.

    find_straggler.py [--ranks 1024] [--seeds 1-20] [--slow 0.1]

Prints a line a run: what was planted, what was named, how late, seconds of each part. Exit status 1 when one was missed or
another was named. A run of 1,024 ranks takes 700 MB in the temporary folder while it is looked at.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = os.environ.get("STEPSCOPE_PROGRAM", str(HERE.parents[1] / "build/release/stepscope"))


def timed(*command):
    start = time.monotonic()
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode not in (0, 4):
        sys.exit(f"{command[0]}: {done.stderr}")
    return done.stdout, time.monotonic() - start


def look_at(folder, ranks, seed, slow):
    # Both kinds of straggler, in turn.
    kind = "loader" if seed % 2 == 0 else "compute"
    _, made_s = timed(sys.executable, HERE / "make_ranks.py", folder, "--ranks", ranks, "--seed", seed, "--slow", slow, "--kind", kind)
    truth = json.loads((folder / "truth.json").read_text())
    _, summarized_s = timed(PROGRAM, "summarize", folder, "-o", folder / "run.sss")
    text, reported_s = timed(PROGRAM, "report", folder / "run.sss", "--json")
    fleet = json.loads(text)["fleet"]
    right = fleet["stragglers"] == [f"rank {truth['straggler']}"]
    late = {row["label"]: row["late_ns"] for row in fleet["ranks"]}[f"rank {truth['straggler']}"]
    print(f"seed {seed:2}  {kind:7} planted rank {truth['straggler']:<5} named {', '.join(fleet['stragglers']) or 'none':12} "
          f"late {late / 1e6:5.2f} ms  {'right' if right else 'WRONG'}  made {made_s:.0f} s, summarized {summarized_s:.0f} s, "
          f"reported {reported_s:.1f} s", flush=True)
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--seeds", default="1-20")
    parser.add_argument("--slow", type=float, default=0.1)
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    wrong = 0
    for seed in range(int(first), int(last or first) + 1):
        with tempfile.TemporaryDirectory() as folder:
            wrong += not look_at(pathlib.Path(folder), options.ranks, seed, options.slow)
    print(f"{'all found' if wrong == 0 else f'{wrong} wrong'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
