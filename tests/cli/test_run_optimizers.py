#!/usr/bin/env python3
"""Steps of optimizers under `stepscope run`: heard by hooks of torch.optim or, where there are none, by PyTorch's spans.

What needs PyTorch uses build/venv (tools/setup_python.sh) and is skipped without it.
"""
import json
import re
import subprocess
import textwrap
import unittest

import test_run
from program import COMPLETE, run

TORCH_PYTHON = test_run.TORCH_PYTHON
# `has_callbacks` is PyTorch's own answer.
LOOP = """
import copy, ctypes, glob, os, pickle, signal, sys, threading
import torch
hooks = sys.modules["torch.optim.optimizer"]
if os.environ.get("WITHOUT_HOOKS"):  # as a PyTorch that has none
    hooks._global_optimizer_pre_hooks.clear(), hooks._global_optimizer_post_hooks.clear()
torch.set_num_threads(1)
library = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"))[0])
has_callbacks = library._ZN2at18hasGlobalCallbacksEv
has_callbacks.restype = ctypes.c_bool
agent = ctypes.PyDLL(None)
model = torch.nn.Linear(16, 16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def backward(model=model):
    model(torch.ones(4, 16)).sum().backward()
def step(optimizer=optimizer, model=model):
    optimizer.zero_grad()
    backward(model)
    optimizer.step()
def rest(name):
    print(name, has_callbacks())
"""
LATER = ("--schedule", "skip=100000,active=1", "--no-report")


@unittest.skipUnless(test_run.HAS_TORCH, "no PyTorch in build/venv")
class Optimizers(test_run.Folder):
    def python(self, text, *options, **more):
        script = self.script(LOOP + textwrap.dedent(text))
        done = self.run_in(*options, "--", TORCH_PYTHON, "-W", "ignore", script, **more)
        self.assertEqual(done.status, 0, done.err)
        return done

    def step_count(self, text, **environment):
        """How many steps the agent heard, from what it says of a schedule that never began."""
        return int(re.search(r"ended after (\d+) steps?", self.python(text, *LATER, environment=environment).err).group(1))

    def test_the_same_steps_with_hooks_and_with_spans(self):
        start = "for i in range(12):\n    if i == 4: agent.stepscope_agent_start()\n    if i == 9: agent.stepscope_agent_stop()\n    step()"
        loops = {
            "schedule": ("for i in range(20): step()", "--schedule", "skip=3,warmup=1,active=3,repeat=2"),
            "every": ("for i in range(20): step()", "--every", "7"),
            "paused": (start, "--paused"),
            "all": ("for i in range(6): step()",),
        }
        for name, (text, *options) in loops.items():
            seen = []
            for without in ("", "1"):
                out = name + without
                self.python(text, *options, "--no-report", "--out", out, environment={"WITHOUT_HOOKS": without})
                report = run("report", self.captures(out)[0], "--json", cwd=self.folder)
                self.assertEqual(report.status, COMPLETE, report.err)
                rows = {row["key"]: row["count"] for row in run("ops", self.captures(out)[0], "--json", cwd=self.folder).json()["rows"]}
                steps = report.json()["steps"]
                seen.append(([steps[key] for key in ("count", "first", "last", "source", "source_detail")],
                             {key: count for key, count in rows.items() if key.startswith(("aten::", "Optimizer.", "ProfilerStep"))}))
            with self.subTest(name):
                self.assertEqual(seen[0], seen[1])
                self.assertGreater(seen[0][0][0], 2)
                self.assertEqual(seen[0][0][4], "Optimizer.step#SGD.step, heard by the agent")

    def test_at_rest_pytorch_has_no_callbacks_of_ours(self):
        text = "rest('begin')\nfor i in range(2): step()\nrest('two')\nstep()\nrest('three')\nfor i in range(3): step()\nrest('more')"
        self.assertEqual(self.python(text, "--paused").out.splitlines(), ["begin True", "two True", "three False", "more False"])
        spans = "begin True\ntwo True\nthree True\nmore True\n"
        self.assertEqual(self.python(text, "--paused", environment={"WITHOUT_HOOKS": "1"}).out, spans)
        self.assertEqual(self.python(text, "--paused", "--step", "Optimizer.step#SGD.step").out, spans)
        between = "for i in range(12):\n    step()\n    rest(i)"
        out = self.python(between, "--schedule", "skip=4,warmup=1,active=2,repeat=1", "--no-report").out
        self.assertEqual([line.split()[1] for line in out.splitlines()], ["True"] * 2 + ["False"] + ["True"] * 3 + ["False"] * 6)

    def test_a_session_of_torch_profiler_is_heard_from_the_next_window_on(self):
        done = self.python("""
            for i in range(6): step()
            with torch.profiler.profile(schedule=lambda step: torch.profiler.ProfilerAction.NONE) as p:
                for i in range(12):
                    step()
                    p.step()
            rest('end')""", "--schedule", "wait=7,active=3,repeat=2", "--no-report")
        self.assertEqual(done.out, "end True\n")
        document = run("report", self.captures()[0], "--json", cwd=self.folder).json()
        self.assertEqual(document["steps"]["source"], "profiler_step")

    def test_compiled_optimizers_have_the_graphs_that_they_have_without_us(self):
        text = LOOP + textwrap.dedent("""
            import torch._dynamo as dynamo
            from torch._dynamo.testing import CompileCounter
            class Plain(torch.optim.Optimizer):
                def __init__(self, parameters, lr):
                    super().__init__(parameters, {"lr": lr})
                @torch.no_grad()
                def step(self, closure=None):
                    for group in self.param_groups:
                        for parameter in group["params"]:
                            parameter.add_(parameter.grad, alpha=-group["lr"])
            def use(what, optimizer, body, **options):
                dynamo.reset()
                dynamo.utils.counters.clear()
                counter = CompileCounter()
                compiled = torch.compile(body, backend=counter, **options)
                backward()
                with dynamo.config.patch(error_on_recompile=True):
                    for i in range(4):
                        compiled()
                breaks = sorted(text.split("\\n")[0] for text in dynamo.utils.counters["graph_break"])
                print(what, type(optimizer).__name__, counter.frame_count, counter.op_count, breaks)
            def train():
                backward()
                optimizer.step()
            optimizer = Plain(model.parameters(), lr=0.01)
            use("full", optimizer, lambda: optimizer.step(), fullgraph=True)
            for made in (optimizer, torch.optim.SGD(model.parameters(), lr=0.01), torch.optim.AdamW(model.parameters())):
                optimizer = made
                use("step", optimizer, optimizer.step)
                use("train", optimizer, train)
            """)
        script = self.script(text)
        plain = subprocess.run([TORCH_PYTHON, "-W", "ignore", script], capture_output=True, text=True, cwd=self.folder, timeout=200, check=False)
        self.assertEqual(plain.returncode, 0, plain.stderr)
        self.assertEqual(len(plain.stdout.splitlines()), 7)
        done = self.run_in(*LATER, "--", TORCH_PYTHON, "-W", "ignore", script, timeout=200)
        self.assertEqual((done.status, done.out), (0, plain.stdout), done.err)
        self.assertIn("none was seen", " ".join(done.err.split()), "a compiled step has neither span nor hook")

    def test_optimizers_that_take_turns_at_one_line_are_one_step(self):
        text = """
            other = torch.nn.Linear(16, 16)
            both = [(optimizer, model), (torch.optim.SGD(other.parameters(), lr=0.01), other)]
            for i in range(10):
                for each in both: step(*each)"""
        self.assertEqual(self.step_count(text), 10)
        self.assertEqual(self.step_count(text, WITHOUT_HOOKS="1"), 20, "a span does not tell them apart")

    def test_optimizers_made_anew_are_each_the_next(self):
        self.assertEqual(self.step_count("""
            for epoch in range(3):
                optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
                scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)  # holds it in a cycle
                for i in range(5):
                    step(optimizer)
                    scheduler.step()
            for i in range(5):
                step(torch.optim.Adam(model.parameters()))"""), 19, "Adam's first is learnt from the second")

    def test_odd_optimizers_step_as_ever(self):
        """One step a pass, whatever is inside it."""
        self.assertEqual(self.step_count("""
            optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
            def closure():
                optimizer.zero_grad()
                loss = model(torch.ones(4, 16)).square().sum()
                loss.backward()
                return loss
            for i in range(6): optimizer.step(closure)"""), 6)
        self.assertEqual(self.step_count("""
            class Sub(torch.optim.SGD):
                def step(self, closure=None):
                    return super().step(closure)
            class Zero(torch.optim.Optimizer):
                def __init__(self, parameters):
                    parameters = list(parameters)
                    super().__init__(parameters, {})
                    self.inner = [Sub(parameters[:1], lr=0.01), torch.optim.Adam(parameters[1:])]
                def step(self, closure=None):
                    for each in self.inner: each.step()
            optimizer = Zero(model.parameters())
            for i in range(6): step(optimizer)"""), 6)
        self.assertEqual(self.step_count("""
            scaler = torch.amp.GradScaler("cpu")
            for i in range(8):
                optimizer.zero_grad()
                loss = model(torch.ones(4, 16)).sum()
                scaler.scale(loss * (float("inf") if i in (2, 5) else 1)).backward()
                scaler.step(optimizer)
                scaler.update()"""), 6, "two were skipped")

    def test_a_step_that_raises_is_none(self):
        self.assertEqual(self.step_count("""
            def fail(optimizer, args, kwargs):
                raise ValueError("no")
            for i in range(10):
                handle = optimizer.register_step_pre_hook(fail) if i in (3, 4) else None
                try:
                    step()
                except ValueError:
                    handle.remove()"""), 8)

    def test_copies_and_pickles_hold_nothing_of_ours(self):
        self.assertEqual(self.step_count("""
            step()
            data = pickle.dumps(optimizer)
            assert b"stepscope" not in data and b"stepscope" not in pickle.dumps(optimizer.state_dict())
            assert not optimizer._optimizer_step_pre_hooks and "stepscope" not in repr(optimizer.__dict__)
            for each in (copy.deepcopy(optimizer), pickle.loads(data), optimizer):
                for i in range(3): each.step()
            """), 9, "the first of the copy at a new line is learnt from its second")

    def test_threads_that_train(self):
        self.assertEqual(self.step_count("""
            def train():
                own = torch.nn.Linear(16, 16)
                optimizer = torch.optim.SGD(own.parameters(), lr=0.01)
                for i in range(20): step(optimizer, own)
            threads = [threading.Thread(target=train) for i in range(4)]
            for each in threads:
                each.start()
                each.join()"""), 80)

    def test_a_step_of_a_forked_child_is_its_own(self):
        done = self.python("""
            for i in range(5): step()
            rest("parent")
            sys.stdout.flush()
            child = os.fork()
            if child == 0:
                rest("child")
                for i in range(4): step()
                rest("child")
                sys.stdout.flush()
                os._exit(0)
            os.waitpid(child, 0)
            for i in range(2): step()
            rest("parent")""", *LATER, "--children")
        self.assertEqual(done.out.splitlines(), ["parent False", "child True", "child False", "parent False"])
        self.assertIn("ended after 7 steps", done.err)

    def test_the_span_has_the_programs_stack(self):
        self.python("for i in range(5): step()", "--no-report")
        run("convert", self.captures()[0], "-o", "trace.json", cwd=self.folder)
        rows = json.loads((self.folder / "trace.json").read_text())["traceEvents"]
        starts = {row["ts"] for row in rows if row.get("cat") == "user_annotation" and row["name"].startswith("Optimizer.step#")}
        frames = " ".join(row["name"] for row in rows if row.get("cat") == "python_function" and row["ts"] in starts)
        self.assertIn("profile_hook_step", frames)
        self.assertNotIn("stepscope_optimizers", frames)


if __name__ == "__main__":
    unittest.main()
