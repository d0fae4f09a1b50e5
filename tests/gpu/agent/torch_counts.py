"""A small training loop whose kernels are counted by torch.profiler (mode `torch`) or captured by the agent (`agent`).

All modes run the same steps from the same seed, so that the counts must be equal. `twice`: the agent in two windows of
one process, half of the steps each. `between`: the same with a session of torch.profiler between the two, which brings a
clock of its own to CUPTI. `killed`: a window that nobody ends; it waits to be killed. `none`: nobody, for times.
"""
import collections
import ctypes
import json
import os
import sys
import time

import torch

mode, out = sys.argv[1], sys.argv[2]
torch.manual_seed(0)
layers = [torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.LayerNorm(256), torch.nn.GELU()) for _ in range(24)]
model = torch.nn.Sequential(*layers).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=False)
batch = torch.randn(64, 256, device="cuda")
agent = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]) if mode in ("agent", "twice", "between", "killed") else None


def step():
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def steps(count):
    begin = time.perf_counter()
    for _ in range(count):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / count * 1e3


steps(5)
result = {"mode": mode, "before_ms": steps(20)}
if mode == "torch":
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        result["inside_ms"] = steps(20)
    profiler.export_chrome_trace(out + ".trace.json")
    with open(out + ".trace.json") as file:
        events = json.load(file)["traceEvents"]
    os.remove(out + ".trace.json")
    kernels = collections.Counter(e["name"] for e in events if e.get("cat") == "kernel")
    result["kernels"] = sum(kernels.values())
    result["copies"] = sum(e.get("cat") == "gpu_memcpy" for e in events)
    result["sets"] = sum(e.get("cat") == "gpu_memset" for e in events)
    result["kernel_us"] = sum(e["dur"] for e in events if e.get("cat") == "kernel")
    result["names"] = kernels
if mode == "agent":
    agent.stepscope_agent_start()
    result["inside_ms"] = steps(20)
    agent.stepscope_agent_stop()
if mode in ("twice", "between"):
    for window in range(2):
        agent.stepscope_agent_start()
        result["inside_ms"] = steps(10)
        agent.stepscope_agent_stop()
        if mode == "between" and window == 0:
            from torch.profiler import ProfilerActivity, profile

            time.sleep(1)  # the window's last buffers are on their way; torch.profiler would get them
            with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
                steps(3)
            result["rival_kernels"] = sum(row.count for row in profiler.key_averages() if row.self_device_time_total > 0)
        steps(3)
if mode == "killed":
    agent.stepscope_agent_start()
    while True:
        print("alive", steps(10), flush=True)
result["after_ms"] = steps(20)
with open(out + ".json", "w") as file:
    json.dump(result, file)
print({key: value for key, value in result.items() if key != "names"}, flush=True)
