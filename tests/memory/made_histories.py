"""Histories of an allocator, made up together with what is true of them.

A small model of PyTorch's caching allocator serves random requests: best fit in each pool and stream, blocks split and
merged by its rules, segments taken and given back. Every allocation is remembered with its block's true size and the
entries between which it lived; answers come from that, never from the snapshot.
"""
import random

MIB = 1 << 20


class Block:
    def __init__(self, address, size, segment):
        self.address, self.size, self.segment = address, size, segment
        self.is_free = True
        self.allocation = None


class Segment:
    def __init__(self, address, size, stream, pool, is_small):
        self.address, self.size, self.stream, self.pool, self.is_small = address, size, stream, pool, is_small
        self.blocks = [Block(address, size, self)]


class Allocation:
    """Entries are counted from the begin of the program; None: not (yet)."""

    def __init__(self, requested, block, site, made):
        self.requested, self.address, self.size, self.site = requested, block.address, block.size, site
        self.block, self.made, self.let_go, self.gone = block, made, None, None


class Program:
    def __init__(self, seed, max_split=None, divisions=0, streams=1, pools=1, capacity=None, expandable=False):
        self.random = random.Random(seed)
        self.max_split, self.divisions, self.expandable = max_split, divisions, expandable
        self.streams, self.pools, self.capacity = streams, pools, capacity
        self.segments, self.allocations, self.entries, self.marks = [], [], [], []
        self.time_us, self.next_address, self.reserved = 1_700_000_000_000_000, 1 << 40, 0
        self.reserved_after = []

    # ---- the allocator
    def rounded(self, requested):
        if requested < 512:
            return 512
        if self.divisions > 1 and requested > 512 * self.divisions:
            floor = 1 << (requested.bit_length() - 1)
            step = floor // self.divisions
            return requested if requested == floor else floor + -(-(requested - floor) // step) * step
        return -(-requested // 512) * 512

    def record(self, action, address, size, stream, pool, site=None):
        self.time_us += self.random.randrange(1, 30)
        entry = {"action": action, "addr": address, "size": size, "stream": stream, "time_us": self.time_us,
                 "pool_id": pool}
        if action == "oom":
            entry["device_free"] = entry.pop("addr")
        if site is not None:
            entry["frames"] = [{"name": "forward", "filename": "/v/site-packages/torch/nn/modules/linear.py", "line": 1},
                               {"name": f"f{site}", "filename": "/home/u/train.py", "line": site}]
        self.entries.append(entry)
        self.reserved_after.append(self.reserved)

    def splits(self, block, size):
        rest = block.size - size
        if block.segment.is_small or self.expandable:
            return rest >= 512
        return rest > MIB and (self.max_split is None or size < self.max_split)

    def find_free(self, size, stream, pool, is_small):
        found = [block for segment in self.segments
                 if (segment.stream, segment.pool, segment.is_small) == (stream, pool, is_small)
                 for block in segment.blocks
                 if block.is_free and block.size >= size and
                 not (self.max_split is not None and size < self.max_split <= block.size)]
        return min(found, key=lambda block: (block.size, block.address), default=None)

    def take_segment(self, size, stream, pool, is_small):
        total = 2 * MIB if is_small else 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
        if self.capacity is not None and self.reserved + total > self.capacity:
            self.give_back()
            if self.reserved + total > self.capacity:
                return None
        segment = Segment(self.next_address, total, stream, pool, is_small)
        self.next_address += total + self.random.choice((0, 2 * MIB))
        self.segments.append(segment)
        self.reserved += total
        self.record("segment_map" if self.expandable else "segment_alloc", segment.address, total, stream, pool)
        return segment.blocks[0]

    def allocate(self, requested, stream, pool, site):
        size = self.rounded(requested)
        is_small = size <= MIB
        block = self.find_free(size, stream, pool, is_small) or self.take_segment(size, stream, pool, is_small)
        if block is None:
            self.record("oom", 0, size, stream, pool, site)
            return None
        if self.splits(block, size):
            rest = Block(block.address + size, block.size - size, block.segment)
            block.size = size
            block.segment.blocks.insert(block.segment.blocks.index(block) + 1, rest)
        block.is_free = False
        block.allocation = Allocation(requested, block, site, len(self.entries))
        self.allocations.append(block.allocation)
        self.record("alloc", block.address, requested, stream, pool, site)
        return block.allocation

    def let_go(self, allocation):
        allocation.let_go = len(self.entries)
        segment = allocation.block.segment
        self.record("free_requested", allocation.address, allocation.requested, segment.stream, segment.pool)

    def complete(self, allocation):
        allocation.gone = len(self.entries)
        block, segment = allocation.block, allocation.block.segment
        self.record("free_completed", allocation.address, allocation.requested, segment.stream, segment.pool)
        block.is_free, block.allocation = True, None
        merged = []
        for each in segment.blocks:
            if merged and merged[-1].is_free and each.is_free:
                merged[-1].size += each.size
            else:
                merged.append(each)
        segment.blocks = merged

    def give_back(self):
        for segment in list(self.segments):
            if len(segment.blocks) == 1 and segment.blocks[0].is_free:
                self.segments.remove(segment)
                self.reserved -= segment.size
                self.record("segment_unmap" if self.expandable else "segment_free", segment.address, segment.size,
                            segment.stream, segment.pool)

    # ---- the program
    def request_size(self):
        kind = self.random.random()
        if kind < 0.35:
            return self.random.randrange(1, 5000)
        if kind < 0.5:
            return self.random.randrange(5000, MIB + 2000)
        if kind < 0.9:
            return self.random.choice((2, 3, 4, 6, 9)) * MIB + self.random.choice((0, 0, 256, 700, 300_000))
        return self.random.randrange(10 * MIB, 60 * MIB)

    def run(self, steps, per_step=60):
        kept, pending = [], []
        for step in range(steps):
            self.marks.append((step, len(self.entries), self.time_us))
            for _ in range(per_step):
                if len(kept) > 4 and self.random.random() < 0.48:
                    gone = kept.pop(self.random.randrange(len(kept)))
                    self.let_go(gone)
                    if self.random.random() < 0.8:
                        self.complete(gone)
                    else:
                        pending.append(gone)
                    continue
                if pending and self.random.random() < 0.3:
                    self.complete(pending.pop(0))
                stream = self.random.randrange(self.streams) * 7777
                pool = (0, self.random.randrange(self.pools))
                made = self.allocate(self.request_size(), stream, pool, self.random.randrange(1, 9))
                if made is None:
                    return
                kept.append(made)
            if self.random.random() < 0.2:
                self.give_back()

    # ---- the snapshot, and what is true
    def snapshot(self, first):
        segments = []
        for segment in sorted(self.segments, key=lambda each: each.address):
            blocks = [{"address": block.address, "size": block.size,
                       "requested_size": block.allocation.requested if block.allocation else 0,
                       "state": "inactive" if block.is_free else
                       "active_allocated" if block.allocation.let_go is None else "active_pending_free",
                       "frames": self.entries[block.allocation.made].get("frames", []) if block.allocation else []}
                      for block in segment.blocks]
            live = [block["size"] for block in blocks if block["state"] == "active_allocated"]
            segments.append({"device": 0, "address": segment.address, "total_size": segment.size,
                             "allocated_size": sum(live),
                             "active_size": sum(block["size"] for block in blocks if block["state"] != "inactive"),
                             "requested_size": 0, "stream": segment.stream,
                             "segment_type": "small" if segment.is_small else "large",
                             "segment_pool_id": segment.pool, "is_expandable": self.expandable, "blocks": blocks,
                             "frames": []})
        settings = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": self.max_split or -1,
                    "garbage_collection_threshold": 0.0, "expandable_segments": self.expandable,
                    "roundup_power2_divisions": {str(1 << power): self.divisions for power in range(16)}}
        annotations = [{"stage": "START", "name": f"step#{step}", "device": 0, "time_us": time}
                       for step, entry, time in self.marks if entry >= first]
        return {"segments": segments, "device_traces": [self.entries[first:]], "allocator_settings": settings,
                "external_annotations": annotations}

    def levels(self, first):
        """Of each kind: the level after each retained entry, that before them first."""
        count = len(self.entries)
        answers = {}
        for kind in ("requested", "allocated", "active"):
            changes = [0] * (count + 1)
            for each in self.allocations:
                size = each.requested if kind == "requested" else each.size
                changes[each.made] += size
                end = each.gone if kind != "allocated" or each.let_go is None else each.let_go
                changes[count if end is None else end] -= size if end is not None else 0
            level, sums = 0, []
            for change in changes[:count]:
                level += change
                sums.append(level)
            answers[kind] = [sums[first - 1] if first else 0] + sums[first:]
        answers["reserved"] = [self.reserved_after[first - 1] if first else 0] + self.reserved_after[first:]
        return answers

    def live(self, first, moment):
        """By line, after `moment` retained entries."""
        last = first + moment
        return [each for each in self.allocations
                if each.made < last and (each.gone is None or each.gone >= last)]

    def line_of(self, allocation, first):
        is_known = allocation.made >= first or allocation.gone is None
        return f"/home/u/train.py:{allocation.site} f{allocation.site}" if is_known else "older than the history"

    def group(self, allocations, first):
        groups = {}
        for each in allocations:
            name = self.line_of(each, first)
            size, count = groups.get(name, (0, 0))
            groups[name] = (size + each.requested, count + 1)
        return groups
