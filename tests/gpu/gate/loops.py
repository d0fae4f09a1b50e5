#!/usr/bin/env python3
"""One run of a quiet or of a noisy loop on a GPU, its steps timed by stepscope.steps; prints one JSON list of ns.

    loops.py quiet --steps 100      a transformer of one size, data on the GPU: the GPU is what limits
    loops.py noisy --steps 100      lengths that vary by +-10 %, a batch made on the host each step, an .item(): host and data matter

`stepscope.steps` times each step between two events in the stream and drops the first ones.
"""
import argparse
import json
import random
import sys

import torch

import stepscope

WIDTH, BATCH, LENGTH, LAYERS = 1024, 16, 512, 8


def make_model():
    layer = torch.nn.TransformerEncoderLayer(WIDTH, 16, 4 * WIDTH, batch_first=True, dropout=0.0)
    model = torch.nn.TransformerEncoder(layer, LAYERS).cuda()
    return model, torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)


def quiet_batches(count):
    batch = torch.randn(BATCH, LENGTH, WIDTH, device="cuda")
    for _ in range(count):
        yield batch


def noisy_batches(count):
    for _ in range(count):
        length = round(LENGTH * random.uniform(0.9, 1.1))
        yield torch.randn(BATCH, length, WIDTH).cuda()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("loop", choices=["quiet", "noisy"])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--warm-up", type=int, default=10)
    options = parser.parse_args()
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
    json.dump([round(step * 1e9) for step in loop.times.steps], sys.stdout)


if __name__ == "__main__":
    main()
