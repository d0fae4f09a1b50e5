#!/usr/bin/env python3
"""Measures the same operations by four timers on one GPU, in turns, and prints a table (docs/performance.md).

    compare_timers.py LIBTIMER_BRIDGE.so [--rounds 7] [--json FILE]

Timers: ours (blocked_autorange, CUDA clock), torch.utils.benchmark.Timer (blocked_autorange), our cold, cold with nvbench's flush ("written"), warm
(not flushed) and hot kernel times, Triton's do_bench, and the naive one: time.time() around a call, nothing waited
for. All times are in us. In each round each operation is measured by ours and by torch's one after the other, the first
of them in turns. "difference" is the median of the rounds' differences, "scatter" their quartile range: a difference
within it means nothing. "limit: host" marks operations that the host launches more slowly than the GPU runs them.
"""
import argparse
import ctypes
import gc
import json
import statistics
import sys
import time

import torch
import torch.utils.benchmark as benchmark

RUN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64)


class BridgeResult(ctypes.Structure):
    _fields_ = [
        ("median_ns", ctypes.c_double), ("mean_ns", ctypes.c_double), ("min_ns", ctypes.c_double),
        ("spread_ratio", ctypes.c_double), ("clock_hz", ctypes.c_double), ("sample_count", ctypes.c_int64),
        ("runs_per_sample", ctypes.c_int64), ("throttled_count", ctypes.c_int64), ("is_held", ctypes.c_int32),
        ("text", ctypes.c_char * 1024)]


class Bridge:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        double, pointer = ctypes.c_double, ctypes.POINTER(BridgeResult)
        self.library.bridge_timer.argtypes = [RUN, double, pointer]
        self.library.bridge_cold.argtypes = [RUN, double, double, ctypes.c_int, pointer]
        self.library.bridge_hot.argtypes = [RUN, double, double, pointer]
        self.launch_empty = self.library.bridge_launch_empty

    def measure(self, name, callback, *arguments):
        result = BridgeResult()
        if getattr(self.library, "bridge_" + name)(callback, *arguments, ctypes.byref(result)) != 0:
            raise RuntimeError(f"{name}: {result.text.decode()}")
        return result


def callback_of(op):
    """`op` n times in a Python loop, as a C function. The garbage collector rests meanwhile, as in torch's Timer."""
    def run(count):
        gc.disable()
        try:
            for _ in range(count):
                op()
            return 0
        except Exception as error:  # an exception cannot pass through C
            print("operation failed:", error, file=sys.stderr)
            return 1
        finally:
            gc.enable()
    return RUN(run)


def make_graph(op, times):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            op()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(times):
            op()
    return graph


def make_operations(bridge):
    bf16, device = torch.bfloat16, "cuda"
    random = lambda *shape, dtype=torch.float32: torch.randn(*shape, device=device, dtype=dtype)
    small, large, other = random(1024), random(1 << 26), random(1 << 26)
    a, b = random(4096, 4096, dtype=bf16), random(4096, 4096, dtype=bf16)
    c, d = random(256, 256, dtype=bf16), random(256, 256, dtype=bf16)
    rows = random(8192, 4096, dtype=bf16)
    table, tokens = random(50_000, 1024, dtype=bf16), torch.randint(50_000, (32_768,), device=device)
    q, k, v = (random(4, 16, 2048, 64, dtype=bf16) for _ in range(3))
    image, filters = random(32, 64, 56, 56, dtype=bf16), random(64, 64, 3, 3, dtype=bf16)
    pinned = torch.empty(1 << 26, dtype=torch.uint8, pin_memory=True)
    target = torch.empty(1 << 26, dtype=torch.uint8, device=device)
    graph = make_graph(lambda: small.add_(1), 50)
    functional = torch.nn.functional
    linear = torch.nn.Linear
    layers = torch.nn.Sequential(linear(1024, 4096), torch.nn.GELU(), linear(4096, 1024)).to(device, bf16)
    batch = random(4096, 1024, dtype=bf16)

    def train():
        layers.zero_grad(set_to_none=True)
        layers(batch).square().mean().backward()

    return {
        "empty kernel": bridge.launch_empty,
        "add, 1 K floats": lambda: small.add_(1),
        "add, 64 M floats": lambda: torch.add(large, other, out=large),
        "matmul 256, bf16": lambda: torch.mm(c, d),
        "matmul 4096, bf16": lambda: torch.mm(a, b),
        "softmax 8192x4096, bf16": lambda: torch.softmax(rows, -1),
        "layer norm 8192x4096, bf16": lambda: functional.layer_norm(rows, (4096,)),
        "sum of 64 M floats": lambda: large.sum(),
        "embedding 32 K of 1024": lambda: functional.embedding(tokens, table),
        "attention 4x16x2048x64": lambda: functional.scaled_dot_product_attention(q, k, v, is_causal=True),
        "conv 3x3, 32x64x56x56": lambda: functional.conv2d(image, filters, padding=1),
        "copy on the device, 256 MB": lambda: other.copy_(large),
        "copy from pinned host, 64 MB": lambda: target.copy_(pinned, non_blocking=True),
        "graph of 50 adds": graph.replay,
        "MLP forward and backward": train,
    }


def measure_naive(op):
    """What one writes first: the host's clock around a call."""
    times = []
    for _ in range(30):
        begin = time.time()
        op()
        times.append((time.time() - begin) * 1e9)
    torch.cuda.synchronize()
    return statistics.median(times)


def measure_do_bench(op):
    """Triton's cold time, in ns: events around each call, L2 overwritten before it, the stream not held."""
    try:
        from triton.testing import do_bench
    except ImportError:
        return None
    return do_bench(op, warmup=50, rep=200, return_mode="median") * 1e6


def measure_rounds(operations, bridge, rounds, min_time_s):
    callbacks = {name: callback_of(op) for name, op in operations.items()}
    rows = {name: {"ours": [], "torch": []} for name in operations}
    for number in range(rounds):
        for name, op in operations.items():
            timer = benchmark.Timer("op()", globals={"op": op})
            measures = [
                ("ours", lambda: bridge.measure("timer", callbacks[name], min_time_s).median_ns),
                ("torch", lambda: timer.blocked_autorange(min_run_time=min_time_s).median * 1e9)]
            for kind, measure in measures if number % 2 == 0 else reversed(measures):
                rows[name][kind].append(measure())
    for name, op in operations.items():
        row = rows[name]
        row["naive"] = measure_naive(op)
        row["do_bench"] = measure_do_bench(op)
        for kind, result in (("cold", bridge.measure("cold", callbacks[name], 0.3, 2.0, 1)),
                             ("written", bridge.measure("cold", callbacks[name], 0.2, 2.0, 2)),
                             ("warm", bridge.measure("cold", callbacks[name], 0.2, 2.0, 0)),
                             ("hot", bridge.measure("hot", callbacks[name], 0.3, 1.5))):
            row[kind] = result.median_ns
            row[kind + "_noise"] = result.spread_ratio
            row[kind + "_samples"] = result.sample_count
            row[kind + "_clock_mhz"] = result.clock_hz / 1e6
            row[kind + "_text"] = result.text.decode()
            row[kind + "_held"] = result.is_held
    return rows


def print_table(rows):
    us = lambda ns: "-" if ns is None else f"{ns / 1e3:.2f}" if ns < 1e6 else f"{ns / 1e3:.1f}"
    names = ["operation", "limit", "our Timer", "torch's", "difference", "scatter", "naive", "do_bench", "cold", "noise",
             "written", "warm", "hot", "SM MHz"]
    print("| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|")
    for name, row in rows.items():
        differences = [ours / theirs - 1 for ours, theirs in zip(row["ours"], row["torch"])]
        low, median, high = statistics.quantiles(differences, n=4)
        cells = [name, "host" if "host launches" in row["hot_text"] else "GPU", us(statistics.median(row["ours"])),
                 us(statistics.median(row["torch"])), f"{median * 100:+.1f}%", f"{(high - low) * 100:.1f}%",
                 us(row["naive"]), us(row["do_bench"]), us(row["cold"]), f"{row['cold_noise'] * 100:.1f}%",
                 us(row["written"]), us(row["warm"]), us(row["hot"]), f"{row['cold_clock_mhz']:.0f}"]
        print("| " + " | ".join(cells) + " |")
    for name, row in rows.items():
        for kind in ("cold", "written", "warm", "hot"):
            if row[kind + "_text"]:
                print(f"{name}, {kind}, {row[kind + '_samples']} samples: {row[kind + '_text']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bridge")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--min-time-s", type=float, default=0.2)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    bridge = Bridge(arguments.bridge)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}, "
          f"Python {sys.version.split()[0]}")
    torch.zeros(1, device="cuda")
    rows = measure_rounds(make_operations(bridge), bridge, arguments.rounds, arguments.min_time_s)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(rows, file, indent=1)
    print_table(rows)


if __name__ == "__main__":
    main()
