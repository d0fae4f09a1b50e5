"""Small loops that work PyTorch's allocator hard, each recorded with what PyTorch itself counted.

    loops.py CASE OUT [--steps N] [--no-snapshot]

writes OUT.pickle (the snapshot; history since before the first allocation) and OUT.json: torch.cuda.memory_stats() at the end
as the truth, the settings, the cap, peaks by step, and what became of an out-of-memory error. One process a case and
setting: settings come by PYTORCH_CUDA_ALLOC_CONF, and an allocator cannot be begun anew. Everything is seeded, so that the
requests of a case are the same under every setting (where a loop reacts to an error they may differ after it, which the
JSON says).
"""
import argparse
import json
import os
import random
import time

import torch

GIB = 1 << 30
MIB = 1 << 20


def capped(gib):
    """Of the device, for the cases that are to run out: quick, and the same on every device."""
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(gib * GIB / total)
    return {"cap_bytes": int(gib * GIB / total * total), "fraction": gib * GIB / total, "total_bytes": total}


def floats(count_bytes):
    return torch.empty(count_bytes // 4, device="cuda")


def failed(error, number, size):
    """What could not be served: the how manieth of its kind (settings that fail there saw the same requests), and its bytes."""
    return {"out_of_memory": str(error).splitlines()[0], "failed_at": number, "failed_bytes": size // 4 * 4}


def streams(steps):
    """Three streams that hand tensors to each other; frees wait for streams that still use them (record_stream)."""
    generator = random.Random(1)
    lanes = [torch.cuda.Stream() for _ in range(3)]
    held = []
    for _ in range(steps):
        for lane in lanes:
            with torch.cuda.stream(lane):
                made = floats(generator.choice((300, 70_000, 900_000, 3 * MIB, 17 * MIB, 60 * MIB)))
                made.fill_(1)
                user = generator.choice(lanes)
                user.wait_stream(lane)
                with torch.cuda.stream(user):
                    made.mul_(2)
                made.record_stream(user)
                held.append(made)
        while len(held) > 9:
            held.pop(generator.randrange(len(held)))
    torch.cuda.synchronize()
    return {}


def graphs(steps):
    """Two CUDA graphs, the second in the first one's private pool, beside ordinary allocations."""
    layer = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
    batch = torch.randn(256, 1024, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            layer(batch).sum().backward()
    torch.cuda.current_stream().wait_stream(side)
    layer.zero_grad(set_to_none=True)
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(first):
        out = layer(batch)
        out.sum().backward()
    with torch.cuda.graph(second, pool=first.pool()):
        other = layer(batch * 2)
    generator = random.Random(2)
    for _ in range(steps):
        first.replay()
        second.replay()
        scratch = floats(generator.choice((2 * MIB, 9 * MIB, 33 * MIB)))
        scratch.fill_(1)
    torch.cuda.synchronize()
    del other
    return {}


def retries(steps):
    """Under a cap: what is cached has to be given back before a larger request is served; then one that no retry serves."""
    limits = capped(1.5)
    generator = random.Random(3)
    failure = {}
    for number in range(steps):
        held = [floats(generator.randrange(2 * MIB, 40 * MIB)) for _ in range(12)]
        del held[::2]
        size = generator.randrange(500 * MIB, 900 * MIB)
        try:
            large = floats(size)
        except torch.OutOfMemoryError as error:  # what is held lies so that no cached block and no new one is large enough
            return {**limits, **failed(error, number, size)}
        del large, held
    try:
        keep = [floats(200 * MIB) for _ in range(5)]
        floats(700 * MIB)
        del keep
    except torch.OutOfMemoryError as error:
        failure = failed(error, steps, 700 * MIB)
    return {**limits, **failure}


def collected(steps):
    """Under a cap, with sizes that seldom repeat: what garbage_collection_threshold is for."""
    limits = capped(2)
    generator = random.Random(4)
    held = []
    failure = {}
    try:
        for number in range(steps * 4):
            size = generator.randrange(20 * MIB, 180 * MIB)
            held.append(floats(size))
            while sum(each.numel() * 4 for each in held) > 1.2 * GIB:
                held.pop(generator.randrange(len(held)))
    except torch.OutOfMemoryError as error:
        failure = failed(error, number, size)
    return {**limits, **failure}


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.more = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.attention = torch.nn.MultiheadAttention(width, 8, batch_first=True)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.more(x))


def train(steps):
    """A transformer with batches of varying lengths, one of them four times as long: peaks by step as a program reads them."""
    torch.manual_seed(5)
    generator = random.Random(5)
    model = torch.nn.Sequential(*[Block(512) for _ in range(4)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    peaks = []
    times = []
    for step in range(steps):
        begin = time.perf_counter()
        length = 1024 if step == 2 * steps // 3 else generator.randrange(64, 256)
        batch = torch.randn(16, length, 512, device="cuda")
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
        peaks.append({"allocated": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved()})
        torch.cuda.reset_peak_memory_stats()
    addresses = {"parameters": sum(p.numel() * p.element_size() for p in model.parameters())}
    return {"peaks_by_step": peaks, "step_seconds": times, "tensors": addresses}


CASES = {function.__name__: function for function in (streams, graphs, retries, collected, train)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=CASES)
    parser.add_argument("out")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--no-snapshot", action="store_true")
    parser.add_argument("--history", action="store_true", help="with --no-snapshot: PyTorch's history is on all the same, to see what it costs")
    arguments = parser.parse_args()
    document = {"case": arguments.case, "steps": arguments.steps, "torch": torch.__version__,
                "conf": os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""), "no_caching": os.environ.get("PYTORCH_NO_CUDA_MEMORY_CACHING", "")}
    # History writes none without a caching allocator, and `stepscope run --memory` has its own.
    with_snapshot = not arguments.no_snapshot and not document["no_caching"]
    if with_snapshot or arguments.history:
        torch.cuda.memory._record_memory_history(stacks="python", max_entries=5_000_000)
    document.update(CASES[arguments.case](arguments.steps))
    torch.cuda.synchronize()
    document["device"] = torch.cuda.get_device_name(0)
    document["memory_stats"] = dict(torch.cuda.memory_stats())
    if with_snapshot:
        torch.cuda.memory._dump_snapshot(arguments.out + ".pickle")
    with open(arguments.out + ".json", "w") as file:
        json.dump(document, file, indent=1)


if __name__ == "__main__":
    main()
