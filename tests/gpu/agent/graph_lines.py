"""A training step in a CUDA graph, captured forward and backward before any window: what do its replays say of their kernels?

    stepscope run --paused --graphs --no-report --out DIR -- python3 graph_lines.py     one window of 20 replays
    graph_lines.py --check PROGRAM DIR                                                 the table

Every kernel of the replays must have the operator it was captured under; each that came of the model's own line must have
a stack with that line, those of the backward included, which runs on a thread without Python.
"""
import collections
import ctypes
import glob
import json
import os
import subprocess
import sys

REPLAYS = 20


def loop():
    import torch

    torch.manual_seed(0)
    agent = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
    first, second = (torch.nn.Linear(512, 512).cuda() for _ in range(2))
    parameters = [*first.parameters(), *second.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4, capturable=True)
    batch = torch.randn(256, 512, device="cuda")

    def step():
        hidden = torch.nn.functional.gelu(first(batch))  # LINE forward one
        loss = torch.tanh(second(hidden)).square().mean()  # LINE forward two
        loss.backward()  # LINE backward
        optimizer.step()  # LINE optimizer
        optimizer.zero_grad(set_to_none=False)

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    graph.replay()
    torch.cuda.synchronize()
    agent.stepscope_agent_start()
    for _ in range(REPLAYS):
        graph.replay()
    torch.cuda.synchronize()
    agent.stepscope_agent_stop()


def check(program, folder):
    with open(__file__) as file:
        lines = {text.split("  # LINE ")[1].strip(): number for number, text in enumerate(file, 1) if "  # LINE " in text}
    (path,) = glob.glob(folder + "/*.stepscope")
    trace = folder + "/graph_lines.pt.trace.json"
    subprocess.run([program, "convert", path, "-o", trace], check=True)
    with open(trace) as file:
        events = json.load(file)["traceEvents"]
    kernels = [event["args"] for event in events if event.get("cat") == "kernel" and "graph id" in event["args"]]
    by_line, unnamed, without = collections.Counter(), 0, collections.Counter()
    for arguments in kernels:
        operator, stack = arguments.get("stepscope operator", ""), arguments.get("stepscope call stack", "")
        unnamed += not operator
        found = ", ".join(name for name, number in lines.items() if f"graph_lines.py({number})" in stack)
        by_line[found or "none"] += 1
        if not found:
            without[(operator, stack[-100:])] += 1
    print(f"{len(kernels)} kernels of {REPLAYS} replays; without an operator {unnamed}; by line {dict(by_line)}")
    for (operator, stack), count in without.most_common(8):
        print(f"  without a line: {count} of {operator or 'no operator'} {stack}")
    missing = {"forward one", "forward two", "optimizer"} - set(by_line)
    print("lines not seen:", missing or "none")
    sys.exit(1 if unnamed or missing or by_line["none"] or not kernels else 0)


if __name__ == "__main__":
    check(*sys.argv[2:]) if sys.argv[1:2] == ["--check"] else loop()
