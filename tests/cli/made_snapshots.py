"""Makes memory snapshots of small invented training loops, for the tests of `stepscope memory`.

The allocator is the simplest that PyTorch's could be mistaken for: sizes are multiples of 2 MiB of at least 10 MiB, so
each allocation has a segment of its own; each size has a stream of its own, so a freed segment is taken again by the next
request of its size and by no other. So every level is known beforehand, and the re-simulation must return each address.
"""
import pickle

MIB = 1 << 20
TORCH = "/opt/venv/lib/python3.12/site-packages/torch/"


def frame(name, filename, line):
    return {"name": name, "filename": filename, "line": line}


MAIN = frame("main", "/home/u/train/main.py", 9)
FORWARD = [frame("forward", TORCH + "nn/modules/linear.py", 134), frame("forward", "/home/u/train/model.py", 120),
           frame("_call_impl", TORCH + "nn/modules/module.py", 1750), MAIN]
LEAK = [frame("log_loss", "/home/u/train/loop.py", 66), MAIN]
BUILD = [frame("__init__", TORCH + "nn/modules/linear.py", 106), frame("build", "/home/u/train/model.py", 30), MAIN]
OPTIMIZER = [frame("_init_group", TORCH + "optim/adamw.py", 129), frame("step", TORCH + "optim/adamw.py", 209),
             frame("train_step", "/home/u/train/loop.py", 80), MAIN]
BACKWARD = [frame("_engine_run_backward", TORCH + "autograd/graph.py", 829), frame("backward", TORCH + "_tensor.py", 648),
            frame("train_step", "/home/u/train/loop.py", 77), MAIN]
EMPTY_CACHE = [frame("empty_cache", TORCH + "cuda/memory.py", 200), frame("train_step", "/home/u/train/loop.py", 85), MAIN]


class Snapshot:
    def __init__(self):
        self.entries, self.annotations = [], []
        self.live, self.free = {}, {}  # address -> (size, frames); size -> addresses
        self.segments = {}             # address -> size
        self.next_address, self.time = 0x7F0000000000, 1_773_000_000_000_000

    def entry(self, action, address, size, frames):
        self.time += 1000
        key = "device_free" if action == "oom" else "addr"
        self.entries.append({"action": action, key: address, "size": size, "stream": size // MIB, "time_us": self.time, "frames": frames})

    def alloc(self, mib, frames):
        assert mib % 2 == 0 and mib >= 10
        size = mib * MIB
        if self.free.get(size):
            address = min(self.free[size])
            self.free[size].remove(address)
        else:
            address, self.next_address = self.next_address, self.next_address + 2 * size
            self.segments[address] = size
            self.entry("segment_alloc", address, size, frames)
        self.entry("alloc", address, size, frames)
        self.live[address] = (size, frames)
        return address

    def release(self, address, frames):
        size, _ = self.live.pop(address)
        self.entry("free_requested", address, size, frames)
        self.entry("free_completed", address, size, frames)
        self.free.setdefault(size, []).append(address)

    def empty_cache(self, frames):
        for size, addresses in self.free.items():
            for address in sorted(addresses):
                self.entry("segment_free", address, size, frames)
                del self.segments[address]
            addresses.clear()

    def step(self, number):
        """Begins a step and ends the one before."""
        for stage, k in (("END", number - 1), ("START", number)):
            if stage == "START" or any(a["name"] == f"ProfilerStep#{k}" for a in self.annotations):
                self.annotations.append({"stage": stage, "name": f"ProfilerStep#{k}", "device": 0, "time_us": self.time + 500})
        self.time += 1000

    def end_steps(self, number):
        self.time += 1000
        self.annotations.append({"stage": "END", "name": f"ProfilerStep#{number}", "device": 0, "time_us": self.time})

    def document(self):
        segments = []
        for address, size in sorted(self.segments.items()):
            is_live = address in self.live
            frames = self.live[address][1] if is_live else []
            held = size if is_live else 0
            block = {"address": address, "size": size, "requested_size": held,
                     "state": "active_allocated" if is_live else "inactive", "frames": frames}
            segments.append({"device": 0, "address": address, "total_size": size, "allocated_size": held, "active_size": held,
                             "requested_size": held, "stream": size // MIB, "segment_type": "large", "segment_pool_id": (0, 0),
                             "is_expandable": False, "frames": frames, "blocks": [block]})
        settings = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0,
                    "expandable_segments": False, "roundup_power2_divisions": {str(1 << i): 0 for i in range(16)}}
        return {"segments": segments, "device_traces": [self.entries], "allocator_settings": settings,
                "external_annotations": self.annotations}

    def pickle(self):
        return pickle.dumps(self.document(), protocol=4)


def growing_sizes(steps=6, first=20):
    """Each step asks for more than any freed segment holds, so every step takes a new one from the device."""
    made = Snapshot()
    made.alloc(10, BUILD)
    for step in range(steps):
        made.step(step)
        made.release(made.alloc(first + 40 * step, FORWARD), BACKWARD)
    made.end_steps(steps - 1)
    return made


def training(steps=6, layers=4, activation=20, big_step=None, leak=0, optimizer=0, empties_cache=False, parameters=20):
    """A loop of `steps`: parameters, activations of `layers` layers, each freed once it has a gradient of 10. MiB throughout."""
    made = Snapshot()
    for _ in range(layers):
        made.alloc(parameters, BUILD)
    for step in range(steps):
        made.step(step)
        held = [made.alloc(activation * (4 if step == big_step else 1), FORWARD) for _ in range(layers)]
        if leak:
            made.alloc(leak, LEAK)
        gradients = []
        for address in reversed(held):
            gradients.append(made.alloc(10, BACKWARD))
            made.release(address, BACKWARD)
        if step == 0 and optimizer:
            for _ in range(layers):
                made.alloc(optimizer, OPTIMIZER)
        for address in gradients:
            made.release(address, OPTIMIZER)
        if empties_cache:
            made.empty_cache(EMPTY_CACHE)
    made.end_steps(steps - 1)
    return made
