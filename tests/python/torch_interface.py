"""Names and parameters of torch's profiler and Timer: what ours lacks is a list here, and each of it is told in docs/python.

A new version of torch that has more fails here, and so does a difference that nobody wrote down. Run by test_torch_profile.py, whose
process has torch already.
"""

import inspect
import pickle
import unittest
import warnings

import support
import stepscope

PAGE = (support.DATA.parents[1] / "docs" / "python" / "pytorch.md").read_text()

# Public names of torch's objects that ours do not have.
LACKS = {
    "averages": {"add", "cpu_children", "cpu_parent", "scope"},
    "event": {
        "activity_type", "append_cpu_child", "append_kernel", "event_metadata", "external_id", "flow_id", "flow_start",
        "flow_type", "linked_correlation_id", "metadata_json", "python_id", "python_module_id", "python_parent_id", "scope",
        "self_cpu_percent", "self_cuda_memory_usage", "set_cpu_parent", "structured_input_strides", "total_cpu_percent",
        "total_device_percent",
    },
    "averages list": {"export_chrome_trace", "export_stacks", "key_averages"},
    "measurement": {"metadata", "task_spec"},
}


def names_of(thing) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def parameters_of(function) -> list[tuple]:
    found = inspect.signature(function).parameters.values()
    return [(each.name, each.kind, each.default) for each in found if each.name != "self"]


@support.needs("torch")
class Interface(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import torch
        from stepscope.torch import profile

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with torch.profiler.profile() as cls.theirs:
                torch.ones(2) + 1
        with profile() as cls.ours:
            torch.ones(2) + 1

    def check_methods(self, theirs, ours):
        for name in sorted(names_of(theirs) & names_of(ours)):
            if callable(getattr(theirs, name)):
                with self.subTest(name):
                    self.assertEqual(parameters_of(getattr(ours, name)), parameters_of(getattr(theirs, name)))

    def check_lacks(self, which, theirs, ours):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lacks = names_of(theirs) - names_of(ours)
        self.assertEqual(lacks, LACKS[which])
        for name in lacks:
            self.assertTrue(f"`{name}`" in PAGE, f"{name} is not told in docs/python/pytorch.md")

    def test_the_module_has_every_name(self):
        import torch.profiler

        import stepscope.torch

        for name in torch.profiler.__all__:
            self.assertTrue(hasattr(stepscope.torch, name), name)
        for name in ("schedule", "tensorboard_trace_handler", "supported_activities", "record_function"):
            theirs, ours = getattr(torch.profiler, name), getattr(stepscope.torch, name)
            self.assertEqual(parameters_of(ours), parameters_of(theirs), name)
        ours = {action.name: action.value for action in stepscope.torch.ProfilerAction}
        theirs = {action.name: action.value for action in torch.profiler.ProfilerAction}
        self.assertEqual(ours, {name: value for name, value in theirs.items() if name != "DEVICE_STOPPED"})
        self.assertTrue("`DEVICE_STOPPED`" in PAGE)

    def test_profile_has_every_method_and_parameter(self):
        import torch.profiler

        import stepscope.torch

        theirs, ours = torch.profiler.profile, stepscope.torch.profile
        self.assertEqual(names_of(theirs) - names_of(ours), set())
        self.assertEqual(parameters_of(ours), parameters_of(theirs))
        self.check_methods(theirs, ours)

    def test_what_it_gives_has_torchs_names(self):
        pairs = {"event": (self.theirs.events()[0], self.ours.events()[0]),
                 "averages": (self.theirs.key_averages()[0], self.ours.key_averages()[0]),
                 "averages list": (self.theirs.key_averages(), self.ours.key_averages())}
        for which, (theirs, ours) in pairs.items():
            with self.subTest(which):
                self.check_lacks(which, theirs, ours)
        theirs, ours = self.theirs.events(), self.ours.events()
        self.assertEqual(names_of(theirs) - names_of(ours), set())
        self.check_methods(theirs, ours)
        self.check_methods(*pairs["averages list"])

    def test_timer(self):
        import torch.utils.benchmark as benchmark

        self.assertEqual(names_of(benchmark.Timer) - names_of(stepscope.Timer), set())
        ours = [each for each in parameters_of(stepscope.Timer) if each[0] not in ("timer", "language")]
        theirs = [each for each in parameters_of(benchmark.Timer) if each[0] not in ("timer", "language")]
        self.assertEqual(ours, theirs)
        self.assertEqual([name for name, *_ in parameters_of(stepscope.Timer)],
                         [name for name, *_ in parameters_of(benchmark.Timer)])
        self.check_methods(benchmark.Timer, stepscope.Timer)
        asked = dict(label="add", sub_label="1", description="d", env="e", setup="b = 2")
        theirs, ours = (kind("1 + b", **asked).timeit(9) for kind in (benchmark.Timer, stepscope.Timer))
        self.check_lacks("measurement", theirs, ours)
        for name in ("title", "as_row_name", "number_per_run", "num_threads", "stmt", "setup", "label", "sub_label", "description"):
            self.assertEqual(getattr(ours, name), getattr(theirs, name), name)
        self.assertEqual(ours.env, "e")
        plain_theirs, plain_ours = benchmark.Timer("1 + 1").timeit(9), stepscope.Timer("1 + 1").timeit(9)
        for name in ("title", "as_row_name", "label", "sub_label", "description"):
            self.assertEqual(getattr(plain_ours, name), getattr(plain_theirs, name), name)


@support.needs("torch")
class ByHand(unittest.TestCase):
    def test_by_hand_and_with_a_part_left_out(self):
        import torch
        from stepscope.torch import ProfilerActivity, profile

        prof = profile()
        self.assertIsNone(prof.get_trace_id())
        prof.toggle_collection_dynamic(False, [ProfilerActivity.CPU])  # nothing is recorded: no effect, as in torch
        prof.prepare_trace()
        prof.start_trace()
        torch.ones(2).sin()
        everything = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
        prof.toggle_collection_dynamic(False, everything)
        torch.ones(2).cos()
        prof.toggle_collection_dynamic(True, everything)
        torch.ones(2).tan()
        prof.stop_trace()
        keys = {row.key for row in prof.key_averages()}
        self.assertLessEqual({"aten::sin", "aten::tan"}, keys)
        self.assertNotIn("aten::cos", keys)
        self.assertRegex(prof.get_trace_id(), "^[0-9A-F]{32}$")

    def test_each_cycle_has_the_identifier_that_the_callback_gives(self):
        import json
        import tempfile
        from pathlib import Path

        import torch
        from stepscope.torch import profile, schedule

        numbers = iter(range(9))
        seen = []
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json"

            def ready(prof):
                prof.export_chrome_trace(str(path))
                seen.append((prof.get_trace_id(), json.loads(path.read_text())["trace_id"]))

            with profile(schedule=schedule(wait=0, warmup=1, active=1, repeat=2), on_trace_ready=ready,
                         custom_trace_id_callback=lambda: f"cycle {next(numbers)}") as prof:
                for _ in range(4):
                    torch.ones(2)
                    prof.step()
        self.assertEqual(seen, [("cycle 0", "cycle 0"), ("cycle 1", "cycle 1")])

    def test_results_go_to_other_processes(self):
        import torch
        from stepscope.torch import profile

        with profile(record_shapes=True) as prof:
            torch.ones(3, 3) @ torch.ones(3, 3)
        averages, events, trace, report = pickle.loads(
            pickle.dumps((prof.key_averages(), prof.events(), prof.trace, prof.report())))
        self.assertEqual(averages.table(top_level_events_only=True), prof.key_averages().table(top_level_events_only=True))
        self.assertEqual(events.table(), prof.events().table())
        self.assertEqual([event.name for event in events], [event.name for event in prof.events()])
        self.assertEqual(len(trace.table("ops")), len(prof.trace.table("ops")))
        self.assertEqual(str(report), str(prof.report()))
        again = pickle.loads(pickle.dumps(trace))  # what was read from a pickle is pickled
        self.assertEqual(len(again.table("ops")), len(trace.table("ops")))
