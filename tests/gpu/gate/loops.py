#!/usr/bin/env python3
"""Runs of a quiet or of a noisy loop on a GPU, their steps timed by stepscope.steps; prints {"unit": "ns", "runs": [[...], ...]}.

    loops.py quiet --steps 100      a transformer of one size, data on the GPU: the GPU is what limits
    loops.py noisy --steps 100      lengths that vary by +-10 %, a batch made on the host each step, an .item(): host and data matter

`stepscope.steps` times each step between two events in the stream and drops the first ones. Each run is a process of its own,
forked before CUDA is touched: 40 imports of PyTorch would take longer than the runs.
"""
import argparse
import json
import os
import random
import sys
import time

import torch

import stepscope

BEGIN = time.monotonic()
WIDTH, LENGTH, LAYERS = 1024, 512, 8
# With 16 rows a step takes the GPU 18 ms, which a disturbed host does not always launch in time: then runs differ by 8 %.
# The noisy one has few rows, since the host makes them: 20 runs with 16, of randn, took over five minutes.
ROWS = {"quiet": 48, "noisy": 8}


def make_model():
    layer = torch.nn.TransformerEncoderLayer(WIDTH, 16, 4 * WIDTH, batch_first=True, dropout=0.0)
    model = torch.nn.TransformerEncoder(layer, LAYERS).cuda()
    return model, torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)


def quiet_batches(count):
    batch = torch.randn(ROWS["quiet"], LENGTH, WIDTH, device="cuda")
    for _ in range(count):
        yield batch


def noisy_batches(count):
    for _ in range(count):
        length = round(LENGTH * random.uniform(0.9, 1.1))
        yield torch.rand(ROWS["noisy"], length, WIDTH).sub_(0.5).cuda()


def one_run(options):
    model, optimizer = make_model()
    batches = quiet_batches if options.loop == "quiet" else noisy_batches
    loop = stepscope.steps(batches(options.warm_up + options.steps), warmup=options.warm_up, file=False)
    for batch in loop:
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if options.loop == "noisy":
            loss.item()
    return [round(step * 1e9) for step in loop.times.steps]


def in_a_process(options, number):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        random.seed(number)
        with os.fdopen(writer, "w") as pipe:
            json.dump(one_run(options), pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    print(f"run {number} after {time.monotonic() - BEGIN:.0f} s", file=sys.stderr, flush=True)
    if not text:
        sys.exit(f"run {number} failed")
    return json.loads(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("loop", choices=["quiet", "noisy"])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=10)
    options = parser.parse_args()
    json.dump({"unit": "ns", "runs": [in_a_process(options, number) for number in range(options.runs)]}, sys.stdout)


if __name__ == "__main__":
    main()
