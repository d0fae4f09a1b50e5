"""What the agent costs a host-bound loop, by parts, in alternating blocks of one process.

    stepscope run --paused --no-report [--no-stacks] [--no-gpu] --out DIR -- python3 cost.py ROUNDS [blocks|train] [agent]

CUPTI's kinds are switched by hand (the agent has registered its buffers), so that their cost stands beside the whole;
with `agent` only the whole is measured. `train` is the loop of memory/loops.py, which synchronizes after each step.
"""
import ctypes
import os
import pathlib
import statistics
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "memory"))
import loops  # noqa: E402

agent = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
torch.manual_seed(0)
shape = sys.argv[2] if len(sys.argv) > 2 else "blocks"
if shape == "train":
    model, batch = torch.nn.Sequential(*[loops.Block(512) for _ in range(4)]).cuda(), torch.randn(16, 160, 512, device="cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
else:
    layers = [torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.LayerNorm(256), torch.nn.GELU()) for _ in range(24)]
    model, batch = torch.nn.Sequential(*layers).cuda(), torch.randn(64, 256, device="cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=False)


def steps(count=20):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(count):
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if shape == "train":
            torch.cuda.synchronize()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / count * 1e3


def cupti_library():
    with open("/proc/self/maps") as maps:
        return ctypes.CDLL(next(line.split()[-1] for line in maps if "libcupti" in line))


def kinds(*numbers):
    def switch(on):
        for number in numbers:
            library = cupti_library()
            assert (library.cuptiActivityEnable if on else library.cuptiActivityDisable)(number) == 0

    return switch


def whole(on):
    (agent.stepscope_agent_start if on else agent.stepscope_agent_stop)()


ways = {"kernels": kinds(10), "kernels copies sets": kinds(10, 1, 2), "all kinds": kinds(10, 1, 22, 2, 38, 17), "agent": whole}
if "agent" in sys.argv:
    ways = {"agent": whole}
steps(), steps()
print("before any:", [round(steps(), 2) for _ in range(4)])
ratios = {name: [] for name in ways}
offs, switch_ms = [], []
for round_number in range(int(sys.argv[1])):
    for name, switch in ways.items():
        off = steps()
        t0 = time.perf_counter()
        switch(True)
        t1 = time.perf_counter()
        on = steps()
        t2 = time.perf_counter()
        switch(False)
        t3 = time.perf_counter()
        if name == "agent":
            switch_ms.append((round((t1 - t0) * 1e3, 3), round((t3 - t2) * 1e3, 3)))
        ratios[name].append(on / statistics.mean((off, steps())))
        offs.append(off)
for name, values in ratios.items():
    print(f"{name:22} x{statistics.median(values):.3f}  {[round(value, 2) for value in values]}")
print("off ms:", [round(value, 1) for value in offs])
print("agent start, stop ms:", switch_ms)
