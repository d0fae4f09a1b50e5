"""A training step in a CUDA graph, captured forward and backward before any window: what do its replays say of their kernels?

    stepscope run --paused --graphs --no-report --out DIR -- python3 graph_lines.py     one window of 20 replays
    graph_lines.py --check PROGRAM DIR                                                 the table

Every kernel of the replays must have the operator it was captured under and a stack with the line of the model that it came of,
those of the backward included, which runs on a thread without Python. One kind has no line: what autograd adds to the gradients
of parameters (AccumulateGrad) comes of no forward operator.
"""
import collections
import ctypes
import glob
import json
import os
import re
import subprocess
import sys

REPLAYS = 20
PARAMETERS = 4
OF_LEAVES = "aten::add_"  # the optimizer's are _foreach_ operators


def loop():
    import torch

    torch.manual_seed(0)
    agent = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
    first, second = (torch.nn.Linear(512, 512).cuda() for _ in range(2))
    parameters = [*first.parameters(), *second.parameters()]
    assert len(parameters) == PARAMETERS
    optimizer = torch.optim.AdamW(parameters, lr=1e-4, capturable=True)
    batch = torch.randn(256, 512, device="cuda")

    def step():
        hidden = torch.nn.functional.gelu(first(batch))  # LINE forward one
        loss = torch.tanh(second(hidden)).square().mean()  # LINE forward two
        loss.backward()  # LINE backward
        optimizer.step()  # LINE optimizer
        optimizer.zero_grad(set_to_none=False)  # LINE zero_grad

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
        marks = [(re.search(r"  # LINE ([a-z_ ]+)$", text), number) for number, text in enumerate(file, 1)]
    lines = {mark[1]: number for mark, number in marks if mark}
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
            without[(operator, stack)] += 1
    print(f"{len(kernels)} kernels of {REPLAYS} replays; without an operator {unnamed}; by line {dict(by_line)}")
    of_leaves = without.pop((OF_LEAVES, ""), 0)
    print(f"  of gradients that are added to their leaves, which no line of the forward makes: {of_leaves} (of {PARAMETERS * REPLAYS} at most)")
    for (operator, stack), count in without.most_common(8):
        print(f"  without a line: {count} of {operator or 'no operator'} {stack[-100:]}")
    missing = set(lines) - {name for found in by_line for name in found.split(", ")}
    print("lines not seen:", missing or "none")
    sys.exit(1 if unnamed or missing or without or of_leaves > PARAMETERS * REPLAYS or not kernels else 0)


if __name__ == "__main__":
    check(*sys.argv[2:]) if sys.argv[1:2] == ["--check"] else loop()
