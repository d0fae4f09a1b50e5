"""The memory part of the import hook against a PyTorch that does what a test tells it.

No GPU is needed: torch.cuda's functions are made up here and write down in which order they were called. Where the
interpreter has PyTorch, its real optimizers call the real hook with the made-up CUDA behind it.
"""
import importlib.util
import json
import os
import pathlib
import pickle
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("_stepscope_memory", ROOT / "src" / "agent" / "python" / "stepscope_memory.py")
memory = importlib.util.module_from_spec(spec)
spec.loader.exec_module(memory)


class Storage:
    def __init__(self, address, size):
        self.address, self.size = address, size

    def data_ptr(self):
        return self.address

    def nbytes(self):
        return self.size


class Tensor:
    def __init__(self, address, size, device=0, is_cuda=True):
        self.storage, self.is_cuda, self.grad = Storage(address, size), is_cuda, None
        self.device = types.SimpleNamespace(index=device)

    def untyped_storage(self):
        return self.storage


class Optimizer:
    def __init__(self, *parameters):
        self.param_groups = [{"params": list(parameters)}]
        self.state = {}


class SGD(Optimizer):
    pass


class Adam(Optimizer):
    pass


class Context:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


class FakeTorch:
    """Its allocator: `now` and `peak` of device 0, reset as PyTorch resets them. `raises`: functions that fail."""

    __version__ = "2.99.0"

    def __init__(self, raises=(), legacy=False):
        self.log, self.queue, self.observers = [], [], []
        self.now = self.peak = 0
        self.allocation_count = 0  # None: this PyTorch has no such count
        self.snapshot_bytes = 100
        self.is_capturing = False
        self._C = types.SimpleNamespace(DisableTorchFunction=Context)

        def record(*args, **kwargs):
            self.say("history", raises)
            if legacy:
                raise TypeError("_record_memory_history() got an unexpected keyword argument 'context'")
            self.history = (args, kwargs)

        def attach(observer):
            self.say("observer", raises)
            self.observers.append(observer)

        def snapshot():
            self.say("snapshot", raises)
            return {"segments": [], "device_traces": [[]], "filler": b"x" * self.snapshot_bytes}

        def stats(device):
            self.say("stats", raises)
            pools = lambda: {"all": {"current": self.now, "peak": self.peak, "allocated": 0, "freed": 0}}
            answer = {"allocated_bytes": pools(), "reserved_bytes": pools(), "num_ooms": 0, "oversize_segments": {"current": 0, "peak": 0}}
            if self.allocation_count is not None:
                answer["allocation"] = {"all": {"current": 0, "peak": 0, "allocated": self.allocation_count, "freed": 0}}
            return answer

        def reset(device):
            self.say("reset", raises)
            self.peak = self.now

        self._C._cuda_attach_out_of_memory_observer = attach
        self._C._cuda_memoryStats, self._C._cuda_resetPeakMemoryStats = stats, reset
        self.cuda = types.SimpleNamespace(
            _lazy_call=lambda call: (self.say("lazy", raises), self.queue.append(call)),
            memory=types.SimpleNamespace(_record_memory_history=record, _snapshot=snapshot),
            is_current_stream_capturing=lambda: self.is_capturing)

    def say(self, what, raises):
        self.log.append(what)
        if what in raises:
            raise RuntimeError(f"{what} failed\nin two lines")

    def use_cuda(self):
        """torch.cuda._lazy_init: an exception of a queued call would end the program."""
        for call in self.queue:
            call()

    def allocate(self, size):
        self.now += size
        self.peak = max(self.peak, self.now)

    def user_peak(self):
        return self._C._cuda_memoryStats(0)["allocated_bytes"]["all"]["peak"]


class FakeAgent:
    def __init__(self, is_recording=True):
        self.is_recording, self.levels, self.complaints, self.overheads = is_recording, [], [], []

    def write_level(self, *level):
        if self.is_recording:
            self.levels.append(level)
        return self.is_recording

    def complain(self, sentence):
        self.complaints.append(sentence)

    def overhead(self, what):
        return memory.Overhead(lambda: len(self.overheads) + 1000, lambda *noted: self.overheads.append(noted), what)


class Recording(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.addCleanup(self.temporary.cleanup)
        self.environment = dict(os.environ)
        self.addCleanup(self.restore)
        for name in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"):
            os.environ.pop(name, None)

    def restore(self):
        os.environ.clear()
        os.environ.update(self.environment)

    def recorder(self, torch, options="", agent=None):
        text = f"memory=1;directory={self.folder};{options}"
        recorder = memory.Recorder(torch, memory.Settings(text), agent or FakeAgent())
        recorder.watch_steps = lambda: None  # the real hook has a test of its own
        recorder.start()
        import atexit
        self.addCleanup(atexit.unregister, recorder.on_exit)
        return recorder

    def step(self, torch, recorder, peak, optimizer, count=memory.kHistoryEntries):
        """`count` allocations: as many as the history holds, unless the test says fewer."""
        if torch.allocation_count is not None:
            torch.allocation_count += count
        torch.allocate(peak)
        torch.allocate(-peak)
        recorder.on_step(optimizer, (), {})

    def names(self):
        return sorted(path.name.split(".", 2)[2] for path in self.folder.iterdir())


class Order(Recording):
    def test_nothing_is_asked_of_cuda_before_the_program_uses_it(self):
        torch = FakeTorch()
        recorder = self.recorder(torch)
        self.assertEqual(torch.log, ["lazy"])
        recorder.on_step(SGD(Tensor(1, 1)), (), {})
        recorder.on_exit()
        self.assertEqual(torch.log, ["lazy"])
        self.assertEqual(self.names(), [])

    def test_history_before_all_else(self):
        torch = FakeTorch()
        self.recorder(torch)
        torch.use_cuda()
        self.assertEqual(torch.log, ["lazy", "history", "observer"])
        self.assertEqual(torch.history, (("all",), {"context": "alloc", "stacks": "python", "max_entries": memory.kHistoryEntries}))

    def test_options_that_ask_for_no_memory(self):
        torch = FakeTorch()
        self.assertIsNone(memory.start(torch, "directory=/tmp;every=10"))
        self.assertEqual(torch.log, [])


class Levels(Recording):
    def test_a_step_has_its_own_peak(self):
        torch, agent = FakeTorch(), FakeAgent()
        recorder = self.recorder(torch, agent=agent)
        torch.use_cuda()
        torch.allocate(100)
        optimizer = SGD(Tensor(1, 1))
        for peak in (50, 10, 70):
            self.step(torch, recorder, peak, optimizer)
        self.assertEqual(agent.levels, [(0, 100, 150, 100, 150), (0, 100, 110, 100, 110), (0, 100, 170, 100, 170)])

    def test_the_program_sees_its_own_peaks(self):
        torch = FakeTorch()
        recorder = self.recorder(torch)
        torch.use_cuda()
        optimizer = SGD(Tensor(1, 1))
        self.step(torch, recorder, 500, optimizer)
        self.step(torch, recorder, 20, optimizer)
        self.assertEqual(torch.user_peak(), 500)
        torch._C._cuda_resetPeakMemoryStats(0)  # the program's reset
        self.assertEqual(torch.user_peak(), 0)
        self.step(torch, recorder, 30, optimizer)
        self.assertEqual(torch.user_peak(), 30)

    def test_a_reset_of_the_program_costs_no_peak_of_the_step(self):
        torch, agent = FakeTorch(), FakeAgent()
        recorder = self.recorder(torch, agent=agent)
        torch.use_cuda()
        torch.allocate(500)
        torch.allocate(-500)
        torch._C._cuda_resetPeakMemoryStats(0)
        self.step(torch, recorder, 20, SGD(Tensor(1, 1)))
        self.assertEqual(agent.levels, [(0, 0, 500, 0, 500)])
        self.assertEqual(torch.user_peak(), 20)

    def test_steps_are_those_of_the_first_optimizer(self):
        torch, agent = FakeTorch(), FakeAgent()
        recorder = self.recorder(torch, agent=agent)
        torch.use_cuda()
        for _ in range(3):
            self.step(torch, recorder, 1, SGD(Tensor(1, 1)))
            self.step(torch, recorder, 1, Adam(Tensor(2, 1)))
        self.assertEqual(len(agent.levels), 3)

    def test_each_gpu_of_the_optimizer(self):
        torch, agent = FakeTorch(), FakeAgent()
        recorder = self.recorder(torch, agent=agent)
        torch.use_cuda()
        optimizer = SGD(Tensor(1, 1, device=3))
        optimizer.param_groups += [{"params": [Tensor(2, 1, device=1)]}, {"params": [Tensor(3, 1, is_cuda=False)]}, {"params": []}]
        recorder.on_step(optimizer, (), {})
        self.assertEqual([level[0] for level in agent.levels], [1, 3])


class Snapshots(Recording):
    def test_a_peak_that_the_history_still_holds_is_written_at_the_end_only(self):
        torch, agent = FakeTorch(), FakeAgent()
        recorder = self.recorder(torch, agent=agent)
        torch.use_cuda()
        for peak in (1000, 5000, 1000, 1000):
            self.step(torch, recorder, peak, SGD(Tensor(1, 1)), count=100)
        self.assertEqual(torch.log.count("snapshot"), 0)
        recorder.on_exit()
        self.assertEqual(self.names(), ["end.pickle", "end.tensors.json"])
        self.assertEqual(agent.overheads, [(b"switched the memory history on", 1000), (b"wrote a memory snapshot", 1001)])

    def test_a_peak_is_written_when_half_of_the_history_came_after_it(self):
        torch = FakeTorch()
        recorder = self.recorder(torch)
        torch.use_cuda()
        per_step = memory.kHistoryEntries // memory.kEntriesPerAllocation // 10
        counts = []
        for step in range(12):
            self.step(torch, recorder, 5000 if step == 3 else 1000, SGD(Tensor(1, 1)), count=per_step)
            counts.append(torch.log.count("snapshot"))
        # Of step 3 and those behind it: a tenth each. The peak of step 0 was overtaken before its turn came.
        self.assertEqual(counts, [0] * 8 + [1] * 4)

    def test_a_peak_waits_for_a_minute_at_most(self):
        torch = FakeTorch()
        recorder = self.recorder(torch)
        torch.use_cuda()
        real = memory.time
        clock = [100.0]
        memory.time = types.SimpleNamespace(monotonic=lambda: clock[0], time_ns=real.time_ns)
        try:
            counts = []
            for now in (100.0, 159.0, 160.0, 300.0):
                clock[0] = now
                self.step(torch, recorder, 1000, SGD(Tensor(1, 1)), count=1)
                counts.append(torch.log.count("snapshot"))
        finally:
            memory.time = real
        self.assertEqual(counts, [0, 0, 1, 1])

    def test_a_peak_is_written_at_once_where_allocations_are_not_counted(self):
        torch = FakeTorch()
        torch.allocation_count = None
        recorder = self.recorder(torch)
        torch.use_cuda()
        self.step(torch, recorder, 1000, SGD(Tensor(1, 1)))
        self.assertEqual(torch.log.count("snapshot"), 1)

    def test_what_fails_is_our_time_too(self):
        torch, agent = FakeTorch(raises=("snapshot",)), FakeAgent()
        recorder = self.recorder(torch, agent=agent)
        torch.use_cuda()
        recorder.on_exit()
        self.assertEqual(agent.overheads[-1], (b"wrote a memory snapshot", 1001))

    def test_peaks_the_end_and_nothing_between(self):
        torch = FakeTorch()
        recorder = self.recorder(torch)
        torch.use_cuda()
        optimizer = SGD(Tensor(1, 1))
        counts = []
        for peak in (1000, 1005, 2000, 2000):
            recorder.not_before = 0
            self.step(torch, recorder, peak, optimizer)
            counts.append(recorder.peak_count)
        self.assertEqual(counts, [1, 1, 2, 2], "0.5 % more is no new peak")
        self.assertEqual(self.names(), ["peak.pickle", "peak.tensors.json"])
        recorder.on_exit()
        self.assertEqual(self.names(), ["end.pickle", "end.tensors.json", "peak.pickle", "peak.tensors.json"])
        with open(next(self.folder.glob("*.end.pickle")), "rb") as file:
            self.assertEqual(pickle.load(file)["segments"], [])

    def test_their_number_is_limited(self):
        torch = FakeTorch()
        recorder = self.recorder(torch)
        torch.use_cuda()
        for peak in range(1, 50):
            recorder.not_before = 0
            self.step(torch, recorder, 1000 * peak, SGD(Tensor(1, 1)))
            torch.observers[0](0, 1, 2, 3)
        self.assertEqual(torch.log.count("snapshot"), memory.kMostPeakSnapshots + memory.kMostOomSnapshots)
        self.assertEqual([name for name in self.names() if name.endswith("pickle")], ["oom1.pickle", "oom2.pickle", "oom3.pickle", "peak.pickle"])

    def test_a_slow_one_is_followed_by_a_pause(self):
        torch = FakeTorch()
        recorder = self.recorder(torch)
        torch.use_cuda()
        real = memory.time
        clock = [100.0]
        memory.time = types.SimpleNamespace(monotonic=lambda: clock[0], time_ns=real.time_ns)
        dump = recorder.dump

        def slow_dump(which):
            clock[0] += 2
            dump(which)

        recorder.dump = slow_dump
        try:
            counts = []
            for now, peak in ((100.0, 1000), (141.0, 2000), (142.1, 2000)):
                clock[0] = now
                self.step(torch, recorder, peak, SGD(Tensor(1, 1)))
                counts.append(recorder.peak_count)
        finally:
            memory.time = real
        self.assertEqual(counts, [1, 1, 2], "2 s, so not within 40 s; the peak is not forgotten meanwhile")

    def test_outside_windows_where_there_are_windows(self):
        torch, agent = FakeTorch(), FakeAgent()
        recorder = self.recorder(torch, "every=100", agent)
        torch.use_cuda()
        self.step(torch, recorder, 1000, SGD(Tensor(1, 1)))
        self.assertEqual(torch.log.count("snapshot"), 0)
        agent.is_recording = False
        self.step(torch, recorder, 10, SGD(Tensor(1, 1)))
        self.assertEqual(torch.log.count("snapshot"), 1)

    def test_not_while_a_graph_is_captured(self):
        torch = FakeTorch()
        recorder = self.recorder(torch)
        torch.use_cuda()
        torch.is_capturing = True
        self.step(torch, recorder, 1000, SGD(Tensor(1, 1)))
        self.assertEqual(torch.log.count("snapshot"), 0)

    def test_the_cap_of_the_disk(self):
        torch, agent = FakeTorch(), FakeAgent()
        torch.snapshot_bytes = 5000
        recorder = self.recorder(torch, "max_file_bytes=8000", agent)
        torch.use_cuda()
        torch.observers[0]()
        recorder.on_exit()
        self.assertEqual(self.names(), ["oom1.pickle", "oom1.tensors.json"], "no half file either")
        self.assertEqual(len(agent.complaints), 1)
        self.assertIn("no snapshot at the end: OSError: the snapshot is larger", agent.complaints[0])

    def test_ranks_have_their_own(self):
        os.environ["OMPI_COMM_WORLD_RANK"] = "3"
        torch = FakeTorch()
        recorder = self.recorder(torch)
        torch.use_cuda()
        recorder.on_exit()
        self.assertEqual(len(list(self.folder.glob(f"*_{os.getpid()}_rank3.*.end.pickle"))), 1)

    def test_a_directory_with_odd_characters(self):
        settings = memory.Settings("memory=1;directory=/a%3Bb%25c=d;max_file_bytes=7")
        self.assertEqual((settings.directory, settings.max_file_bytes), ("/a;b%c=d", 7))


class AddressMap(Recording):
    def test_each_storage_once_by_category(self):
        torch = FakeTorch()
        recorder = self.recorder(torch)
        torch.use_cuda()
        weight, view, on_cpu = Tensor(0x1000, 512), Tensor(0x1000, 512), Tensor(0x5000, 8, is_cuda=False)
        weight.grad = Tensor(0x2000, 512)
        piece = types.SimpleNamespace(_local_tensor=Tensor(0x7000, 64, device=1))
        optimizer = Adam(weight, view, on_cpu)
        optimizer.state = {weight: {"step": Tensor(0x9000, 4, is_cuda=False), "exp_avg": Tensor(0x3000, 512), "more": [(Tensor(0x4000, 16), 1)], "count": 3,
                                    "piece": piece}}
        recorder.on_step(optimizer, (), {})
        recorder.on_exit()
        with open(next(self.folder.glob("*.end.tensors.json"))) as file:
            document = json.load(file)
        self.assertEqual((document["format"], document["version"]), ("stepscope-tensor-addresses", 1))
        self.assertEqual(document["tensors"], {"parameter": [[0, 0x1000, 512]], "gradient": [[0, 0x2000, 512]],
                                               "optimizer state": [[0, 0x3000, 512], [0, 0x4000, 16], [1, 0x7000, 64]]})

    def test_optimizers_that_are_gone(self):
        torch = FakeTorch()
        recorder = self.recorder(torch)
        torch.use_cuda()
        recorder.on_step(SGD(Tensor(1, 1)), (), {})
        recorder.on_step(SGD(Tensor(2, 1)), (), {})
        self.assertEqual(recorder.live_optimizers(), [])
        self.assertEqual(len(recorder.optimizers), 1)


class Failures(Recording):
    def test_no_exception_reaches_the_program_and_each_is_said_once(self):
        for part in ("lazy", "history", "observer", "snapshot", "stats", "reset"):
            torch, agent = FakeTorch(raises={part}), FakeAgent()
            recorder = self.recorder(torch, agent=agent)
            torch.use_cuda()
            for observer in torch.observers:
                observer()
                observer()
            for _ in range(3):
                recorder.on_step(SGD(Tensor(1, 1)), (), {})
            recorder.on_exit()
            said = [line for line in agent.complaints if f"{part} failed in two lines" in line]
            self.assertGreaterEqual(len(said), 1, part)
            self.assertEqual(len(set(agent.complaints)), len(agent.complaints), part)

    def test_one_broken_part_leaves_the_others(self):
        torch, agent = FakeTorch(raises={"observer"}), FakeAgent()
        recorder = self.recorder(torch, agent=agent)
        torch.use_cuda()
        self.step(torch, recorder, 10, SGD(Tensor(1, 1)))
        recorder.on_exit()
        self.assertEqual(len(agent.levels), 1)
        self.assertIn("end.pickle", self.names())

    def test_an_older_pytorch_is_named(self):
        torch, agent = FakeTorch(legacy=True), FakeAgent()
        self.recorder(torch, agent=agent)
        torch.use_cuda()
        self.assertEqual(agent.complaints, ["memory: no memory history: RuntimeError: PyTorch 2.99.0 keeps none with Python stacks (2.1 and later do)"])

    def test_ctrl_c_is_the_programs(self):
        torch = FakeTorch()
        recorder = self.recorder(torch)
        torch.use_cuda()

        def interrupted():
            raise KeyboardInterrupt

        torch.cuda.memory._snapshot = interrupted
        with self.assertRaises(KeyboardInterrupt):
            torch.observers[0]()
        self.assertEqual(self.names(), [])

    def test_a_forked_child_does_nothing(self):
        torch, agent = FakeTorch(), FakeAgent()
        recorder = self.recorder(torch, agent=agent)
        child = os.fork()
        if child == 0:
            torch.log.clear()
            torch.use_cuda()
            recorder.on_exit()
            os._exit(len(torch.log))
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_without_an_agent(self):
        agent = memory.Agent()
        self.assertFalse(agent.write_level(0, 1, 2, 3, 4))
        agent.complain("nobody hears this")


@unittest.skipUnless(importlib.util.find_spec("torch"), "needs PyTorch")
class RealOptimizers(Recording):
    def test_torch_calls_us_at_the_end_of_a_step(self):
        import torch

        class OnGpu(torch.nn.Parameter):
            is_cuda = True
            device = types.SimpleNamespace(index=0)

        class Plain(torch.optim.Optimizer):
            def step(self, closure=None):
                del closure

        fake, agent = FakeTorch(), FakeAgent()
        recorder = self.recorder(fake, agent=agent)
        del recorder.watch_steps
        recorder.watch_steps()
        fake.use_cuda()
        optimizer = Plain([OnGpu(torch.ones(2))], {})
        for _ in range(2):
            fake.allocate(64)
            optimizer.step()
        self.assertEqual([level[1] for level in agent.levels], [64, 128])
        self.assertEqual(recorder.live_optimizers(), [optimizer])
        recorder.process_id = 0  # for the tests that follow

    def test_the_names_are_those_of_this_pytorch(self):
        import torch

        self.assertTrue(callable(torch.cuda._lazy_call))
        self.assertTrue(callable(torch.cuda.memory._record_memory_history))
        self.assertTrue(callable(torch.cuda.memory._snapshot))
        with torch._C.DisableTorchFunction():
            pass
        recorder = self.recorder(FakeTorch())
        recorder.torch = torch
        with recorder.named("a name"):
            pass


if __name__ == "__main__":
    unittest.main(verbosity=1)
