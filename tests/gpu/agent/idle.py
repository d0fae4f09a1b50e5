"""What an agent at rest costs: pairs of processes, one with it and one without, that take turns of some 100 ms on one core.

    idle.py PROGRAM FOLDER [--pairs 20] [--rounds 10]      prints the table
    idle.py --serve                                         one of the processes: a line in, two times out
    valgrind --tool=callgrind --instr-atstart=no idle.py --count      the instructions of 10 of these steps on a CPU, by valgrind

A step and a launch of one process drift by 20 % within minutes on a shared machine, and two processes that run one after
the other differ as much. Turn and turn about on the same core, both see the same neighbours; what is left between two
processes (where their memory lies) is what the pairs are for. The model is small, so that the host is the limit.

The agent listens to PyTorch's spans until the first steps have told it that it need not: they are over before a turn is
timed, and each process says whether PyTorch still has callbacks then.
"""
import argparse
import ctypes
import gc
import glob
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time


def has_callbacks():
    """PyTorch's own answer: is anything registered that hears operators or spans?"""
    import torch

    library = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"))[0])
    library._ZN2at18hasGlobalCallbacksEv.restype = ctypes.c_bool
    return library._ZN2at18hasGlobalCallbacksEv()


def training(device):
    """A step of a small model, and a batch to launch something on."""
    import torch

    torch.manual_seed(0)
    layers = [torch.nn.Sequential(torch.nn.Linear(128, 128), torch.nn.LayerNorm(128), torch.nn.GELU()) for _ in range(24)]
    model = torch.nn.Sequential(*layers).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    batch, one = torch.randn(64, 128, device=device), torch.zeros(1, device=device)

    def step():
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step, one


def valgrind_switch():
    """Valgrind's macros that switch its counting on and off, as functions."""
    code = "#include <valgrind/callgrind.h>\nvoid on(void) { CALLGRIND_START_INSTRUMENTATION; }\nvoid off(void) { CALLGRIND_STOP_INSTRUMENTATION; }\n"
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "switch.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=code, text=True, check=True)
        return ctypes.CDLL(library)


def count():
    import torch

    # A program on a GPU has threads of CUDA and PyTorch, so its malloc takes locks already; the agent's would begin it.
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    switch = valgrind_switch()
    torch.set_num_threads(1)
    step, _ = training("cpu")
    for _ in range(10):
        step()
    gc.disable()
    switch.on()
    for _ in range(10):
        step()
    switch.off()
    print("callbacks of PyTorch:", has_callbacks())


def serve():
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    wait = torch.cuda.synchronize if device == "cuda" else (lambda: None)
    step, one = training(device)

    def block(body, count):
        """ns of one call, of `count`."""
        wait()
        begin = time.perf_counter_ns()
        for _ in range(count):
            body()
        wait()
        return (time.perf_counter_ns() - begin) / count

    block(step, 10), block(one.neg_, 1000)
    print("callbacks" if has_callbacks() else "ready", flush=True)
    for _ in sys.stdin:
        print(block(step, 6), block(one.neg_, 4000), flush=True)


class Process:
    def __init__(self, prefix):
        self.pipe = subprocess.Popen([*prefix, sys.executable, "-W", "ignore", __file__, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, text=True)

    def line(self):
        text = self.pipe.stdout.readline()
        if not text:
            sys.exit("a process ended early")
        return text

    def turn(self):
        self.pipe.stdin.write("go\n")
        self.pipe.stdin.flush()
        return [float(word) for word in self.line().split()]

    def end(self):
        self.pipe.stdin.close()
        self.pipe.wait()


def pair(program, folder, rounds, number):
    """(plain, resident) of a step and of a launch in ns, each the median of its rounds' differences to the plain turns beside it."""
    captures = os.path.join(folder, "idle.captures")
    resident = [program, "run", "--paused", "--no-report", "--out", captures, "--"]
    # The one that begins second finds the caches of the disk warm; it is now the one and now the other.
    made = [Process(prefix) for prefix in ([[], resident] if number % 2 else [resident, []])]
    plain, other = made if number % 2 else reversed(made)
    for each in made:
        if each.line().strip() != "ready":
            sys.exit("PyTorch has callbacks: this is not an agent at rest")
    plains, others = [plain.turn()], []
    for _ in range(rounds):
        others.append(other.turn())
        plains.append(plain.turn())
    for each in made:
        each.end()
    shutil.rmtree(captures, ignore_errors=True)
    beside = [[(a[kind] + b[kind]) / 2 for a, b in zip(plains, plains[1:])] for kind in range(2)]
    return [(statistics.median(beside[kind]), statistics.median(o[kind] - p for o, p in zip(others, beside[kind]))) for kind in range(2)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-2:])  # the pair, and the driver's and PyTorch's other threads
    found = [pair(options.program, options.folder, options.rounds, number) for number in range(options.pairs)]
    generator = random.Random(1)
    print(f"{len(found)} pairs | plain, ns | difference, ns | interval of 95 %")
    for kind, name in enumerate(("step", "launch")):
        base = statistics.median(each[kind][0] for each in found)
        differences = [each[kind][1] for each in found]
        medians = sorted(statistics.median(generator.choices(differences, k=len(differences))) for _ in range(4000))
        low, middle, high = medians[100], statistics.median(differences), medians[3900]
        print(f"{name} | {base:,.0f} | {middle:+,.0f} ({middle / base:+.2%}) | {low:+,.0f} to {high:+,.0f} ({low / base:+.2%} to {high / base:+.2%})", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    elif sys.argv[1:] == ["--count"]:
        count()
    else:
        main()
