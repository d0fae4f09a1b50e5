#!/usr/bin/env python3
"""Records step times of two loops on the CPU, each run in a process of its own, as a list that false_alarms reads.

    bench/gate/cpu_loops.py quiet -o quiet.json      the same work in every step
    bench/gate/cpu_loops.py noisy -o noisy.json      work and allocations that vary from step to step

What this machine's processors do is no picture of a GPU: other programs share them. The times are what they were, and
nothing is left out but the first steps (as `stepscope.steps` does).
"""
import argparse
import hashlib
import json
import random
import subprocess
import sys
import time

WARM_UP = 3


def quiet_step(state):
    hashlib.sha256(state["bytes"]).digest()


def noisy_step(state):
    # As a loop whose batches differ in length: 0.9 to 1.1 times the work, and fresh memory in every step.
    size = int(len(state["bytes"]) * state["random"].uniform(0.9, 1.1))
    fresh = bytearray(state["bytes"][:size]) if size <= len(state["bytes"]) else bytearray(state["bytes"]) + bytearray(size - len(state["bytes"]))
    hashlib.sha256(fresh).digest()


def one_run(loop, steps):
    step = quiet_step if loop == "quiet" else noisy_step
    state = {"bytes": bytes(8 << 20), "random": random.Random()}
    times = []
    for _ in range(WARM_UP + steps):
        begin = time.perf_counter_ns()
        step(state)
        times.append(time.perf_counter_ns() - begin)
    return times[WARM_UP:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("loop", choices=["quiet", "noisy"])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("-o", "--output")
    parser.add_argument("--one", action="store_true", help="one run, here, its times on standard output")
    options = parser.parse_args()
    if options.one:
        json.dump(one_run(options.loop, options.steps), sys.stdout)
        return
    command = [sys.executable, __file__, options.loop, "--one", "--steps", str(options.steps)]
    runs = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(options.runs)]
    text = json.dumps({"unit": "ns", "runs": runs})
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    else:
        print(text)


if __name__ == "__main__":
    main()
