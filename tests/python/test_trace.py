"""Loading, reports and errors, without any data frame library."""

import contextlib
import gzip
import html
import io
import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import support
import stepscope


class Import(unittest.TestCase):
    def test_the_import_brings_nothing_that_a_user_may_not_have(self):
        code = (
            "import sys; import stepscope, stepscope.torch\n"
            "print([name for name in ('torch', 'numpy', 'pandas', 'ctypes') if name in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.strip(), "[]")

    def test_an_unknown_name_is_an_attribute_error(self):
        with self.assertRaisesRegex(AttributeError, "no attribute 'lode'"):
            stepscope.lode

    def test_its_parts_are_there_without_an_import_of_their_own(self):
        code = (
            "import sys, stepscope; print(stepscope.fleet.report.__name__, stepscope.memory.load.__name__, stepscope.torch.__name__)\n"
            "print('torch' in sys.modules, 'torch' in stepscope.__all__)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.split(), ["report", "load", "stepscope.torch", "False", "False"])

    def test_every_public_name_is_there(self):
        for name in stepscope.__all__:
            self.assertIsNotNone(getattr(stepscope, name), name)
        self.assertRegex(stepscope.__version__, r"^\d+\.\d+\.\d+$")

    def test_the_program_is_in_the_package(self):
        done = subprocess.run([sys.executable, "-m", "stepscope", "--version"], capture_output=True, text=True, check=True)
        self.assertIn(stepscope.__version__, done.stdout)


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.trace = stepscope.load(support.SOLID)

    def program(self, *arguments):
        from stepscope import _program

        command = [str(_program.path()), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "80"}).stdout

    def test_the_data_are_those_of_the_command(self):
        told = json.loads(self.program("report", str(support.SOLID), "--json", "--top", "5"))
        self.assertEqual(self.trace.report().data, told)

    def test_the_text_is_that_of_the_command(self):
        told = self.program("report", str(support.SOLID), "--width", "80")
        self.assertEqual(str(self.trace.report()), told)

    def test_a_report_answers(self):
        report = self.trace.report(top=0)
        self.assertIn("launches nothing", report.verdict)
        self.assertEqual(report.findings[0]["id"], "host-pause")
        self.assertEqual(report["schema_version"], 1)
        self.assertIn("verdict", list(report.keys()))
        self.assertIn("launches nothing", repr(report))

    def test_what_is_asked_changes_the_answer(self):
        self.assertNotEqual(self.trace.report(whole_file=True).data, self.trace.report().data)

    def test_a_notebook_gets_html_in_which_names_are_harmless(self):
        hostile = json.dumps({"verdict": "<script>alert(1)</script>", "findings": [{"title": "<b>"}]})
        page = stepscope.Report(hostile, lambda width, colour: "</pre><script>")._repr_html_()
        self.assertNotIn("<script>", page)
        self.assertIn("&lt;b&gt;", page)
        self.assertIn("launches nothing", self.trace._repr_html_())

    def test_ranks_are_looked_at_together(self):
        run = stepscope.load(support.RANKS)
        self.assertEqual(len(run), 2)
        self.assertEqual([trace.rank for trace in run], [0, 1])
        self.assertEqual(len(run[:1]), 1)
        report = run.report()
        self.assertIn("Rank 1", report.verdict)
        told = json.loads(self.program("report", *map(str, support.RANKS), "--json"))
        self.assertEqual(report.data["verdict"], told["verdict"])


class Errors(unittest.TestCase):
    def test_a_missing_file(self):
        with self.assertRaises(FileNotFoundError) as caught:
            stepscope.load("/nowhere/at/all.json")
        self.assertEqual(caught.exception.filename, "/nowhere/at/all.json")
        self.assertEqual(caught.exception.errno, 2)

    def test_a_list_of_nothing(self):
        with self.assertRaisesRegex(FileNotFoundError, "no file is named"):
            stepscope.load([])

    def test_a_folder(self):
        with self.assertRaisesRegex(ValueError, "directory"):
            stepscope.load(support.DATA)

    def test_a_file_that_is_no_trace_says_where(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "none.json"
            path.write_text("hello")
            with self.assertRaises(stepscope.TraceError) as caught:
                stepscope.load(path)
            self.assertEqual(caught.exception.file, str(path))
            self.assertEqual(caught.exception.offset, 0)
            self.assertIsInstance(caught.exception, ValueError)
            path.write_bytes(b"")
            with self.assertRaisesRegex(stepscope.TraceError, "empty"):
                stepscope.load(path)

    def test_damage_that_costs_events_is_counted_not_raised(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "cut.json"
            whole = gzip.decompress(support.CONV.read_bytes())
            path.write_bytes(whole[: len(whole) // 2])
            report = stepscope.load(path).report()
            self.assertEqual(report["status"], "partial")
            self.assertIn("file_cut", [note["kind"] for note in report["notes"]])

    def test_odd_file_names(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.fsdecode(os.path.join(os.fsencode(folder), b"\xff.json.gz"))
            with self.assertRaises(FileNotFoundError) as caught:
                stepscope.load(path)
            self.assertEqual(caught.exception.filename, path)
            Path(path).write_bytes(support.CONV.read_bytes())
            trace = stepscope.load(path)
            self.assertEqual(trace.info["source"], path)
            self.assertEqual(trace.report(top=0)["status"], "complete")

    def test_wrong_words_name_the_right_ones(self):
        trace = stepscope.load(support.CONV)
        with self.assertRaisesRegex(KeyError, "gpu_events"):
            trace.table("kernels")
        with self.assertRaisesRegex(ValueError, "module"):
            trace.ops("nam")
        with self.assertRaisesRegex(ValueError, "sort"):
            trace.ops_text(sort="speed")

    def test_a_width_that_the_command_refuses(self):
        trace, run = stepscope.load(support.CONV), stepscope.load(support.RANKS)
        for text in (trace.report().text, run.report().text, lambda width: trace.ops_text(width=width)):
            for wrong in (0, 10, 59, 401):
                with self.assertRaisesRegex(ValueError, f"width: a whole number from 60 to 400, not {wrong}"):
                    text(wrong)
            self.assertLessEqual(max(map(len, text(60).splitlines())), 60)

    def test_a_report_of_what_is_not_there_is_refused_in_the_words_of_the_command(self):
        from stepscope import _program

        trace, run = stepscope.load(support.SOLID), stepscope.load(support.RANKS)
        for asked, option in (({"device": 9}, "--device=9"), ({"steps": "nosuch"}, "--steps=nosuch")):
            with self.assertRaises(ValueError) as caught:
                trace.report(**asked)
            self.assertRegex(str(caught.exception), "no device 9 in the file; it has: |no span is named `nosuch`; the file has: ")
            command = [str(_program.path()), "report", str(support.SOLID), option]
            told = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(told.returncode, 2)
            self.assertIn(str(caught.exception), told.stderr)
        with self.assertRaisesRegex(ValueError, f"^{support.RANKS[0]}: no span is named `nosuch`"):
            run.report(steps="nosuch")
        self.assertEqual(trace.report(steps="ProfilerStep", device=trace.report()["devices"][0]["device"])["asked"]["steps_name"],
                         "ProfilerStep")


def report_of(path):
    return stepscope.load(path).report(top=0).verdict


class Processes(unittest.TestCase):
    def test_a_trace_is_pickled_as_its_file(self):
        trace = stepscope.load(support.CONV)
        again = pickle.loads(pickle.dumps(trace))
        self.assertEqual(again.info, trace.info)
        self.assertLess(len(pickle.dumps(trace)), 1000)

    def test_reports_and_tables_are_pickled_too(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json.gz"
            path.write_bytes(support.CONV.read_bytes())
            trace = stepscope.load(path)
            run = stepscope.load([path])
            tables = [trace.steps, trace.kernels(), trace.gaps(), trace.ops("shape"), trace.table("ops")]
            reports = [trace.report(top=2), run.report()]
            for table, again in zip(tables, pickle.loads(pickle.dumps(tables))):
                self.assertEqual([again._table.column(name) for name in again.columns],
                                 [table._table.column(name) for name in table.columns])
            texts = [(report.text(), report.text(120)) for report in reports]
            pickled = pickle.dumps(pickle.loads(pickle.dumps(reports)))  # twice: nobody asked for a text in between
            self.assertEqual([report.text(120) for report in pickle.loads(pickled)], [wide for _, wide in texts])
        again = pickle.loads(pickled)  # where the file is not: what is in it, in 80 columns
        self.assertEqual([(report.data, str(report)) for report in again],
                         [(report.data, text) for report, (text, _) in zip(reports, texts)])
        with self.assertRaises(FileNotFoundError):
            again[0].text(120)
        self.assertIn(str(again[0]).splitlines()[0], html.unescape(again[0]._repr_html_()))

    def test_a_pickle_is_of_one_file(self):
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json.gz"
            path.write_bytes(support.CONV.read_bytes())
            try:
                os.chdir(folder)
                trace = stepscope.load("trace.json.gz")
                pickled, table = pickle.dumps(trace), pickle.dumps(trace.kernels())
            finally:
                os.chdir(here)
            self.assertEqual(pickle.loads(pickled).info["event_count"], trace.info["event_count"])
            self.assertEqual(len(pickle.loads(table)), len(trace.kernels()))
            report = pickle.loads(pickle.dumps(trace.report()))
            path.write_bytes(gzip.compress(b"[]"))
            for again in (lambda: pickle.loads(pickled), lambda: pickle.loads(table), lambda: report.text(120),
                          lambda: pickle.loads(pickle.dumps(report)).text(120)):
                with self.assertRaisesRegex(ValueError, "has changed"):
                    again()
            self.assertEqual(report.text(), trace.report().text())
            self.assertIn(str(report).splitlines()[0], html.unescape(report._repr_html_()))

    def test_several_processes_and_threads(self):
        expected = report_of(support.CONV)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            self.assertEqual(pool.map(report_of, [support.CONV] * 2), [expected] * 2)
        trace = stepscope.load(support.CONV)
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(trace.report(top=0).verdict)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(answers, [expected] * 4)

    def test_others_run_while_a_file_is_read(self):
        ticks = []
        is_over = threading.Event()

        def tick():
            while not is_over.is_set():
                ticks.append(time.monotonic())
                time.sleep(0.0005)

        thread = threading.Thread(target=tick)
        thread.start()
        before = time.monotonic()
        stepscope.load(support.SOLID)
        after = time.monotonic()
        is_over.set()
        thread.join()
        self.assertTrue([at for at in ticks if before < at < after], "no other thread ran meanwhile")

    def test_ctrl_c_ends_reading(self):
        # A pipe that never ends: only the signal can end the reading.
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        self.addCleanup(os.close, writing)
        text = b'{"traceEvents":[' + b'{"ph":"X","cat":"cpu_op","name":"a","ts":1,"dur":1,"pid":1,"tid":1},' * 100_000
        is_over = threading.Event()

        def write():
            while not is_over.is_set():
                try:
                    os.write(writing, text)
                except BlockingIOError:
                    time.sleep(0.001)

        os.set_blocking(writing, False)
        writer = threading.Thread(target=write)
        writer.start()
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            with self.assertRaises(KeyboardInterrupt):
                stepscope.load(f"/dev/fd/{reading}")
        finally:
            is_over.set()
            writer.join()

    @support.needs("tqdm")
    def test_tqdms_bar_is_drawn_for_a_file_that_takes_long_and_wiped(self):
        from stepscope import _core
        from stepscope._trace import progress_bar

        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            with progress_bar(str(support.SOLID), True) as bar:
                bar._bar.start_t -= 60  # as if it had taken a minute by now: tqdm draws nothing in the first second
                bar._bar.last_print_t -= 60
                _core.read(os.fsencode(support.SOLID), 1, bar)
                size = support.SOLID.stat().st_size
                self.assertEqual((bar._bar.n, bar._bar.total), (size, size))
        self.assertIn(support.SOLID.name, err.getvalue())
        self.assertIn("B/s", err.getvalue())
        self.assertEqual(err.getvalue().rsplit("\r", 2)[-1].strip(), "")

    def test_no_bar_where_the_file_is_short_or_none_is_wanted(self):
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            stepscope.load(support.SOLID)
            stepscope.load(support.SOLID, progress=False)
        self.assertEqual(err.getvalue(), "")

    def test_an_exception_of_the_progress_ends_reading(self):
        def progress(bytes_read, bytes_total):
            raise RuntimeError("enough")

        from stepscope import _core

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "long.json"
            event = b'{"ph":"X","cat":"cpu_op","name":"a","ts":1,"dur":1,"pid":1,"tid":1},\n'
            path.write_bytes(b'{"traceEvents":[' + event * 200_000 + event[:-2] + b"]}")
            with self.assertRaisesRegex(RuntimeError, "enough"):
                _core.read(os.fsencode(path), 0, progress)


if __name__ == "__main__":
    support.main()
