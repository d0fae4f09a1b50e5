"""The same script under torch.profiler and under stepscope.torch: schedule, files, counts, shapes, FLOPs, table."""

import contextlib
import gzip
import importlib
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import time
import threading
import unittest
import unittest.mock
import warnings
from pathlib import Path

import support
import stepscope
from torch_interface import ByHand, Interface  # noqa: F401: their tests run here
from stepscope.torch import ProfilerAction, schedule

N, W, R, S = ProfilerAction.NONE, ProfilerAction.WARMUP, ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE


def script(home, steps, folder, **asked):
    """A user's script; `home` is the one import line that changes."""
    import torch

    profiler = importlib.import_module(home)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(7200, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ready = []
    write = profiler.tensorboard_trace_handler(folder, worker_name="w", use_gzip=True)

    def handler(prof):
        ready.append((prof.step_num, prof.current_action.name))
        write(prof)

    with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU],
        schedule=profiler.schedule(wait=1, warmup=1, active=2, repeat=2),
        on_trace_ready=handler,
        record_shapes=True,
        with_flops=True,
        **asked,
    ) as prof:
        for _ in range(steps):
            with profiler.record_function("forward"):
                loss = model(torch.randn(4, 3, 32, 32)).sum()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            prof.step()
    return prof, ready


@contextlib.contextmanager
def no_folder_left(test):
    """A place for temporary files that other processes do not use; it is empty at the end."""
    with tempfile.TemporaryDirectory() as folder, unittest.mock.patch("tempfile.tempdir", folder):
        yield
        test.assertEqual(os.listdir(folder), [])


@support.needs("torch")
class SameScript(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folders = [tempfile.TemporaryDirectory() for _ in range(2)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cls.theirs, cls.their_ready = script("torch.profiler", 9, cls.folders[0].name)
        cls.ours, cls.our_ready = script("stepscope.torch", 9, cls.folders[1].name)

    @classmethod
    def tearDownClass(cls):
        for folder in cls.folders:
            folder.cleanup()

    def rows(self, **grouping):
        return self.theirs.key_averages(**grouping), self.ours.key_averages(**grouping)

    def test_traces_are_ready_at_the_same_steps(self):
        self.assertEqual(self.our_ready, self.their_ready)

    def test_files_have_the_same_names(self):
        shapes = [sorted(re.sub(r"\d+", "N", name) for name in os.listdir(folder.name)) for folder in self.folders]
        self.assertEqual(shapes[0], shapes[1])

    def test_rows_have_the_same_counts_and_flops(self):
        theirs, ours = self.rows()
        self.assertEqual({row.key: (row.count, row.flops) for row in ours},
                         {row.key: (row.count, row.flops) for row in theirs})

    def test_rows_by_shape_too(self):
        theirs, ours = self.rows(group_by_input_shape=True)
        self.assertEqual(sorted((row.key, str(row.input_shapes), row.count) for row in ours),
                         sorted((row.key, str(row.input_shapes), row.count) for row in theirs))
        self.assertEqual({type(row.input_shapes) for row in ours}, {type(row.input_shapes) for row in theirs})

    def test_times_hold_together(self):
        ours = {row.key: row for row in self.ours.key_averages()}
        step = ours["ProfilerStep*"]
        self.assertEqual(step.count, 2)
        self.assertLessEqual(ours["forward"].cpu_time_total, step.cpu_time_total)
        self.assertAlmostEqual(step.cpu_time, step.cpu_time_total / 2)
        for row in ours.values():
            self.assertLessEqual(row.self_cpu_time_total, row.cpu_time_total + 0.001, row.key)

    def test_the_table_has_the_same_head_and_foot(self):
        theirs, ours = (averages.table(sort_by="cpu_time_total", row_limit=5).splitlines() for averages in self.rows())
        # The same columns of the same widths; the rows' order depends on times.
        self.assertEqual(ours[:3], theirs[:3])
        self.assertEqual(ours[8], theirs[8])
        self.assertRegex(ours[9], r"^Self CPU time total: \d+\.\d{3}(us|ms|s)$")
        self.assertEqual(len(ours), len(theirs))

    def test_events_are_the_same(self):
        from collections import Counter

        def told(event):
            parent = None if event.cpu_parent is None else event.cpu_parent.name
            is_engine = event.name.startswith("autograd::engine")  # whose sequence numbers a capture does not have
            joins = event.sequence_nr >= 0
            return (event.name, event.trace_name, parent, tuple(child.name for child in event.cpu_children), event.device_type,
                    str(event.input_shapes), str(event.structured_input_shapes), tuple(event.input_dtypes), event.flops,
                    event.is_user_annotation, event.is_async, event.use_device, event.count, event.kernels,
                    is_engine or (joins, joins and bool(event.fwd_thread)))

        theirs, ours = self.theirs.events(), self.ours.events()
        self.maxDiff = 2000
        self.assertEqual([told(event) for event in ours], [told(event) for event in theirs])
        # Numbers that were computed may be written in another way ("1." as 1).
        self.assertEqual(Counter(event.name for event in ours if event.concrete_inputs),
                         Counter(event.name for event in theirs if event.concrete_inputs))

    def test_events_add_up_to_the_averages(self):
        events, averages = self.ours.events(), self.ours.key_averages()
        for name in ("self_cpu_time_total", "cpu_time_total", "flops", "count"):
            whole = {}
            for event in events:
                whole[event.key] = whole.get(event.key, 0) + getattr(event, name)
            for row in averages:
                self.assertAlmostEqual(whole[row.key], getattr(row, name), 3, (name, row.key))
        self.assertAlmostEqual(events.self_cpu_time_total, averages.self_cpu_time_total, 3)
        self.assertEqual(events[0].time_range.start, 0)

    def test_the_table_of_events_and_of_top_level_ones(self):
        theirs, ours = (averages.table(top_level_events_only=True).splitlines() for averages in self.rows())
        self.assertEqual(ours[:5], theirs[:5])  # a banner, the head
        self.assertEqual([row.split()[0] for row in ours[5:-2]], [row.split()[0] for row in theirs[5:-2]])
        theirs, ours = (prof.events().table(row_limit=4).splitlines() for prof in (self.theirs, self.ours))
        self.assertEqual(ours[:3], theirs[:3])
        self.assertEqual([row.split()[0] for row in ours[3:-2]], [row.split()[0] for row in theirs[3:-2]])

    def test_the_trace_written_is_one_that_can_be_read(self):
        path = sorted(Path(self.folders[1].name).iterdir())[-1]
        trace = stepscope.load(path)
        self.assertEqual(trace.report(top=0)["steps"]["count"], 2)
        names = set(trace.table("ops")._table.column("name"))
        self.assertIn("aten::convolution_backward", names)
        with tempfile.TemporaryDirectory() as folder:
            again = Path(folder) / "t.json"
            self.ours.export_chrome_trace(again)
            self.assertIn("traceEvents", json.loads(again.read_text()))

    def test_a_report_says_where_the_step_went(self):
        self.assertIn("step", self.ours.report().text())

    def test_nothing_names_the_file_of_the_capture_which_is_gone(self):
        for trace in (self.ours.trace, pickle.loads(pickle.dumps(self.ours.trace))):
            self.assertEqual(trace.info["source"], "this process")
            self.assertEqual(trace.report()["source"]["path"], "this process")
            for text in (trace.report().text(200), repr(trace)):
                self.assertIn("this process", text)
                self.assertNotIn(tempfile.gettempdir(), text)
                self.assertNotIn("stepscope report this", text)


def in_operators(event):
    """What ran in the event, calls of Python opened: the operators and labels that they made."""
    for child in event.cpu_children:
        if child.is_python_function:
            yield from in_operators(child)
        else:
            yield child.name


@support.needs("torch")
class SameScriptWithStacks(unittest.TestCase):
    """with_stack: torch lists each call of a Python function between the operators; all else is the same (the page)."""

    @classmethod
    def setUpClass(cls):
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
            warnings.simplefilter("ignore")
            cls.theirs, _ = script("torch.profiler", 4, folder, with_stack=True)
            cls.ours, _ = script("stepscope.torch", 4, folder, with_stack=True)

    def test_events_but_calls_of_python_are_the_same(self):
        def told(event):
            parent = event.cpu_parent
            while parent is not None and parent.is_python_function:
                parent = parent.cpu_parent
            return (event.name, None if parent is None else parent.name, list(in_operators(event)), str(event.input_shapes),
                    event.input_dtypes, event.flops, event.is_user_annotation, event.is_async, event.count)

        theirs, ours = self.theirs.events(), self.ours.events()
        self.assertTrue(any(event.name == "nn.Module: Linear_0" and event.is_python_function for event in theirs))
        self.assertFalse(any(event.is_python_function for event in ours))
        self.assertEqual([told(event) for event in ours], [told(event) for event in theirs if not event.is_python_function])

    def test_rows_but_those_of_python_are_the_same(self):
        python = {event.key for event in self.theirs.events() if event.is_python_function}
        self.assertEqual({row.key: (row.count, row.flops) for row in self.ours.key_averages()},
                         {row.key: (row.count, row.flops) for row in self.theirs.key_averages() if row.key not in python})

    def test_frames_are_a_table_and_name_the_function_of_a_module(self):
        names = self.ours.trace.table("frames")._table.column("name")
        self.assertTrue([name for name in names if name.endswith(": Linear.forward")], names[:20])


@support.needs("torch")
class Cycle(unittest.TestCase):
    def test_without_a_schedule_everything_is_recorded(self):
        import torch
        from stepscope.torch import profile

        with profile() as prof:
            torch.ones(3) + 1
        self.assertIn("aten::add", [row.key for row in prof.key_averages()])
        self.assertNotIn("ProfilerStep*", [row.key for row in prof.key_averages()])
        with prof:  # once more
            torch.ones(3).cos()
        keys = [row.key for row in prof.key_averages()]
        self.assertIn("aten::cos", keys)
        self.assertNotIn("aten::add", keys)

    def test_stacks_name_the_script(self):
        import torch
        from stepscope.torch import profile

        def busy():
            return torch.randn(200, 200) @ torch.randn(200, 200)

        end = time.monotonic() + 1.0  # the sampler of a loaded machine sees little of 20 ms
        with profile(with_stack=True) as prof:
            while time.monotonic() < end:
                busy()
        stacks = [frame for row in prof.key_averages(group_by_stack_n=5) for frame in row.stack]
        self.assertTrue([frame for frame in stacks if "busy" in frame], stacks[:5])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "folded"
            prof.export_stacks(str(path), "self_cpu_time_total")
            self.assertRegex(path.read_text(), r"(?m)^\S+ \d+$")

    def test_results_before_the_end_are_an_error(self):
        from stepscope.torch import profile

        prof = profile()
        with self.assertRaisesRegex(AssertionError, "stopped"):
            prof.key_averages()

    def test_two_at_once_are_refused_in_words(self):
        from stepscope._agent import CaptureError
        from stepscope.torch import profile

        with profile():
            with self.assertRaisesRegex(CaptureError, "already"):
                profile().start()
        with profile():
            pass

    def test_an_exception_of_the_program_passes_and_the_next_profile_works(self):
        import torch
        from stepscope.torch import profile

        with self.assertRaises(ZeroDivisionError):
            with profile():
                1 / 0
        with profile() as prof:
            torch.ones(2).sin()
        self.assertIn("aten::sin", [row.key for row in prof.key_averages()])

    def test_a_profile_that_is_dropped_ends_its_capture(self):
        from stepscope.torch import profile

        with no_folder_left(self):
            prof = profile()
            prof.start()
            del prof
            with profile():
                pass

    def test_a_loop_that_ends_in_a_warm_up_step_keeps_the_last_cycle(self):
        import torch
        from stepscope.torch import profile

        with profile(schedule=schedule(wait=1, warmup=1, active=2)) as prof:
            for step in range(5):
                torch.ones(2).sin()
                if step == 3:
                    prof.add_metadata("note", "kept")
                prof.step()
        self.assertEqual({row.key: row.count for row in prof.key_averages()}["aten::sin"], 2)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json"
            prof.export_chrome_trace(str(path))
            self.assertEqual(json.loads(path.read_text())["note"], "kept")

    def test_nothing_is_left_behind(self):
        import torch
        from stepscope.torch import profile

        with no_folder_left(self):
            with profile() as prof:
                torch.ones(2).sin()
            prof.key_averages()

    def test_under_stepscope_run_it_says_who_has_the_capture(self):
        code = (
            "import torch\nfrom stepscope.torch import profile\n"
            "try:\n    profile().start()\nexcept RuntimeError as error:\n    print(error)\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "stepscope", "run", "--no-report", "--out", folder, "--", sys.executable, "-c", code]
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertIn("captured by stepscope run", done.stdout, done.stderr)


class Schedule(unittest.TestCase):
    def actions(self, count, **arguments):
        chosen = schedule(**arguments)
        return [chosen(step) for step in range(count)]

    def test_the_examples_of_the_definition(self):
        self.assertEqual(self.actions(6, wait=1, warmup=1, active=2, repeat=1), [N, W, R, S, N, N])
        self.assertEqual(self.actions(12, skip_first=2, wait=1, warmup=1, active=2, repeat=2),
                         [N, N, N, W, R, S, N, W, R, S, N, N])

    def test_wrong_arguments_are_named(self):
        for wrong in ({"active": 0}, {"wait": -1}, {"repeat": -1}, {"skip_first": -1}):
            arguments = {"wait": 1, "warmup": 1, "active": 1, **wrong}
            with self.assertRaisesRegex(AssertionError, next(iter(wrong))):
                schedule(**arguments)
        with self.assertWarnsRegex(UserWarning, "warmup"):
            schedule(wait=0, warmup=0, active=1)

    @support.needs("torch")
    def test_wrong_schedules_warn_in_torchs_words(self):
        from stepscope.torch import ProfilerAction as Action, ProfilerActivity, profile

        for first, then in ((Action.RECORD, Action.NONE), (Action.WARMUP, Action.NONE), (Action.RECORD, Action.WARMUP)):
            states = [first, then, Action.NONE]
            with self.assertWarnsRegex(UserWarning, f"^Incorrect schedule: {first.name} followed by {then.name}$"):
                with profile(activities=[ProfilerActivity.CPU], schedule=lambda step: states[min(step, 2)]) as prof:
                    prof.step()

    @support.needs("torch")
    def test_nothing_recorded_is_an_empty_table(self):
        from stepscope.torch import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CPU]) as prof:
            pass
        self.assertEqual(prof.key_averages().table(), "")

    @support.needs("torch")
    def test_nothing_recorded_has_no_events(self):
        from stepscope.torch import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CPU]) as prof:
            pass
        events = prof.events()
        self.assertEqual(list(events), [])
        self.assertEqual(events.table(), "")
        self.assertEqual(list(events.key_averages()), [])
        self.assertEqual(events.total_average().count, 0)
        self.assertEqual(events.self_cpu_time_total, 0)
        with self.assertRaisesRegex(AssertionError, "Nothing was recorded"):
            events.export_chrome_trace("never.json")

    @support.needs("torch")
    def test_every_schedule_is_torchs(self):
        import torch.profiler

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for wait in (0, 1, 3):
                for warmup in (0, 2):
                    for active in (1, 2):
                        for repeat in (0, 1, 3):
                            for skip_first, skip_first_wait in ((0, 0), (2, 0), (1, 1)):
                                arguments = dict(wait=wait, warmup=warmup, active=active, repeat=repeat,
                                                 skip_first=skip_first, skip_first_wait=skip_first_wait)
                                theirs = torch.profiler.schedule(**arguments)
                                self.assertEqual([action.name for action in self.actions(25, **arguments)],
                                                 [theirs(step).name for step in range(25)], arguments)


def training(home, **asked):
    """Two recorded steps of a small training; the memory of each is the same in every run."""
    import torch

    profiler = importlib.import_module(home)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8))
    optimizer = torch.optim.Adam(model.parameters())
    with profiler.profile(schedule=profiler.schedule(wait=1, warmup=1, active=2, repeat=1), profile_memory=True, **asked) as prof:
        for _ in range(4):
            optimizer.zero_grad()
            model(torch.randn(32, 64)).sum().backward()
            optimizer.step()
            prof.step()
    return prof


def tell_memory(home, **asked):
    """Bytes of each operator and the timeline's creations and destructions, as JSON on standard output."""
    warnings.simplefilter("ignore")
    prof = training(home, **asked)
    told = {row.key: (row.cpu_memory_usage, row.self_cpu_memory_usage) for row in prof.key_averages() if row.cpu_memory_usage or row.self_cpu_memory_usage}
    timeline = []
    if asked:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "memory.raw.json.gz")
            prof.export_memory_timeline(path, device="cpu")
            with gzip.open(path, "rt") as file:
                timeline = sorted((action, size) for _, action, size, _ in json.load(file) if action in (2, 4))
    print(json.dumps([told, timeline]))


def memory_in_a_fresh_process(home, **asked):
    """PyTorch's allocator remembers sizes of an earlier window whose blocks were freed since, and takes them for new ones."""
    code = f"import test_torch_profile; test_torch_profile.tell_memory({home!r}, **{asked!r})"
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, cwd=Path(__file__).parent)
    return json.loads(done.stdout.splitlines()[-1])


@support.needs("torch")
class Memory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ours = training("stepscope.torch", record_shapes=True)

    def test_every_operator_has_the_bytes_that_torch_says(self):
        theirs, _ = memory_in_a_fresh_process("torch.profiler")
        ours, _ = memory_in_a_fresh_process("stepscope.torch")
        self.assertGreater(len(theirs), 20)
        self.assertEqual(ours, theirs)
        self.assertIn("CPU Mem", self.ours.key_averages().table())

    def test_the_timeline_has_the_allocations_of_torchs(self):
        asked = {"record_shapes": True, "with_stack": True}
        _, theirs = memory_in_a_fresh_process("torch.profiler", **asked)
        _, ours = memory_in_a_fresh_process("stepscope.torch", **asked)
        self.assertGreater(len(theirs), 100)
        self.assertEqual(ours, theirs)

    def test_timelines_by_the_ending_of_the_name(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("m.json", "m.json.gz", "m.html")]
            for path in paths:
                self.ours.export_memory_timeline(path)  # no CUDA here: the CPU
            times, levels = json.loads(Path(paths[0]).read_text())
            self.assertEqual(len(times), len(levels))
            self.assertEqual({len(level) for level in levels}, {9})
            self.assertEqual(json.loads(gzip.decompress(Path(paths[1]).read_bytes())), [times, levels])
            self.assertIn("m.html, CPU", Path(paths[2]).read_text())
        for wrong in ("mps", "cuda:x", "cuda:0"):
            with self.assertRaises(ValueError):
                self.ours.export_memory_timeline("unused.json", device=wrong)

    def test_without_profile_memory_there_is_none(self):
        import torch
        from stepscope.torch import profile

        with profile() as prof:
            torch.randn(1000).sum()
        self.assertEqual(len(prof.trace.table("memory_events")), 0)
        with self.assertRaises(ValueError):
            prof.export_memory_timeline("unused.json")

    def test_all_threads_are_heard_and_only_in_the_window(self):
        import torch
        from stepscope.torch import profile

        def allocate():
            return torch.empty(12345, dtype=torch.uint8)

        before = allocate()
        with profile(profile_memory=True) as prof:
            thread = threading.Thread(target=lambda: allocate())
            thread.start()
            thread.join()
            del before  # of a size that nobody was asked to keep
        after = allocate()
        del after
        events = prof.trace.table("memory_events")._table
        self.assertEqual(sorted(size for size in events.column("bytes") if abs(size) == 12345), [-12345, 12345])
        self.assertEqual(set(events.column("device_type")), {0})

    def test_torchs_own_profiler_beside_ours_still_hears_all(self):
        import torch
        from stepscope.torch import profile

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with profile(profile_memory=True) as ours, torch.profiler.profile(profile_memory=True) as theirs:
                torch.randn(1000).sum()
        for prof in (ours, theirs):
            randn = {row.key: row for row in prof.key_averages()}["aten::randn"]
            self.assertEqual(randn.cpu_memory_usage, 4000)


@support.needs("torch")
class Metadata(unittest.TestCase):
    def test_keys_of_the_user_are_in_the_file_of_their_cycle(self):
        import torch
        from stepscope.torch import profile, schedule

        files = []
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        folder = place.name

        def ready(prof):
            files.append(os.path.join(folder, f"{len(files)}.json"))
            prof.export_chrome_trace(files[-1])

        with profile(schedule=schedule(wait=0, warmup=1, active=1, repeat=2), on_trace_ready=ready) as prof:
            prof.preset_metadata_json("run", '{"lr": 0.1}')
            for step in range(4):
                if step == 1:
                    prof.add_metadata("note", 'a "quoted" </script> word')
                    prof.add_metadata_json("distributedInfo", '{"rank": 3, "world_size": 8}')
                torch.randn(10)
                prof.step()
        first, second = (json.loads(Path(file).read_text()) for file in files)
        self.assertEqual(first["run"], {"lr": 0.1})
        self.assertEqual(first["note"], 'a "quoted" </script> word')
        self.assertEqual(stepscope.load(files[0]).rank, 3)
        self.assertEqual(second["run"], {"lr": 0.1})
        self.assertNotIn("note", second)
        for wrong in ("{", "NaN", ""):
            with self.assertRaises(ValueError):
                prof.add_metadata_json("key", wrong)
        prof.add_metadata_json("traceEvents", "[]")
        with self.assertRaises(ValueError):
            prof.export_chrome_trace(os.path.join(folder, "broken.json"))
        self.assertFalse(os.path.exists(os.path.join(folder, "broken.json")))


class GoldenTable(unittest.TestCase):
    """torch's own tables of two recorded runs, cell by cell."""

    def test_cells(self):
        from stepscope.torch._averages import averages_of

        for name in ("conv", "enc"):
            trace = stepscope.load(support.DATA / "golden" / f"{name}.pt.trace.json.gz")
            document = json.loads(trace._recording.ops_text("name", 1, "", None, 80, True))
            averages = averages_of(document, device="cuda", profile_memory=True, with_flops=True)
            ours = averages.table(sort_by="self_cuda_time_total", row_limit=25).splitlines()
            theirs = (support.DATA / "golden" / f"{name}.table.txt").read_text().splitlines()[: len(ours) - 1]
            cells = different = 0
            for mine, wanted in zip(ours, theirs):
                self.assertEqual(len(mine), len(wanted))
                for a, b in zip(re.split(r"\s{2,}", mine.strip()), re.split(r"\s{2,}", wanted.strip())):
                    cells += 1
                    if a == b:
                        continue
                    # torch adds up floats: a mean that ends in a 5 may be rounded the other way.
                    different += 1
                    self.assertAlmostEqual(float(re.sub(r"[a-z%]+$", "", a)), float(re.sub(r"[a-z%]+$", "", b)), delta=0.00101)
            self.assertGreater(cells, 350)
            self.assertLessEqual(different, 2)


if __name__ == "__main__":
    support.main()
