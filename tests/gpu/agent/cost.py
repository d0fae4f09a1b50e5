"""What the agent costs a host-bound loop, by parts, in alternating blocks of one process.

CUPTI's kinds are switched by hand (the agent has registered its buffers), so that their cost stands beside the whole.
"""
import ctypes
import glob
import json
import os
import statistics
import sys
import time

import torch

agent = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
torch.manual_seed(0)
layers = [torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.LayerNorm(256), torch.nn.GELU()) for _ in range(24)]
model = torch.nn.Sequential(*layers).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=False)
batch = torch.randn(64, 256, device="cuda")
with open("/proc/self/maps") as maps:
    cupti = ctypes.CDLL(next(line.split()[-1] for line in maps if "libcupti" in line))


def steps(count=20):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(count):
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / count * 1e3


def kinds(*numbers):
    def switch(on):
        for number in numbers:
            assert (cupti.cuptiActivityEnable if on else cupti.cuptiActivityDisable)(number) == 0

    return switch


def whole(on):
    (agent.stepscope_agent_start if on else agent.stepscope_agent_stop)()


ways = {"kernels": kinds(10), "kernels copies sets": kinds(10, 1, 2), "all kinds": kinds(10, 1, 22, 2, 38, 17), "agent": whole}
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
        ratios[name].append(on / off)
        offs.append(off)
for name, values in ratios.items():
    print(f"{name:22} x{statistics.median(values):.3f}  {[round(value, 2) for value in values]}")
print("off ms:", [round(value, 1) for value in offs])
print("agent start, stop ms:", switch_ms)
