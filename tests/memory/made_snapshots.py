"""Snapshots of every version and shape, made up: what torch.cuda.memory._dump_snapshot writes, as Python objects.

The memory in them is a game of slots: allocations of one size class take free slots of a few segments, so that addresses,
blocks and levels agree with each other. Sharing is torch's: frames are one object each, stacks a list for each entry,
words one object.
"""
import random

MIB = 1 << 20
SLOT = 2 * MIB
SLOTS_OF_SEGMENT = 10

VERSIONS = ("2.0", "2.1", "2.6", "2.9", "2.12", "2.14")


def fresh(text):
    """A new object of the same text, as pybind makes one for each entry."""
    return "".join(list(text))


class Maker:
    def __init__(self, seed=1, version="2.9", entries=200, devices=1, depth=12, cpp=False, expandable=False, oom=False,
                 streams=False, pools=False, categories=False, forward=False, no_frames=False, overflow=False,
                 repeated_frames=False):
        self.random = random.Random(seed)
        self.version = tuple(int(part) for part in version.split("."))
        self.entries, self.depth, self.cpp, self.expandable, self.oom = entries, depth, cpp, expandable, oom
        self.streams, self.pools, self.categories, self.forward = streams, pools, categories, forward
        self.no_frames, self.overflow, self.repeated_frames = no_frames, overflow, repeated_frames
        self.frames = [{"name": f"function_{i}", "filename": f"/home/u/train/part{i % 7}.py", "line": 10 + i}
                       for i in range(40)]
        self.frames.append({"name": "naïve_größe", "filename": "/home/ü/модель.py", "line": 1})
        if cpp:
            self.frames += [{"name": f"at::detail::call_{i}(at::Tensor const&)", "filename": "??", "line": 0}
                            for i in range(8)]
            self.frames.append({"name": "_PyEval_EvalFrameDefault", "filename": "??", "line": (1 << 64) - 1})
        self.devices = [self.device(number) for number in range(devices)]

    def stack(self):
        if self.no_frames:
            return []
        if self.repeated_frames:
            return [self.frames[0]] * 3 + [self.frames[1], self.frames[0]]
        first = self.random.randrange(12)
        return [self.frames[(first + i * 5) % len(self.frames)] for i in range(self.depth)]

    def entry(self, action, address, size, stream, pool, time_us):
        made = {"action": action, "device_free" if action == "oom" else "addr": address, "size": size, "stream": stream}
        if self.version >= (2, 1):
            made["time_us"] = time_us
        if self.version >= (2, 9):
            made["compile_context"] = fresh("N/A") if self.random.random() < 0.9 else "graph 3/1"
            made["user_metadata"] = "" if self.random.random() < 0.9 else "epoch 2"
        if self.version >= (2, 12):
            made["pool_id"] = pool
        if self.forward and self.random.random() < 0.3:
            made["forward_frames"] = self.stack()
        if self.categories:
            made["category"] = self.random.choice(["parameter", "optimizer_state", "input", "temporary", "activation",
                                                   "gradient", "autograd_detail", "unknown"])
        if action != "free_completed" or self.random.random() < 0.5:
            made["frames"] = self.stack()
        return made

    def device(self, number):
        base = 0x7F2000000000 + number * 0x40000000000
        time_us = 1_773_000_000_000_000 + number
        trace, live, segments = [], {}, []

        def record(*fields):
            nonlocal time_us
            time_us += self.random.randrange(1, 40)
            trace.append(self.entry(*fields, time_us))

        def free_slots():
            return [at for at in slots if at not in live]

        slots = []
        while len(trace) < self.entries:
            if live and (self.random.random() < 0.45 or len(live) > 60):
                address = self.random.choice(list(live))
                size, stream, pool, _ = live.pop(address)
                record("free_requested", address, size, stream, pool)
                record("free_completed", address, size, stream, pool)
                continue
            if not free_slots():
                address = base + len(slots) * SLOT
                slots += [address + i * SLOT for i in range(SLOTS_OF_SEGMENT)]
                segments.append(address)
                record("segment_map" if self.expandable else "segment_alloc", address, SLOTS_OF_SEGMENT * SLOT, 0, (0, 0))
            stream = self.random.choice([0, 94720000000000 + number]) if self.streams else 0
            pool = self.random.choice([(0, 0), (0, 1), (7, 0)]) if self.pools else (0, 0)
            address, size = self.random.choice(free_slots()), self.random.randrange(1, SLOT)
            live[address] = (size, stream, pool, self.stack())
            record("alloc", address, size, stream, pool)
        if self.oom:
            record("oom", 3 * MIB, 64 * MIB, 0, (0, 0))
        record("snapshot", 0, 0, 0, (0, 0))
        return {"number": number, "trace": trace, "live": live, "segments": segments}

    def block(self, address, live):
        if address not in live:
            made = {"size": SLOT, "state": "inactive"}
            requested, stack = 0, []
        else:
            requested, _, _, stack = live[address]
            made = {"size": SLOT, "state": self.random.choice(["active_allocated"] * 9 + ["active_pending_free"])}
        if self.version >= (2, 1):
            return {"address": address, **made, "requested_size": requested, "frames": stack}
        if address in live:
            made["history"] = [{"addr": address, "frames": stack, "real_size": requested},
                               {"addr": address, "frames": [], "real_size": 17}]
        return made

    def segment(self, device, address):
        blocks = [self.block(address + i * SLOT, device["live"]) for i in range(SLOTS_OF_SEGMENT)]
        used = [b for b in blocks if b["state"] == "active_allocated"]
        active = [b for b in blocks if b["state"] != "inactive"]
        made = {"device": device["number"], "address": address, "total_size": SLOTS_OF_SEGMENT * SLOT,
                "allocated_size": sum(b["size"] for b in used), "active_size": sum(b["size"] for b in active),
                "stream": 0, "segment_type": "large", "blocks": blocks}
        if self.version >= (2, 1):
            made["requested_size"] = sum(b["requested_size"] for b in active)
            made["segment_pool_id"] = (0, 0)
            made["is_expandable"] = self.expandable
            made["frames"] = self.stack()
        return made

    def snapshot(self):
        made = {"segments": [self.segment(d, at) for d in self.devices for at in d["segments"]],
                "device_traces": [d["trace"] for d in self.devices]}
        if self.version >= (2, 2):
            made["allocator_settings"] = {
                "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True" if self.expandable else "", "max_split_size": -1,
                "garbage_collection_threshold": 0.25, "expandable_segments": self.expandable,
                "pinned_num_register_threads": 1, "release_lock_on_cudamalloc": False,
                "roundup_power2_divisions": {str(1 << i): i % 3 for i in range(16)}}
        if self.version >= (2, 5):
            made["external_annotations"] = [
                {"stage": stage, "name": f"step#{i}", "device": 0, "time_us": 1_773_000_000_000_000 + 100 * i + late}
                for i in range(3) for stage, late in (("START", 0), ("END", 90))]
        if self.version >= (2, 14):
            made["host_segments"], made["host_traces"] = [], []
            made["trace_alloc_max_entries"] = len(self.devices[0]["trace"])
            made["trace_alloc_overflowed"] = self.overflow
        return made
