"""What capture costs a training step, in alternating blocks of one process: off, on, off, on.

    stepscope run --paused --no-report --out DIR -- python3 bench/gpu/capture_cost.py tiny|solid [ROUNDS] [agent,every,nothing]
    python3 bench/gpu/capture_cost.py tiny|solid [ROUNDS] torch|proton

The agent is in the process and does nothing until a block asks it to; `every` is a block of 100 steps of which the agent
records 3. The peers run in processes of their own, since a second user of CUPTI takes its buffers from the first. Two
shapes of a small GPT: `tiny` is bound by the host (the worst case: a block's cost is nearly all launches), `solid` by the
GPU. Ratios are paired: each block against the off blocks beside it, since the machine's clock and neighbours drift by more
than what is measured. Prints medians, quartiles and the 95 % interval of the median (bootstrap).
"""
import ctypes
import json
import random
import statistics
import sys
import tempfile
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

# Launching a step takes 25 to 50 ms on the cores of rented machines; `solid` has to be far above that to be the GPU's.
SHAPES = {"tiny": dict(layers=12, width=128, length=64, batch=1, steps=30), "solid": dict(layers=12, width=768, length=1024, batch=48, steps=6)}
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


def median_interval(values):
    generator = random.Random(1)
    medians = sorted(statistics.median(generator.choices(values, k=len(values))) for _ in range(4000))
    return [round(medians[100], 4), round(medians[3900], 4)]


def main():
    shape, rounds = SHAPES[sys.argv[1]], int(sys.argv[2]) if len(sys.argv) > 2 else 15
    names = sys.argv[3].split(",") if len(sys.argv) > 3 else ["agent", "nothing"]
    agent = agent_library() if set(names) & {"agent", "every"} else None
    torch.manual_seed(0)
    model = Model(shape["layers"], shape["width"], shape["length"]).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=sys.argv[1] == "solid")
    tokens = torch.randint(0, VOCABULARY, (shape["batch"], shape["length"]), device="cuda")

    def run(steps):
        for _ in range(steps):
            with torch.autocast("cuda", torch.bfloat16):
                loss = model(tokens)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    def block(steps=shape["steps"]):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        run(steps)
        torch.cuda.synchronize()
        return (time.perf_counter() - begin) / steps * 1e3

    def under_agent():
        agent.stepscope_agent_start()
        block(3)
        took = block()
        agent.stepscope_agent_stop()
        return took

    def three_in_a_hundred():
        torch.cuda.synchronize()
        begin = time.perf_counter()
        run(50)
        agent.stepscope_agent_start()
        run(3)
        agent.stepscope_agent_stop()
        run(47)
        torch.cuda.synchronize()
        return (time.perf_counter() - begin) / 100 * 1e3

    def under_torch():
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):
            block(3)
            return block()

    def under_proton():
        import triton.profiler as proton

        session = proton.start(tempfile.mktemp(prefix="proton"), context="shadow")
        block(3)
        took = block()
        proton.deactivate(session)
        proton.finalize(session)
        return took

    ways = {"agent": under_agent, "every": three_in_a_hundred, "nothing": block, "torch": under_torch, "proton": under_proton}
    block(), block()
    for name in names:
        on = ways[name]
        steps = 100 if name == "every" else shape["steps"]
        on()
        ratios, offs = [], [block(steps)]
        for _ in range(rounds):
            took = on()
            offs.append(block(steps))
            ratios.append(took / statistics.mean(offs[-2:]))
        quarters = statistics.quantiles(ratios, n=4)
        result = dict(ratio=round(statistics.median(ratios), 4), interval=median_interval(ratios), quartiles=[round(quarters[0], 3), round(quarters[2], 3)],
                      off_ms=round(statistics.median(offs), 2), rounds=len(ratios))
        print(json.dumps(dict(shape=sys.argv[1], way=name, **result, device=torch.cuda.get_device_name(), torch=torch.__version__)), flush=True)


if __name__ == "__main__":
    main()
