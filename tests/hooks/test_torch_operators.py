"""Operators of a real PyTorch on the CPU, compared with what torch.profiler writes of the same calls."""
import collections
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
import unittest

try:
    import torch
except Exception as problem:  # none installed, or a build that misses its CUDA libraries
    print(f"skipped: import torch: {problem}")
    sys.exit(77)

from probe import events, free, held, stack_lines

OP, FUNCTION, BACKWARD, USER = 0, 0, 1, 2


def work():
    image = torch.ones(1, 2, 8, 8)
    torch.nn.functional.conv2d(image, torch.ones(4, 2, 3, 3), stride=2, padding=1, bias=None)
    torch.nn.functional.conv2d(image.double(), torch.ones(4, 2, 3, 3).double(), torch.ones(4).double())
    x = torch.ones(4, 3, requires_grad=True)
    w = torch.ones(3, 5, dtype=torch.float32)
    with torch.profiler.record_function("my span"):
        y = torch.cat([x, x], 0).mm(w).mul(2.5).add(1, alpha=3).sum()
    y.backward()
    torch.empty(2, 3, 4, 1, 2, 2, dtype=torch.bfloat16).transpose(0, 1).contiguous().view(-1)
    torch.arange(10).to(torch.int32)[2:5].bool().any()
    torch._foreach_add_([torch.zeros(2), torch.zeros(3, 3)], 1.0)
    torch.nn.functional.layer_norm(torch.ones(2, 7), (7,), eps=1e-5)
    torch.nn.functional.dropout(torch.ones(3), 0.5)


def optimize():
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(3, 4)).square().mean().backward()
        optimizer.step()


class Operators(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        assert held.probe_attach_torch(1) == 1, held.probe_remarks().decode()
        assert held.probe_attach_python() == sys.version_info[1], held.probe_remarks().decode()
        # Everything was found in the release that is pinned; a remark would say what was not.
        if torch.__version__.startswith("2.13."):
            assert held.probe_remarks() == b"", held.probe_remarks().decode()
        # A distribution's package tells it by the name of the library, without what the build adds.
        assert held.probe_torch_version().decode() in (torch.__version__, torch.__version__.split("+")[0])

    def setUp(self):
        held.probe_forget_events()
        held.probe_listen(1)

    def tearDown(self):
        held.probe_detail(0)
        held.probe_listen(0)

    def record(self, function):
        held.probe_detail(2)
        function()
        held.probe_detail(0)
        return events()

    def profiled(self, function):
        """(ours, torch.profiler's) of one run: name -> count of what each call was given."""
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profiler:
            ours = self.record(function)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            profiler.export_chrome_trace(path)
            with open(path) as file:
                trace = json.load(file)["traceEvents"]
        theirs = [e for e in trace if e.get("cat") in ("cpu_op", "user_annotation") and e["ph"] == "X"]
        return ours, [e for e in theirs if not e["name"].startswith(("PyTorch Profiler", "ProfilerStep"))]

    def test_backward_knows_the_line_of_its_forward(self):
        seen = []

        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, gradient):
                seen.append(stack_lines(held.probe_forward_stack()))
                return gradient * 2

        def first(x):
            return Twice.apply(x)

        def second(x):
            return Twice.apply(x)
        held.probe_detail(2)
        second(first(torch.ones(3, requires_grad=True)).mul(3)).sum().backward()
        # Innermost is Function.apply.
        self.assertEqual([lines[1].split()[-1].split(".")[-1] for lines in seen], ["second", "first"])
        self.assertEqual(held.probe_forward_stack(), 0)

    def test_what_the_engine_does_after_a_node_has_the_line_of_its_forward(self):
        # It sums what the addition broadcast once AddBackward0 has ended; a mode on its thread sees the sum.
        seen = []

        class Watch(torch.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                seen.append((function.overloadpacket.__name__, stack_lines(held.probe_forward_stack())))
                return function(*args, **(kwargs or {}))

        def broadcast(x, bias):
            return x + bias
        bias = torch.ones(3, requires_grad=True)
        held.probe_detail(2)
        total = broadcast(torch.ones(4, 3, requires_grad=True), bias).sum()
        bias.grad = torch.ones(3)
        with Watch():
            total.backward()
        (of_sum,) = (lines for name, lines in seen if name == "sum")
        self.assertEqual([line.split()[-1].split(".")[-1] for line in of_sum[:1]], ["broadcast"])
        self.assertEqual([lines for name, lines in seen if name.startswith("add")], [[]], "a leaf has no forward")
        self.assertEqual(tuple(bias.grad), (5, 5, 5))

    def test_the_same_operators_as_torch_profiler(self):
        for function in (work, optimize):
            ours, theirs = self.profiled(function)
            self.assertEqual(collections.Counter(e.name for e in ours), collections.Counter(e["name"] for e in theirs))

    def test_the_same_inputs_as_torch_profiler(self):
        for function in (work, optimize):
            ours, theirs = self.profiled(function)

            def of_ours(event):
                dims, types, values = event.detail.split("\n") if event.detail else ("[]",) * 3
                return event.name, *(json.dumps(json.loads(text)) for text in (dims, types, values))

            def of_theirs(event):
                args = event.get("args", {})
                return event["name"], *(json.dumps(args.get(key, []))
                                        for key in ("Input Dims", "Input type", "Concrete Inputs"))

            operators = [e for e in ours if e.flags != USER]
            expected = [e for e in theirs if e["cat"] == "cpu_op"]
            left = collections.Counter(map(of_ours, operators))
            right = collections.Counter(map(of_theirs, expected))
            self.assertEqual((left - right, right - left), (collections.Counter(),) * 2)

    def test_sequence_numbers_join_backward_to_forward(self):
        ours, theirs = self.profiled(work)
        # torch.profiler gives `evaluate_function` the number of what it evaluates, afterwards.
        theirs = [e for e in theirs if "evaluate_function" not in e["name"]]
        left = collections.Counter((e.name, e.sequence) for e in ours if e.sequence >= 0)
        right = collections.Counter((e["name"], e["args"]["Sequence number"]) for e in theirs
                                    if e.get("args", {}).get("Sequence number", -1) >= 0)
        self.assertEqual(left, right)
        forward = {e.sequence for e in ours if e.name == "aten::mm" and e.flags == FUNCTION}
        backward = {e.sequence: e.forward for e in ours if e.name == "MmBackward0" and e.flags == BACKWARD}
        self.assertTrue(set(backward) <= forward and backward)
        self.assertTrue(all(thread > 0 for thread in backward.values()), backward)

    def test_operators_nest_in_time(self):
        # Each starts after, and ends before, the one around it; the clock is one for all.
        started = time.time_ns()
        by_end = [e for e in self.record(work) if e.flags != USER]
        open_until = []
        for event in sorted(by_end, key=lambda e: (e.start, -e.end)):
            self.assertLessEqual(event.start, event.end)
            while open_until and open_until[-1] < event.start:
                open_until.pop()
            self.assertTrue(not open_until or event.end <= open_until[-1])
            open_until.append(event.end)
        self.assertLess(abs(by_end[0].start - started), 60_000_000_000)

    def test_spans_have_a_stack(self):
        def spanned():
            with torch.profiler.record_function("here"):
                pass
        span, = [e for e in self.record(spanned) if e.flags == USER]
        lines = stack_lines(span.stack)
        self.assertTrue(any("spanned" in line and __file__ in line for line in lines), lines)

    def test_only_user_scopes_outside_windows(self):
        held.probe_detail(1)
        work()
        self.assertEqual({e.flags for e in events()}, {USER})

    def test_spans_in_generators_overlap(self):
        def spanned(name):
            with torch.profiler.record_function(name):
                yield
        def both():
            first, second = spanned("first"), spanned("second")
            next(first), next(second)
            list(first), list(second)
        names = [e.name for e in self.record(both) if e.flags == USER]
        self.assertEqual(names, ["first", "second"])

    def test_threads(self):
        def many():
            def loop():
                x = torch.zeros(3)
                for _ in range(500):
                    x.neg_()
            threads = [threading.Thread(target=loop) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        lost = held.probe_lost()
        counts = collections.Counter(e.thread for e in self.record(many) if e.name == "aten::neg_")
        self.assertEqual((sorted(counts.values()), held.probe_lost() - lost), ([500] * 8, 0))

    def test_backward_on_several_threads_is_told_by_scope(self):
        def checkpointed():
            from torch.utils.checkpoint import checkpoint
            x = torch.ones(4, 4, requires_grad=True)
            checkpoint(lambda t: t.mm(t).relu(), x, use_reentrant=True).sum().backward()
        names = [e.name for e in self.record(checkpointed) if e.flags == BACKWARD]
        self.assertIn("CheckpointFunctionBackward", names)
        self.assertIn("MmBackward0", names)

    def test_exceptions_leave_nothing_open(self):
        def fails():
            for _ in range(300):
                try:
                    torch.ones(2, 3).mm(torch.ones(2, 3))
                except RuntimeError:
                    pass
            torch.ones(1).neg()
        lost = held.probe_lost()
        ours = self.record(fails)
        self.assertEqual(sum(e.name == "aten::mm" for e in ours), 300)
        self.assertEqual(held.probe_lost(), lost)

    def test_switching_while_threads_work(self):
        go = [True]
        def loop():
            x = torch.zeros(3)
            while go:
                x.neg_()
        threads = [threading.Thread(target=loop) for _ in range(4)]
        for thread in threads:
            thread.start()
        for i in range(1000):
            held.probe_detail(i % 3)
            held.probe_forget_events()
        go.clear()
        for thread in threads:
            thread.join()
        held.probe_detail(0)
        held.probe_forget_events()
        self.assertEqual(collections.Counter(e.name for e in self.record(work))["my span"], 1)

    def test_a_million_operators_take_no_memory(self):
        held.probe_detail(2)
        x = torch.zeros(3)
        def some(count):
            for _ in range(count):
                for _ in range(1000):
                    x.neg_()
                held.probe_forget_events()
        some(50)
        gc.collect()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        some(1000)
        # Rings that grow to what waits in them; a leak of one byte an operator would be 1 MB.
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 1000)

    def test_forked_child(self):
        held.probe_detail(2)
        pid = os.fork()
        if pid == 0:
            torch.zeros(3).neg_()
            os._exit(0 if held.probe_forget_events() == 0 else 1)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)

    def test_a_process_that_ends_while_recording(self):
        program = ("import sys; sys.path.insert(0, %r)\nimport torch, threading\nfrom probe import *\n"
                   "held.probe_attach_torch(0); held.probe_attach_python(); held.probe_listen(1); held.probe_detail(2)\n"
                   "def loop():\n  x = torch.zeros(3)\n  for _ in range(20000): x.neg_()\n"
                   "threading.Thread(target=loop).start()\ntorch.zeros(3).neg_()\n" % os.path.dirname(__file__))
        for _ in range(3):
            done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_cost_is_told(self):
        x = torch.zeros(3)
        def block():
            start = time.thread_time_ns()
            for _ in range(3000):
                x.neg_()
            return (time.thread_time_ns() - start) / 3000
        ratio = {}
        for _ in range(30):
            for detail in (0, 1, 2):
                held.probe_detail(detail)
                ratio.setdefault(detail, []).append(block())
                held.probe_forget_events()
        off, spans, full = (sorted(ratio[d])[15] for d in (0, 1, 2))
        print(f"torch {torch.__version__}: an operator takes {off:.0f} ns, {spans - off:+.0f} with user scopes, "
              f"{full - off:+.0f} recorded with shapes")


unittest.main(verbosity=1)
