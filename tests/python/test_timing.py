"""Timer, steps, mfu and memory: what they give, what they refuse, and that they work without torch."""

import io
import itertools
import pickle
import subprocess
import sys
import time
import unittest
import unittest.mock
import warnings

import support
import stepscope
from stepscope import Timer, compare, mfu, peak_flops, peak_memory_per_step, profile_steps, steps, time_steps


class Time(unittest.TestCase):
    def test_each_method_gives_a_measurement(self):
        timer = Timer("total = sum(values)", setup="values = list(range(50))", label="sum", sub_label="50")
        for measured in (
            timer.timeit(20),
            timer.blocked_autorange(min_run_time=0.01),
            timer.adaptive_autorange(max_run_time=0.2),
        ):
            self.assertGreater(measured.median, 0)
            self.assertAlmostEqual(measured.times[0], measured.raw_times[0] / measured.number_per_run)
            self.assertIn("sum: 50", str(measured))
        self.assertEqual(timer.timeit(7).number_per_run, 7)

    def test_the_statement_runs_as_often_as_asked_after_the_warm_up(self):
        calls = []
        Timer(lambda: calls.append(1)).timeit(300)
        self.assertEqual(len(calls), 303)

    def test_a_clock_of_the_users(self):
        now = [0.0]

        def spend():
            now[0] += 0.25

        measured = Timer(spend, timer=lambda: now[0]).timeit(8)
        self.assertEqual(measured.raw_times, [2.0])
        self.assertEqual(measured.median, 0.25)
        with self.assertRaises(ZeroDivisionError):
            Timer("pass", timer=lambda: 1 / 0).timeit(1)

    def test_what_there_is_not_is_said(self):
        with self.assertRaisesRegex(ValueError, "language"):
            Timer("x", language="c++")
        for method in ("repeat", "autorange", "collect_callgrind"):
            with self.assertRaises(NotImplementedError):
                getattr(Timer("pass"), method)()

    def test_measurements_are_pickled(self):
        loop = steps(range(9), warmup=2, file=False)
        for _ in loop:
            pass
        measured = [Timer("pass", label="l", sub_label="s").timeit(5), loop.times]
        again = pickle.loads(pickle.dumps(measured))
        self.assertEqual(list(map(str, again)), list(map(str, measured)))
        self.assertEqual((again[0].raw_times, again[0].label), (measured[0].raw_times, "l"))
        self.assertEqual((again[1].steps, again[1].warmup, again[1].data), (loop.times.steps, loop.times.warmup, loop.times.data))

    def test_impossible_step_times_are_refused(self):
        sound = {"clock": "host", "waited": True, "warmup": [1], "steps": [10, 20, 90], "data": [1, 1, 1],
                 "outliers": [(3, 90)], "typical": 20, "warnings": []}

        def made_of(**changed):
            times = stepscope.StepTimes.__new__(stepscope.StepTimes)
            times.__setstate__(tuple({**sound, **changed}.values()))
            return times

        self.assertEqual(made_of().outliers[0][0], 3)
        for changed in ({"steps": []}, {"steps": [-10, 20, 90]}, {"warmup": [-1]}, {"data": [1]}, {"data": [1, -1, 1]},
                        {"typical": -4}, {"outliers": [(0, 5)]}, {"outliers": [(4, 5)]}, {"outliers": [(-2**63, 5)]},
                        {"outliers": [(2, -5)]}):
            with self.assertRaises(ValueError, msg=str(changed)):
                made_of(**changed)

    def test_names_come_from_globals_and_setup(self):
        seen = []
        Timer("seen.append(a + b)", setup="b = 2", globals={"seen": seen, "a": 1}).timeit(1)
        self.assertEqual(set(seen), {3})

    def test_several_lines_and_indentation(self):
        Timer("""
            for i in range(2):
                x = i
        """).timeit(1)

    def test_mistakes_show_their_own_line(self):
        with self.assertRaisesRegex(SyntaxError, "<stmt>"):
            Timer("1 +")
        with self.assertRaisesRegex(SyntaxError, "<setup>"):
            Timer("pass", setup="def")
        with self.assertRaises(ZeroDivisionError):
            Timer("1 / 0").timeit(1)
        with self.assertRaises(ValueError):
            Timer("pass", num_threads=0)
        with self.assertRaises(ValueError):
            Timer("pass").timeit(0)

    def test_a_callback_is_told_of_each_block(self):
        told = []
        measured = Timer("pass").blocked_autorange(lambda number, seconds: told.append((number, seconds)), 0.01)
        self.assertEqual(len(told), len(measured.raw_times))
        with self.assertRaises(KeyError):
            Timer("pass").blocked_autorange(lambda number, seconds: {}["no"], 0.01)

    @support.needs("torch")
    def test_threads_are_set_and_set_back(self):
        import torch

        before = torch.get_num_threads()
        seen = set()
        Timer(lambda: seen.add(torch.get_num_threads()), num_threads=2).timeit(1)
        self.assertEqual(seen, {2})
        self.assertEqual(torch.get_num_threads(), before)

    def test_a_table_of_several(self):
        measured = [Timer("pass", label="l", sub_label=row, description=column).timeit(10)
                    for row in ("a", "b") for column in ("x", "y")]
        table = compare(measured)
        for word in ("a", "b", "x", "y"):
            self.assertIn(word, table)
        self.assertLessEqual(max(map(len, table.splitlines())), 80)


class Steps(unittest.TestCase):
    def test_data_and_step_are_told_apart(self):
        def slow():
            for i in range(6):
                time.sleep(0.02)
                yield i

        out = io.StringIO()
        loop = steps(slow(), warmup=1, file=out)
        seen = []
        for batch in loop:
            seen.append(batch)
            time.sleep(0.002)
        self.assertEqual(seen, list(range(6)))
        self.assertEqual(len(loop.times.steps), 5)
        self.assertGreater(loop.times.data_median, loop.times.median)
        self.assertIn("waits for data", out.getvalue())

    def test_a_quick_loader_is_no_complaint(self):
        out = io.StringIO()
        for _ in steps(range(6), file=out):
            time.sleep(0.002)
        self.assertIn("ready in time", out.getvalue())

    def test_break_keeps_what_was_whole(self):
        loop = steps(range(100), warmup=1, file=False)
        for i in loop:
            if i == 5:
                break
        self.assertEqual(len(loop.times.steps), 4)

    def test_an_exception_passes_and_prints_nothing(self):
        out = io.StringIO()
        with self.assertRaises(ZeroDivisionError):
            for i in steps(range(9), file=out):
                1 / (3 - i)

        def failing():
            yield 1
            raise OSError("disk")

        with self.assertRaisesRegex(OSError, "disk"):
            for _ in steps(failing(), file=out):
                pass
        self.assertEqual(out.getvalue(), "")

    def test_too_few_steps_say_nothing(self):
        out = io.StringIO()
        loop = steps(range(2), file=out)
        self.assertEqual(list(loop), [0, 1])
        self.assertIsNone(loop.times)
        self.assertEqual(loop.summary(), "")
        self.assertEqual(len(steps([1, 2, 3])), 3)

    def test_time_steps(self):
        times = time_steps(lambda batch: time.sleep(0.001), range(10), steps=4, warmup=2)
        self.assertEqual(len(times.steps), 4)
        self.assertGreater(times.median, 0.001)
        self.assertLessEqual(times.p10, times.p90)
        two = time_steps(time.sleep, [0.0, 0.002, 0.0001], warmup=1)  # the longer of two is their median
        self.assertLessEqual(two.p10, two.median)
        self.assertLessEqual(two.median, two.p90)
        with self.assertRaises(ValueError):
            time_steps(lambda batch: None, range(2))
        with self.assertRaises(ZeroDivisionError):
            time_steps(lambda batch: 1 / 0, range(9))

    @support.needs("torch")
    def test_profile_steps(self):
        import torch

        prof = profile_steps(lambda x: (x @ x).sum(), [torch.ones(8, 8)] * 20)
        self.assertEqual(prof.key_averages().total_average().count > 0, True)
        self.assertEqual({row.key: row.count for row in prof.key_averages()}["ProfilerStep*"], 3)
        with self.assertRaisesRegex(ValueError, "6 batches"):
            profile_steps(lambda x: None, [1, 2])


class Efficiency(unittest.TestCase):
    def test_the_example_of_the_definition(self):
        self.assertAlmostEqual(mfu(7e9, 0, 0, 0, 2e6, 9, 64, 989e12), 0.1475, places=4)
        self.assertGreater(stepscope.hfu(7e9, 0, 0, 0, 2e6, 9, 64, 989e12, 1e15), mfu(7e9, 0, 0, 0, 2e6, 9, 64, 989e12))

    def test_impossible_values_are_errors(self):
        with self.assertRaises(ValueError):
            mfu(7e9, 0, 0, 0, 2e9, 9, 64, 989e12)
        with self.assertRaises(ValueError):
            mfu(7e9, 0, 0, 0, 2e6, 0, 64, 989e12)

    def test_peaks_by_name(self):
        self.assertEqual(peak_flops("NVIDIA H200"), 989e12)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertIsNone(peak_flops("qqqq"))

    def test_a_name_that_is_nearly_right_is_told_what_may_be_meant(self):
        with self.assertWarnsRegex(UserWarning, "near: .*NVIDIA H100"):
            self.assertIsNone(peak_flops("h100"))
        with self.assertWarnsRegex(UserWarning, "NVIDIA H200 for 'int4'; there are: .*bf16"):
            self.assertIsNone(peak_flops("NVIDIA H200", "int4"))

    def test_memory_is_unknown_without_a_gpu_never_0(self):
        try:
            import torch

            if torch.cuda.is_available():
                self.skipTest("there is a GPU")
        except ImportError:
            pass
        self.assertIsNone(stepscope.memory_allocated())
        self.assertIsNone(stepscope.max_memory_reserved())
        self.assertTrue(stepscope.memory_summary())
        peaks = peak_memory_per_step(lambda batch: None, range(3))
        self.assertEqual([peak.step for peak in peaks], [0, 1, 2])
        self.assertIsNone(peaks[0].allocated_peak_bytes)
        with self.assertRaisesRegex(RuntimeError, "CUDA"):
            peak_memory_per_step(lambda batch: None, range(3), snapshot="/tmp/x.pickle")

    def test_a_step_that_fails_leaves_no_history_on(self):
        cuda = unittest.mock.MagicMock()  # torch.cuda, with a peak that grows
        cuda.max_memory_allocated.side_effect = itertools.count(1000)
        history = cuda.memory._record_memory_history
        with unittest.mock.patch("stepscope._efficiency._torch_cuda", return_value=cuda):
            peaks = peak_memory_per_step(lambda batch: None, range(2), snapshot="x.pickle")
            self.assertEqual([peak.allocated_peak_bytes for peak in peaks], [1000, 1001])
            self.assertEqual(cuda.memory._dump_snapshot.call_count, 2)
            with self.assertRaises(ZeroDivisionError):
                peak_memory_per_step(lambda batch: 1 / 0, range(2), snapshot="x.pickle")
        self.assertEqual([call.kwargs for call in history.call_args_list], [{"max_entries": 200_000}, {"enabled": None}] * 3)

    def test_nothing_of_it_imports_torch(self):
        code = (
            "import sys, stepscope\nstepscope.Timer('pass').timeit(1)\nlist(stepscope.steps(range(5), file=False))\n"
            "stepscope.memory_allocated()\nassert 'torch' not in sys.modules"
        )
        subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
    support.main()
