"""A recorded rank as points and what each waits for: what make_ranks.py moves.

The host is one line of points (its threads take turns: main stands while autograd's thread works), each GPU stream another.
A GPU event begins when its launch, what precedes it on its stream and what it depends on allow, as late as recorded beyond
that, and lasts as it does. A call of the host that was seen to wait for the GPU ends when what it waited for has ended; only
the rest of the host's time is its own. So nothing that a rank waited for stays in it as if it had been its work.

Seen to wait: the call's name says that it may, and GPU work launched before it ended during it. The model knows one program,
that of tests/data/h200/ddp_rank*: DDP's collectives on a stream of their own, awaited one by one after the last backward
kernel. It shares no code with the replay of src/analyze, which is tested with what is made here.
"""
import gzip
import json
import re
import statistics

MAY_WAIT = ("cudaEventSynchronize", "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaMemcpy", "cudaFree")  # by their whole names
OWN_NS = 3_000  # of a call that has nothing to wait for
IDLE_NS, QUEUED_NS = 3_000, 30_000  # a launch this much after, this much before the end of what precedes it


def ns(text):
    whole, part = text.split(".")
    return int(whole) * 1000 + int(part)


class Unit:
    """A kernel, copy or set."""

    def __init__(self, event, calls):
        self.start = ns(event["ts"])
        self.end = self.start + ns(event["dur"])
        self.stream, self.name = event["tid"], event["name"]
        self.is_collective = self.name.startswith("nccl")
        self.is_kernel = event["cat"] == "kernel" and not self.is_collective
        self.launch, self.thread = calls[event["args"]["correlation"]]
        self.before = None  # on its stream
        self.on = None  # what it depends on, on another stream
        self.edges, self.late = [], 0


class RecordedRank:
    """Times are in ns of the trace's clock."""

    def __init__(self, path):
        self.text = gzip.open(path).read().decode()
        events = [e for e in json.loads(self.text, parse_float=str)["traceEvents"] if e.get("ph") == "X"]
        api = [e for e in events if e["cat"] in ("cuda_runtime", "cuda_driver")]
        calls = {e["args"]["correlation"]: (ns(e["ts"]), e["tid"]) for e in api}
        self.units = sorted((Unit(e, calls) for e in events if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset")),
                            key=lambda unit: unit.start)
        self.collectives = [unit for unit in self.units if unit.is_collective]
        self.steps = self.spans(events, "ProfilerStep#")
        self.loads = self.spans(events, "enumerate(DataLoader)")
        self.link(sorted(ns(e["ts"]) for e in api if e["name"] == "cudaStreamWaitEvent"))
        self.find_edges()
        self.waits = self.find_waits(api)

    @staticmethod
    def spans(events, prefix):
        found = [(ns(e["ts"]), ns(e["dur"])) for e in events if e["cat"] == "user_annotation" and e["name"].startswith(prefix)]
        return sorted((start, start + length) for start, length in found)

    def step_of(self, at):
        return max((k for k, (start, _) in enumerate(self.steps) if start <= at), default=0)

    def link(self, stream_waits):
        last = {}
        for unit in self.units:
            unit.before = last.get(unit.stream)
            last[unit.stream] = unit
        launched = sorted((unit for unit in self.units if not unit.is_collective), key=lambda unit: unit.launch)
        starts = [unit.launch for unit in launched]
        for k in range(len(self.steps)):
            own = [unit for unit in self.collectives if self.step_of(unit.launch) == k]
            # A collective's data are what was launched last before it.
            for unit in own:
                unit.on = launched[first_after(starts, unit.launch) - 1]
            # After the last backward kernel, compute waits for one collective after the other.
            waits = [at for at in stream_waits if at > own[-1].launch and self.step_of(at) == k][-len(own):]
            for unit, at in zip(own, waits):
                launched[first_after(starts, at)].on = unit

    def find_edges(self):
        """What each start waits for, (kind, unit, ns after it), cut to what is usual; the rest it is late always."""
        latencies, gaps = [], []
        for unit in self.units:
            if unit.before and unit.launch > unit.before.end + IDLE_NS:
                latencies.append(unit.start - unit.launch)
            if unit.before and unit.launch < unit.before.end - QUEUED_NS:
                gaps.append(unit.start - unit.before.end)
        latency, gap = statistics.median_low(latencies), statistics.median_low(gaps)
        for unit in self.units:
            unit.edges = [("launch", unit, min(latency, unit.start - unit.launch))]
            for other in (unit.before, unit.on):
                if other and other.end <= unit.start:
                    unit.edges.append(("end", other, min(gap, unit.start - other.end)))
            # A kernel may begin before the one before it has ended (programmatic launches): at its part of that one.
            if unit.before and unit.before.end > unit.start:
                unit.edges.append(("start", unit.before, unit.start - unit.before.start))
            unit.late = unit.start - max(getattr(other, kind) + after for kind, other, after in unit.edges)

    def find_waits(self, api):
        """(start, end, the unit whose end the call waited for)."""
        waits = []
        for call in api:
            if call["name"] not in MAY_WAIT:
                continue
            start, end = ns(call["ts"]), ns(call["ts"]) + ns(call["dur"])
            ended = [unit for unit in self.units if unit.launch < start < unit.end <= end]
            if ended:
                waits.append((start, end, max(ended, key=lambda unit: unit.end)))
        return sorted(waits, key=lambda wait: wait[0])


def collective_lengths(path):
    """In the order of their starts; without reading all of the file as JSON."""
    found = re.finditer(r'"cat": "kernel", "name": "nccl[^"]*",[^{}]*?"ts": ([0-9.]+), "dur": ([0-9.]+)', gzip.open(path).read().decode())
    return [length for _, length in sorted((ns(match[1]), ns(match[2])) for match in found)]


def first_after(sorted_times, at):
    low, high = 0, len(sorted_times)
    while low < high:
        middle = (low + high) // 2
        if sorted_times[middle] > at:
            high = middle
        else:
            low = middle + 1
    return low
