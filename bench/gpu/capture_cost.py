"""What capture costs a training step, in alternating blocks of one process: off, our agent, off, torch.profiler.

Started by `stepscope run --paused --no-report --out DIR -- python3 bench/gpu/capture_cost.py tiny|solid [ROUNDS]`: the agent is
in the process and does nothing until a block asks it to. Two shapes of a small GPT: `tiny` is bound by the host (the worst
case: a block's cost is nearly all launches), `solid` by the GPU. Ratios are paired: each block against the off block before
it, since the machine's clock and neighbours drift by more than what is measured. Prints the median and quartiles.
"""
import ctypes
import json
import os
import statistics
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

SHAPES = {"tiny": dict(layers=12, width=128, length=64, batch=1, steps=30), "solid": dict(layers=12, width=768, length=1024, batch=16, steps=10)}
VOCABULARY = 32000


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.heads = max(1, width // 64)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, length, width)
        x = x + self.out(mixed)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, layers, width, length):
        super().__init__()
        self.token, self.place = nn.Embedding(VOCABULARY, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block(width) for _ in range(layers)])
        self.head = nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.token(tokens) + self.place(torch.arange(tokens.shape[1], device=tokens.device))
        return F.cross_entropy(self.head(self.blocks(x)).flatten(0, 1), tokens.flatten())


def agent_library():
    with open("/proc/self/maps") as maps:
        path = next((line.split()[-1] for line in maps if "libstepscope_agent" in line), None)
    if path is None:
        sys.exit("no agent in this process: start me by `stepscope run --paused -- python3 ...`")
    return ctypes.CDLL(path)


def main():
    shape, rounds = SHAPES[sys.argv[1]], int(sys.argv[2]) if len(sys.argv) > 2 else 15
    agent = agent_library()
    torch.manual_seed(0)
    model = Model(shape["layers"], shape["width"], shape["length"]).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=sys.argv[1] == "solid")
    tokens = torch.randint(0, VOCABULARY, (shape["batch"], shape["length"]), device="cuda")

    def block(steps=shape["steps"]):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(steps):
            with torch.autocast("cuda", torch.bfloat16):
                loss = model(tokens)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        return (time.perf_counter() - begin) / steps * 1e3

    def under_agent():
        agent.stepscope_agent_start()
        block(3)
        took = block()
        agent.stepscope_agent_stop()
        return took

    def under_torch():
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):
            block(3)
            return block()

    block(), block(), under_agent()
    results = {}
    for name, way in (("agent", under_agent), ("nothing", block), ("torch.profiler", under_torch)):
        ratios, offs = [], []
        for _ in range(rounds if name != "torch.profiler" else max(3, rounds // 3)):
            before = block()
            on = way()
            after = block()
            ratios.append(on / statistics.mean((before, after)))
            offs.append(before)
        quarters = statistics.quantiles(ratios, n=4)
        results[name] = dict(ratio=round(statistics.median(ratios), 3), quartiles=[round(quarters[0], 3), round(quarters[2], 3)],
                             off_ms=round(statistics.median(offs), 2), rounds=len(ratios))
    print(json.dumps(dict(shape=sys.argv[1], device=torch.cuda.get_device_name(), torch=torch.__version__, **results)))


if __name__ == "__main__":
    main()
