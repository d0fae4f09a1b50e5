# What `stepscope run --memory` does inside a PyTorch program: the allocator's history, its peaks by step, its snapshots.
#
# Only Python can ask PyTorch's allocator for these, so this file is loaded by the import hook once torch has been
# imported. CUDA is never initialised by it: it waits in torch's own list of calls for that moment, and a program that
# stays on the CPU pays for a check at each optimizer step. Then
#   - history is on: the last kHistoryEntries events, those of allocations with their Python stacks (a free's stack says
#     where a name went out of scope, which no answer needs, and each costs the program its gathering). A snapshot is some 150 bytes an entry
#     (102 MB for 691,067 in a recorded one), so 200,000 entries are 30 MB, and at 15,000 entries a step (5,000
#     allocations, three entries each) a dozen steps;
#   - at the end of each optimizer step the peaks since the last one go to the agent, and start anew. PyTorch has one
#     set of peaks, and the program may use it too, so what we reset we remember: whoever asks sees peaks as if nobody
#     but the program had ever reset them;
#   - snapshots are written at an out-of-memory error, at the end, and for a peak that is 1 % above the last written one
#     (less is a matter of rounding and of chance in the order of frees), each with a map of the addresses of
#     parameters, gradients and optimizer states beside it (docs/formats/memory-map.md).
# A snapshot takes 0.1 s to a second, in which the program waits; the agent notes that time as ours, and reports leave
# the step out. So a peak's is not written in its own step: the history still holds that step later on, and most often
# until the end, whose snapshot shows it as well. It is written when half of the history is of what came since, or a
# minute has passed (a program that is killed loses no more); and then not before 20 times as long as the last one took
# has passed (5 % at most), at most 5 times, and outside recorded windows where there is a schedule. What this costs:
# gradients that were freed meanwhile are no longer in the map, so at such a peak they are inferred.
# Nothing here may reach the program: every entry is guarded, a failure is one sentence of the agent's at exit, and what
# failed is off from then on.
import os
import time

kHistoryEntries = 200_000
kPeakGrowth = 1.01
kMostPeakSnapshots = 5
kMostOomSnapshots = 3
kPauseFactor = 20
# Of each allocation: it, the request to free it, and the end of that.
kEntriesPerAllocation = 3
kLongestUnwritten = 60.0  # seconds
# Left on the disk for others.
kFreeDiskBytes = 1 << 30


class Settings:
    """What of STEPSCOPE_AGENT_OPTIONS matters here (src/capture/agent_options.cpp)."""

    def __init__(self, text):
        pairs = dict(pair.partition("=")[::2] for pair in text.split(";") if pair)
        values = {key: value.replace("%3B", ";").replace("%25", "%") for key, value in pairs.items()}
        self.memory = values.get("memory") == "1"
        self.directory = values.get("directory", ".")
        self.max_file_bytes = int(values.get("max_file_bytes", 8 << 30))
        self.has_windows = bool(values.get("schedule") or values.get("every") or values.get("start_paused"))
        self.follow_children = values.get("follow_children") == "1"


class Agent:
    """The agent's functions; without an agent in the process they do nothing."""

    def __init__(self):
        try:
            import ctypes

            # PyDLL keeps the GIL; these functions take a microsecond.
            library = ctypes.PyDLL(None)
            self._level = library.stepscope_agent_memory_level
            self._level.argtypes = [ctypes.c_int] + [ctypes.c_longlong] * 4
            self._level.restype = ctypes.c_int
            self._complain = library.stepscope_agent_complain
            self._complain.argtypes = [ctypes.c_char_p]
            self._complain.restype = None
            self._begin = library.stepscope_agent_begin_overhead
            self._begin.argtypes = []
            self._begin.restype = ctypes.c_longlong
            self._end = library.stepscope_agent_end_overhead
            self._end.argtypes = [ctypes.c_char_p, ctypes.c_longlong]
            self._end.restype = None
        except (ImportError, AttributeError, OSError):
            self._level = self._complain = self._begin = self._end = None

    def write_level(self, device, allocated, allocated_peak, reserved, reserved_peak):
        """True: a window is open, and the level is in the capture."""
        if self._level is None:
            return False
        return self._level(device, allocated, allocated_peak, reserved, reserved_peak) != 0

    def complain(self, sentence):
        if self._complain is not None:
            self._complain(sentence.encode("utf-8", "replace"))

    def overhead(self, what):
        """`with`: the program waits for us meanwhile, and the capture says so. `what`: what Stepscope did in it."""
        return Overhead(self._begin, self._end, what)


class Overhead:
    def __init__(self, begin, end, what):
        self._begin, self._end, self._what = begin, end, what

    def __enter__(self):
        self._start_ns = 0 if self._begin is None else self._begin()

    def __exit__(self, *_):
        if self._end is not None:
            self._end(self._what.encode(), self._start_ns)
        return False


def guarded(part):
    """The method's exceptions end `part` of the recorder, and never leave it."""

    def decorate(method):
        def guard(self, *args, **kwargs):
            if part in self.broken or self.process_id != os.getpid():
                return None
            try:
                return method(self, *args, **kwargs)
            except Exception as error:
                self.give_up(part, error)
                return None

        # Never a part of a compiled step.
        guard._torchdynamo_disable = True
        return guard

    return decorate


class Peaks:
    """PyTorch's peaks, reset by us at each step and yet whole for the program.

    torch._C's functions are replaced, since every way to ask goes through them; the program's answers are merged with
    what we reset away.
    """

    kPairs = (("_cuda_memoryStats", "_cuda_resetPeakMemoryStats"), ("_accelerator_getDeviceStats", "_accelerator_resetPeakStats"))

    def __init__(self, bindings):
        self.allocation_counts = {}  # device -> allocations so far, at the end of its last step; missing: not known
        self.kept = {}  # device -> {(metric, pool): peak} since the program's own reset
        self.step = {}  # device -> the same since the step began, where the program reset in the middle of it
        read_name, reset_name = self.kPairs[0]
        self.read_raw, self.reset_raw = getattr(bindings, read_name), getattr(bindings, reset_name)
        for read_name, reset_name in self.kPairs:
            if hasattr(bindings, read_name) and hasattr(bindings, reset_name):
                setattr(bindings, read_name, self.reader(getattr(bindings, read_name)))
                setattr(bindings, reset_name, self.resetter(getattr(bindings, reset_name)))

    def reader(self, read):
        def memory_stats(device):
            stats = read(device)
            try:
                self.merge(stats, self.kept.get(device))
            except Exception:
                pass  # a shape that we do not know: the allocator's own answer
            return stats

        return memory_stats

    def resetter(self, reset):
        def reset_peaks(device):
            try:
                self.remember(self.step, device, self.read_raw(device))
                self.kept.pop(device, None)
            except Exception:
                pass
            return reset(device)

        return reset_peaks

    @staticmethod
    def each_peak(stats):
        for metric, pools in stats.items():
            if not isinstance(pools, dict):
                continue
            if "peak" in pools:  # oversize_allocations and the like have no pools
                yield (metric, ""), pools
            for pool, values in pools.items():
                if isinstance(values, dict) and "peak" in values:
                    yield (metric, pool), values

    def merge(self, stats, kept):
        if not kept:
            return
        for key, values in self.each_peak(stats):
            values["peak"] = max(values["peak"], kept.get(key, 0))

    def remember(self, where, device, stats):
        known = where.setdefault(device, {})
        for key, values in self.each_peak(stats):
            known[key] = max(values["peak"], known.get(key, 0))

    def take_step(self, device):
        """(allocated, its peak, reserved, its peak) of the step that ends; the next one begins."""
        stats = self.read_raw(device)
        self.remember(self.kept, device, stats)
        self.merge(stats, self.step.pop(device, None))
        self.reset_raw(device)
        count = stats.get("allocation", {}).get("all", {}).get("allocated")
        if count is not None:
            self.allocation_counts[device] = count
        allocated, reserved = stats["allocated_bytes"]["all"], stats["reserved_bytes"]["all"]
        return allocated["current"], allocated["peak"], reserved["current"], reserved["peak"]


class CappedFile:
    """Writes until a number of bytes, then fails: a full disk is worse than no snapshot."""

    def __init__(self, file, most_bytes):
        self.file, self.left, self.written = file, most_bytes, 0

    def write(self, data):
        size = len(data) if isinstance(data, (bytes, bytearray)) else memoryview(data).nbytes
        self.left -= size
        if self.left < 0:
            raise OSError("the snapshot is larger than what the captures may take of the disk")
        self.written += size
        return self.file.write(data)


def address_map(optimizers):
    """{category: [[device, address, bytes], ...]} of the tensors that optimizers know, each storage once."""
    seen = set()
    found = {"parameter": [], "gradient": [], "optimizer state": []}

    def add(category, tensor):
        try:
            tensor = getattr(tensor, "_local_tensor", tensor)  # a DTensor's piece here
            if not tensor.is_cuda:
                return
            storage = tensor.untyped_storage()
            place = (tensor.device.index, storage.data_ptr())
            if place[1] == 0 or place in seen:
                return
            seen.add(place)
            found[category].append([place[0], place[1], storage.nbytes()])
        except (AttributeError, RuntimeError, NotImplementedError):
            pass  # no tensor, or one without memory of its own

    def add_state(value, depth):
        if depth > 6:  # parameter -> dict -> lists of lists, as second-order optimizers keep them; and no cycle
            return
        if isinstance(value, dict):
            for each in list(value.values()):
                add_state(each, depth + 1)
        elif isinstance(value, (list, tuple)):
            for each in value:
                add_state(each, depth + 1)
        elif hasattr(value, "is_cuda") or hasattr(value, "_local_tensor"):
            add("optimizer state", value)

    for optimizer in optimizers:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                add("parameter", parameter)
                add("gradient", getattr(parameter, "grad", None))
        add_state(dict(optimizer.state), 0)
    return found


class Peak:
    """The highest level so far of which no snapshot tells."""

    def __init__(self, size, counts_before, time):
        self.size, self.time = size, time
        self.counts_before = counts_before  # device -> allocations before the step that had it


def first_number(*names):
    for name in names:
        try:
            return int(os.environ.get(name, ""))
        except ValueError:
            continue
    return None


class Recorder:
    def __init__(self, torch, settings, agent):
        self.torch, self.settings, self.agent = torch, settings, agent
        self.process_id = os.getpid()
        self.broken = set()
        self.has_cuda = False
        self.peaks = None
        self.step_class = None
        self.optimizers = {}  # id -> weak reference; copied whole before it is walked, since threads step too
        self.start_ns = time.time_ns()
        self.written_bytes = 0
        self.peak_count = self.oom_count = 0
        self.dumped_bytes = 0
        self.unwritten = None  # a Peak
        self.not_before = 0.0  # monotonic

    def give_up(self, part, error):
        self.broken.add(part)
        what = " ".join(str(error).split())[:200] or "no reason given"
        try:
            self.agent.complain(f"memory: no {part}: {type(error).__name__}: {what}")
        except Exception:
            pass

    # ---- From the import hook.
    @guarded("memory history")
    def start(self):
        import atexit

        cuda = self.torch.cuda
        cuda._lazy_call(self.on_cuda)
        self.watch_steps()
        atexit.register(self.on_exit)

    @guarded("levels by step")
    def watch_steps(self):
        from torch.optim.optimizer import register_optimizer_step_post_hook

        register_optimizer_step_post_hook(self.on_step)

    # ---- From torch, when it has initialised CUDA. A forked child inherits the list that we wait in.
    def on_cuda(self):
        if self.process_id != os.getpid():
            if not self.settings.follow_children:
                return
            self.process_id = os.getpid()
            self.start_ns = time.time_ns()
        self.has_cuda = True
        self.record_history()
        self.watch_out_of_memory()
        self.watch_peaks()

    @guarded("memory history")
    def record_history(self):
        try:
            with self.agent.overhead("switched the memory history on"):
                self.torch.cuda.memory._record_memory_history("all", context="alloc", stacks="python", max_entries=kHistoryEntries)
        except TypeError:
            raise RuntimeError(f"PyTorch {self.torch.__version__} keeps none with Python stacks (2.1 and later do)") from None

    @guarded("snapshots at out-of-memory errors")
    def watch_out_of_memory(self):
        self.torch._C._cuda_attach_out_of_memory_observer(self.on_out_of_memory)

    @guarded("levels by step")
    def watch_peaks(self):
        self.peaks = Peaks(self.torch._C)

    # ---- From the allocator, before the program hears of it. Its arguments: device, request, limit, free bytes.
    @guarded("snapshots at out-of-memory errors")
    def on_out_of_memory(self, *_):
        if self.oom_count >= kMostOomSnapshots:
            return
        self.oom_count += 1
        self.dump(f"oom{self.oom_count}")

    # ---- From an optimizer, at the end of its step.
    @guarded("levels by step")
    def on_step(self, optimizer, *_):
        if not self.has_cuda:
            return
        self.remember(optimizer)
        # As the agent counts steps: those of the optimizer that came first.
        name = type(optimizer).__name__
        self.step_class = self.step_class or name
        if name != self.step_class or self.peaks is None:
            return
        is_recorded = False
        highest = 0
        counts_before = dict(self.peaks.allocation_counts)
        for device in self.devices_of(optimizer):
            levels = self.peaks.take_step(device)
            is_recorded = self.agent.write_level(device, *levels) or is_recorded
            highest = max(highest, levels[1])
        self.note_peak(highest, counts_before)
        self.dump_peak(is_recorded)

    def remember(self, optimizer):
        if id(optimizer) in self.optimizers:
            return
        import weakref

        self.optimizers = {key: known for key, known in list(self.optimizers.items()) if known() is not None}
        self.optimizers[id(optimizer)] = weakref.ref(optimizer)

    def live_optimizers(self):
        return [optimizer for optimizer in (known() for known in list(self.optimizers.values())) if optimizer is not None]

    @staticmethod
    def devices_of(optimizer):
        devices = set()
        for group in optimizer.param_groups:
            for parameter in group["params"][:1]:
                if parameter.is_cuda:
                    devices.add(parameter.device.index)
        return sorted(devices)

    def note_peak(self, size, counts_before):
        known = self.dumped_bytes if self.unwritten is None else self.unwritten.size
        if size > known * kPeakGrowth:
            self.unwritten = Peak(size, counts_before, time.monotonic())

    def is_due(self, peak):
        """Soon the history holds too little of what came before it."""
        if time.monotonic() - peak.time >= kLongestUnwritten:
            return True
        counts = self.peaks.allocation_counts
        # Of a device without a count (an older PyTorch) nothing is known, so at once. Before a device's first step
        # its count is that of all allocations since it was there.
        since = [counts[device] - peak.counts_before.get(device, 0) for device in counts]
        return not since or max(since) * kEntriesPerAllocation >= kHistoryEntries // 2

    @guarded("snapshots at peaks")
    def dump_peak(self, is_recorded):
        peak = self.unwritten
        if peak is None or self.peak_count >= kMostPeakSnapshots or not self.is_due(peak):
            return
        if is_recorded == self.settings.has_windows or time.monotonic() < self.not_before:
            # Later: the history reaches back some steps. Without windows every step is recorded, and before the first
            # use of the agent none is.
            return
        if self.torch.cuda.is_current_stream_capturing():
            return
        self.peak_count += 1
        begin = time.monotonic()
        self.dump("peak")
        self.dumped_bytes, self.unwritten = peak.size, None
        end = time.monotonic()
        self.not_before = end + kPauseFactor * (end - begin)

    # ---- From Python, before the interpreter ends.
    @guarded("snapshot at the end")
    def on_exit(self):
        if self.has_cuda and "memory history" not in self.broken:
            self.dump("end")

    def path(self, which):
        rank = first_number("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
        host = os.uname().nodename.replace("/", "_") or "host"
        name = f"{host}_{self.process_id}{'' if rank is None else f'_rank{rank}'}.{self.start_ns}.{which}.pickle"
        return os.path.join(self.settings.directory, name)

    def room(self):
        disk = os.statvfs(self.settings.directory)
        return min(self.settings.max_file_bytes - self.written_bytes, disk.f_bavail * disk.f_frsize - kFreeDiskBytes)

    def dump(self, which):
        """A snapshot and its map, each whole or not there; one of the same name is replaced."""
        import json
        import pickle

        torch = self.torch
        path = self.path(which)
        os.makedirs(self.settings.directory, exist_ok=True)
        with self.agent.overhead("wrote a memory snapshot"), self.named("stepscope: memory snapshot"):
            with torch._C.DisableTorchFunction():  # no mode of the program sees us read its tensors
                tensors = address_map(self.live_optimizers())
            snapshot = torch.cuda.memory._snapshot()
            self.write_whole(path, lambda file: pickle.dump(snapshot, file))
            document = {"format": "stepscope-tensor-addresses", "version": 1, "time_ns": time.time_ns(), "tensors": tensors}
            text = json.dumps(document, separators=(",", ":")).encode()
            self.write_whole(path[: -len(".pickle")] + ".tensors.json", lambda file: file.write(text))

    def named(self, name):
        """So that the time shows under its name in the step that paid for it; past the dispatcher, which modes hear."""
        import contextlib

        profiler = getattr(self.torch._C, "_profiler", None)
        record = getattr(profiler, "_RecordFunctionFast", None)
        return contextlib.nullcontext() if record is None else record(name)

    def write_whole(self, path, write):
        temporary = f"{path}.{self.process_id}.tmp"
        try:
            with open(temporary, "wb") as file:
                capped = CappedFile(file, self.room())
                write(capped)
            os.replace(temporary, path)
            self.written_bytes += capped.written
        except BaseException:
            try:
                os.unlink(temporary)
            except OSError:
                pass
            raise


def start(torch, text=None):
    """Called by the import hook when torch has been imported. The recorder, or None: nothing was asked for."""
    try:
        settings = Settings(os.environ.get("STEPSCOPE_AGENT_OPTIONS", "") if text is None else text)
        if not settings.memory:
            return None
        recorder = Recorder(torch, settings, Agent())
        recorder.start()
        return recorder
    except Exception as error:
        Agent().complain(f"memory: nothing is recorded: {error}")
        return None
