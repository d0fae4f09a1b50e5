"""All ranks of a run together on one machine: which files, how they are streamed, the pool, the report."""

import gzip
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
import unittest
from pathlib import Path

import fleet_support
import support
import stepscope
from stepscope import _core, fleet
from stepscope.fleet import _files, _machine, _pool, _progress, _stream, _task


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def ranks(self, count, into=""):
        """Copies of the recorded ranks, as so many files."""
        where = self.folder / into
        where.mkdir(exist_ok=True)
        for number in range(count):
            shutil.copy(support.RANKS[number % 2], where / f"run_{number}.pt.trace.json.gz")
        return where


class Files(Folder):
    def names(self, what):
        return [os.path.relpath(source.name, self.folder) for source in _files.expand(what)]

    def test_a_folder_means_its_traces_and_captures(self):
        for name in ("b.json", "a.json.gz", "c.stepscope", "d.sss", "log.txt", ".hidden.json", "deep/e.json"):
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("")
        (self.folder / "settings.json").write_text('{"world": 8}')
        (self.folder / "settings.json.gz").write_bytes(gzip.compress(b'{"world": 8}'))
        self.assertEqual(self.names(self.folder), ["a.json.gz", "b.json", "c.stepscope"])
        self.assertEqual(self.names(str(self.folder / "[bd]*.json")), ["b.json"])
        self.assertEqual(self.names(str(self.folder / "**/[be].json")), ["b.json", "deep/e.json"])
        # A file that is named is taken whatever it is called.
        self.assertEqual(self.names([self.folder / "log.txt", f"file://{self.folder}/b.json"]), ["b.json", "log.txt"])
        # Where there is no trace, summaries.
        (self.folder / "deep" / "e.json").unlink()
        for name in ("d.sss", "f.sss", "notes.txt"):
            (self.folder / "deep" / name).write_text("")
        self.assertEqual(self.names(self.folder / "deep"), ["deep/d.sss", "deep/f.sss"])

    def test_a_list(self):
        (self.folder / "a.json").write_text("")
        (self.folder / "list.txt").write_text("# the run\na.json\n\n  b c.json \r\n")
        self.assertEqual(self.names(f"@{self.folder}/list.txt"), ["  b c.json", "a.json"])
        with self.assertRaises(FileNotFoundError):
            fleet.report(f"@{self.folder}/none.txt")

    def test_a_file_that_is_named_twice_is_read_once(self):
        (self.folder / "a.json").write_text("")
        self.assertEqual(self.names([self.folder / "a.json", self.folder, str(self.folder / "*")]), ["a.json"])

    def test_odd_names(self):
        for name in ("[1].json", "a b\n.json", "ü.json", "*.json", "-o.json", os.fsdecode(b"\xff.json")):
            (self.folder / name).write_text("")
        self.assertEqual(len(self.names(self.folder)), 6)
        # What exists under the very name is no pattern.
        self.assertEqual(self.names(str(self.folder / "[1].json")), ["[1].json"])
        self.assertEqual(self.names(str(self.folder / "*.json")), ["*.json"])

    def test_no_file_at_all(self):
        for what in ([], self.folder, str(self.folder / "*.json")):
            with self.assertRaises(FileNotFoundError):
                fleet.report(what)
        with self.assertRaises(FileNotFoundError) as caught:
            fleet.report(self.folder / "none.json")
        self.assertEqual(caught.exception.filename, str(self.folder / "none.json"))

    def test_credentials_are_left_out(self):
        url = "https://me:hunter22@host/run/a.json.gz?X-Amz-Signature=deadbeef&X-Amz-Expires=60"
        self.assertEqual(_files.redact(url), "https://host/run/a.json.gz")
        self.assertEqual(_files.redact(f"cannot open '{url}': refused"), "cannot open 'https://host/run/a.json.gz': refused")
        self.assertEqual(_files.redact("s3://bucket/a@b/c.json"), "s3://bucket/a@b/c.json")
        self.assertEqual(_files.redact("what? a rank: s3://b/c"), "what? a rank: s3://b/c")
        error = OSError(5, "host said: hunter22 is wrong, and so is deadbeef")
        told = _files.describe(error, url)
        self.assertNotIn("hunter22", told)
        self.assertNotIn("deadbeef", told)
        asked = _task.Asked(storage_options={"secret": "hunter22"})
        self.assertNotIn("hunter22", repr(asked))

    def test_errors_of_credentials_are_told_in_words(self):
        class NoCredentialsError(Exception):
            pass

        self.assertIn("AWS_PROFILE", _files.describe(NoCredentialsError(), "s3://bucket/x"))
        self.assertIn("GOOGLE_APPLICATION_CREDENTIALS", _files.describe(PermissionError(13, "Forbidden"), "gs://bucket/x"))
        self.assertEqual(_files.describe(FileNotFoundError(2, "x"), "s3://bucket/x"), "no such file")


class Made:
    """A file of a store that is made as it is read, and counts what it holds out. Breaks where it is told to."""

    def __init__(self, blocks, breaks=()):
        self.blocks = blocks
        self.breaks = list(breaks)
        self.opened = []
        self.longest_read = 0
        self.given = 0

    def open_at(self, offset):
        made = self

        class File:
            def __init__(self):
                self.at = offset

            def read(self, count):
                made.longest_read = max(made.longest_read, count)
                if made.breaks and self.at >= made.breaks[0]:
                    made.breaks.pop(0)
                    raise ConnectionResetError(104, "Connection reset by peer")
                block = made.blocks(self.at, count)
                self.at += len(block)
                made.given = max(made.given, self.at)
                return block

            def close(self):
                pass

        self.opened.append(offset)
        return File()


def some_bytes(size):
    return lambda at, count: bytes(min(count, size - at))


class Stream(unittest.TestCase):
    def read(self, made, size, tries=3):
        waits = []
        got = b"".join(_stream.read_blocks(made.open_at, size, tries, wait=waits.append))
        return got, waits

    def test_a_break_is_mended_from_where_it_was(self):
        size = 3 * _stream.BLOCK_BYTES + 5
        made = Made(some_bytes(size), breaks=[0, _stream.BLOCK_BYTES, _stream.BLOCK_BYTES])
        got, waits = self.read(made, size)
        self.assertEqual(len(got), size)
        self.assertEqual(made.opened, [0, 0, _stream.BLOCK_BYTES, _stream.BLOCK_BYTES])
        # Each place has its own tries; waits grow while one place fails.
        self.assertEqual(waits, [0.5, 0.5, 1.0])

    def test_what_is_given_up_says_where_and_why(self):
        made = Made(some_bytes(100), breaks=[0] * 9)
        with self.assertRaises(_stream.ReadFailed) as caught:
            self.read(made, 100)
        self.assertEqual(len(made.opened), 3)
        told = _task.why(caught.exception, _files.Source("s3://b/x", "s3://b/x"))
        self.assertEqual(told, "reading broke at byte 0, 3 times: Connection reset by peer")

    def test_an_end_that_comes_early_is_a_break(self):
        made = Made(some_bytes(50))
        with self.assertRaises(_stream.ReadFailed) as caught:
            self.read(made, 100)
        self.assertIn("50 bytes early", str(caught.exception.__cause__))

    def test_what_will_not_change_is_not_tried_again(self):
        def open_at(offset):
            opened.append(offset)
            raise PermissionError(13, "Forbidden")

        opened = []
        with self.assertRaises(PermissionError):
            list(_stream.read_blocks(open_at, None, 3))
        self.assertEqual(opened, [0])

    def test_a_break_is_not_the_end_of_the_file(self):
        def blocks():
            yield b"half"
            raise ConnectionResetError(104, "gone")

        def read(path):
            with open(path, "rb") as file:
                return file.read()

        with self.assertRaises(ConnectionResetError):
            _stream.through_pipe(blocks(), read)
        self.assertEqual(_stream.through_pipe(iter([b"a", b"b"]), read), b"ab")

    def test_a_reader_that_has_seen_enough_ends_the_feeding(self):
        def endless():
            while True:
                taken.append(1)
                yield bytes(1 << 20)

        taken = []
        before = threading.active_count()
        with self.assertRaises(stepscope.TraceError):
            _stream.through_pipe(endless(), lambda path: _core.summarize(path, source=b"s3://b/none.json"))
        for _ in range(100):
            if threading.active_count() == before:
                break
            time.sleep(0.05)
        self.assertEqual(threading.active_count(), before)
        self.assertLess(len(taken), 100)

    def test_a_file_is_never_whole_in_memory(self):
        event = b'{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":%d,"dur":1,"pid":1,"tid":1},\n'
        size = 400 << 20

        # 400 MB of a trace, made block by block: the same events again, so that the reader's columns are all that grows.
        piece = b"".join(event % number for number in range(1000))
        head, tail = b'{"traceEvents":[\n', b"{}]}"
        whole = size // len(piece) * len(piece)

        def blocks(at, count):
            if at == 0:
                return head
            at -= len(head)
            if at >= whole:
                return (tail + b"")[at - whole :]
            start = at % len(piece)
            return (piece[start:] + piece * (count // len(piece) + 1))[: min(count, whole - at)]

        made = Made(blocks)
        lead = []

        def read(path):
            def progress(bytes_read, bytes_total):
                lead.append(made.given - bytes_read)

            return _core.summarize(path, source=b"s3://bucket/made.json", threads=2, progress=progress)

        tracemalloc.start()
        try:
            summary = _stream.through_pipe(
                _stream.read_blocks(made.open_at, len(head) + whole + len(tail), 3), read
            )
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        self.assertGreater(stepscope.fleet.FleetReport(summary).table().to_pandas()["event_count"][0], 4_000_000)
        self.assertLessEqual(made.longest_read, _stream.BLOCK_BYTES)
        # Blocks that exist at a time, and room for one that is put together here.
        most = (_stream.AHEAD_COUNT + 2) * _stream.BLOCK_BYTES
        self.assertLess(peak, most + 3 * _stream.BLOCK_BYTES)
        self.assertGreater(len(lead), 10)
        # And what the pipe and the reader's own window hold.
        self.assertLess(max(lead), most + (32 << 20))


class Pool(Folder):
    def test_many_processes_answer_as_one(self):
        where = self.ranks(5)
        told = fleet.report(where, jobs=2, progress=False)
        self.assertEqual(len(told), 5)
        alone = [fleet.summarize(path) for path in sorted(where.iterdir())]
        self.assertEqual(told.summary, fleet.merge(reversed(alone)).summary)
        self.assertEqual(told.summary, fleet.merge([fleet.merge(alone[:2]), fleet.merge(alone[1:])]).summary)
        self.assertEqual(told, fleet.report([*where.iterdir(), *where.iterdir()], jobs=1, progress=False))

    def test_what_cannot_be_read_is_told_and_stops_nothing(self):
        where = self.ranks(2)
        (where / "empty.json").write_bytes(b"")
        (where / "none.json").write_text("hello")
        (where / "gone.json").symlink_to(where / "nowhere")
        (where / "odd\nname.json").write_text("[]")
        told = fleet.report(list(where.iterdir()), progress=False)
        self.assertEqual(len(told), 2)
        reasons = {os.path.basename(source): reason for source, reason in told.unreadable}
        self.assertEqual(sorted(reasons), ["empty.json", "gone.json", "none.json", "odd\nname.json"])
        self.assertIn("empty", reasons["empty.json"])
        self.assertIn("o such file", reasons["gone.json"])
        self.assertNotIn(str(where), reasons["none.json"])

    def test_nothing_readable_is_an_answer_too(self):
        (self.folder / "none.json").write_text("hello")
        told = fleet.report(self.folder / "none.json", progress=False)
        self.assertEqual(len(told), 0)
        self.assertEqual(len(told.unreadable), 1)
        self.assertTrue(told.text())

    @support.needs("fsspec")
    def test_a_file_that_kills_its_reader_is_given_up_after_so_many_tries(self):
        store = fleet_support.BadStore()
        self.addCleanup(store.close)
        where = self.ranks(4)
        shutil.copy(where / "run_0.pt.trace.json.gz", where / "deadly.json.gz")
        told = fleet.report(f"bad://{where}", jobs=2, tries=2, progress=False)
        self.assertEqual(len(told), 4)
        self.assertEqual(told.unreadable, [(f"bad://{where}/deadly.json.gz", "the process that read it died 2 times")])
        readers = [process for name, _, process in store.reads() if name == "deadly.json.gz"]
        self.assertEqual(len(readers), 2)
        self.assertEqual(len(set(readers)), 2)
        self.assertIn("SIGKILL", told.remarks[0])
        # The others are what they are without it.
        without = fleet.report([f"bad://{where}/run_{number}.pt.trace.json.gz" for number in range(4)], progress=False)
        self.assertEqual(told.table().to_arrow(), without.table().to_arrow())

    @support.needs("fsspec")
    def test_breaks_of_a_store(self):
        store = fleet_support.BadStore()
        self.addCleanup(store.close)
        where = self.ranks(2)
        shutil.copy(where / "run_0.pt.trace.json.gz", where / "once.json.gz")
        shutil.copy(where / "run_0.pt.trace.json.gz", where / "broken.json.gz")
        told = fleet.report(f"bad://{where}", jobs=2, tries=2, progress=False)
        self.assertEqual(len(told), 3)
        [(source, reason)] = told.unreadable
        self.assertEqual(source, f"bad://{where}/broken.json.gz")
        self.assertRegex(reason, r"reading broke at byte 100,000, 2 times: Connection reset by peer")

    def test_workers_that_cannot_start_say_why(self):
        before = sys.executable
        script = self.folder / "python"
        script.write_text("#!/bin/sh\necho no module here >&2\nexit 3\n")
        script.chmod(0o755)
        where = self.ranks(1)
        sys.executable = str(script)
        try:
            with self.assertRaisesRegex(_pool.WorkerFailed, r"exit status 3.*no module here"):
                fleet.report(where, progress=False)
        finally:
            sys.executable = before

    def test_memory_is_bounded(self):
        small = _files.Source("a.json", "a.json", None, 100 << 20)
        memory = _pool._Memory(400 << 20)
        first = memory.enter(small, alone=False)
        entered = threading.Event()
        waiter = threading.Thread(target=lambda: (memory.enter(small, alone=False), entered.set()))
        waiter.start()
        self.assertFalse(entered.wait(0.05))
        # What was measured counts from then on, and there is room for both.
        memory.leave(first, small, peak_bytes=120 << 20)
        self.assertTrue(entered.wait(10))
        waiter.join()
        third = memory.enter(small, alone=False)
        self.assertEqual(third, (96 << 20) + (24 << 20))
        # A file larger than all that may be used is read when it is alone.
        alone = _pool._Memory(1 << 20)
        self.assertIsNotNone(alone.enter(small, alone=False))

    def test_bounds_do_not_change_the_answer(self):
        where = self.ranks(3)
        self.assertEqual(
            fleet.report(where, jobs=3, memory_bytes=1, progress=False), fleet.report(where, jobs=1, progress=False)
        )

    def test_what_a_machine_has(self):
        self.assertGreaterEqual(_machine.core_count(), 1)
        self.assertGreater(_machine.available_memory_bytes(), 1 << 20)

    def test_ctrl_c_ends_all_readers(self):
        pipe = self.folder / "endless.json"
        os.mkfifo(pipe)
        code = (
            "import sys, stepscope.fleet as fleet\n"
            "print('begun', flush=True)\n"
            "fleet.report(sys.argv[1], progress=False)\n"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(pipe)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        process.stdout.readline()
        with open(pipe, "wb") as feed:  # opens once a reader has
            feed.write(b'{"traceEvents":[')
            feed.flush()
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
            self.assertEqual(process.returncode, -signal.SIGINT if process.returncode < 0 else 130, said)
            self.assertIn("KeyboardInterrupt", said)
            with self.assertRaises(BrokenPipeError):
                for _ in range(1000):
                    feed.write(bytes(1 << 16))
                    feed.flush()
                    time.sleep(0.01)

    def test_no_main_module_is_run_again(self):
        # As a script without `if __name__ == "__main__"`, which multiprocessing would run in every worker.
        script = self.folder / "script.py"
        script.write_text("print('ran')\nimport sys, stepscope.fleet as f\nprint(len(f.report(sys.argv[1], progress=False)))\n")
        where = self.ranks(2, "run")
        done = subprocess.run([sys.executable, str(script), str(where)], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "ran\n2\n")


class Progress(Folder):
    def test_a_function_hears_how_far_it_is(self):
        where = self.ranks(3)
        told = []
        fleet.report(where, jobs=1, progress=told.append)
        last = told[-1]
        self.assertEqual((last.done_count, last.total_count), (3, 3))
        self.assertEqual(last.done_bytes, sum(path.stat().st_size for path in where.iterdir()))
        self.assertEqual(last.total_bytes, last.done_bytes)
        self.assertEqual(last.left_s, 0)
        counts = [now.done_bytes for now in told]
        self.assertEqual(counts, sorted(counts))

    def test_the_line_has_rate_and_time_left(self):
        now = _progress.Progress(256, 1024, 50_000_000_000, 200_000_000_000, 100.0)
        self.assertEqual(str(now), "reading: 256 of 1,024 files, 50 GB of 200 GB, 500 MB/s, 5 min left")
        unknown = _progress.Progress(1, 4, 0, None, 10.0)
        self.assertEqual(str(unknown), "reading: 1 of 4 files, 30 s left")
        self.assertEqual(str(_progress.Progress(0, 4, 0, 100, 0.0)), "reading: 0 of 4 files, 0 B of 100 B")

    def test_the_line_is_drawn_on_terminals_only_and_wiped(self):
        import io

        class Terminal(io.StringIO):
            def isatty(self):
                return True

        for kind, expected in ((Terminal, True), (io.StringIO, False)):
            out = kind()
            line = _progress.Line(out)
            line(_progress.Progress(1, 2, 1, 2, 0.1))  # too early
            line(_progress.Progress(1, 2, 1, 2, 1.0))
            line.close()
            self.assertEqual("1 of 2 files" in out.getvalue(), expected)
            self.assertEqual(out.getvalue().endswith("\r\x1b[K"), expected)
            self.assertEqual(out.getvalue().count("files"), int(expected))

    def test_its_exception_ends_the_reading(self):
        def progress(now):
            raise RuntimeError("enough")

        with self.assertRaisesRegex(RuntimeError, "enough"):
            fleet.report(self.ranks(2), progress=progress)


class Program(Folder):
    """The compiled program, called by itself."""

    def program(self, *arguments, **environment):
        from stepscope import _program

        return subprocess.run(
            [str(_program.path()), *map(str, arguments)], capture_output=True, text=True, env={**os.environ, **environment}
        )

    def test_it_hands_over_what_the_package_can_do(self):
        # No link: the interpreter would not find its environment.
        (self.folder / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        (self.folder / "python3").chmod(0o755)
        path = f"{self.folder}:{os.environ['PATH']}"
        done = self.program("report", "--engine", "local", *support.RANKS, "--width=100", PATH=path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, fleet.report(support.RANKS, progress=False).text(width=100))
        done = self.program("report", "s3x://bucket/run", PATH=path)
        self.assertEqual(done.returncode, 3)
        self.assertIn("stepscope: s3x://bucket/run: ", done.stderr)

    def test_without_the_package_it_names_the_line_to_type(self):
        (self.folder / "python3").write_text("#!/bin/sh\nexit 1\n")
        (self.folder / "python3").chmod(0o755)
        for arguments, extra in (
            (["report", "s3://me:hunter22@bucket/run?sig=hunter22"], "'stepscope[s3]'"),
            (["summarize", "gs://bucket/x.json", "-o", "x.sss"], "'stepscope[gcs]'"),
            (["report", support.RANKS[0], "--engine=ray"], "'stepscope[ray]'"),
        ):
            done = self.program(*arguments, PATH=str(self.folder))
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"pip install {extra}", done.stderr)
            self.assertNotIn("hunter22", done.stderr)
        # Nor does it look for one where it is not needed.
        done = self.program("report", support.RANKS[0], "--top", "0", PATH=str(self.folder))
        self.assertEqual(done.returncode, 0)
        done = self.program("report", "--engine", "ray", "--help", PATH=str(self.folder))
        self.assertEqual(done.returncode, 0)

    def test_nothing_is_handed_to_and_fro(self):
        done = self.program("report", "s3://bucket/run", STEPSCOPE_HANDED_OVER="1")
        self.assertEqual(done.returncode, 2)
        self.assertIn("pip install", done.stderr)


class Report(Folder):
    @classmethod
    def setUpClass(cls):
        cls.report = fleet.report(support.RANKS, progress=False)

    def test_it_names_the_straggler(self):
        self.assertIn("ank 1", self.report.verdict)
        self.assertIn("straggler", [finding["id"] for finding in self.report.findings])
        self.assertEqual(self.report["verdict"], self.report.to_dict()["verdict"])
        self.assertIn("verdict", list(self.report.keys()))
        self.assertIn("2 ranks", repr(self.report))

    def test_the_text_is_that_of_the_command(self):
        command = [sys.executable, "-m", "stepscope", "report", "--engine=local", *map(str, support.RANKS)]
        done = subprocess.run([*command, "--width", "100"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, self.report.text(width=100), ""))
        done = subprocess.run([*command, "--json"], capture_output=True, text=True)
        self.assertEqual(self.report.to_dict(), json.loads(done.stdout))
        # Nor does it matter who prints it.
        from stepscope import _program

        self.report.save(self.folder / "run.sss")
        done = subprocess.run([_program.path(), "report", self.folder / "run.sss", "--width", "100"], capture_output=True, text=True)
        self.assertEqual(done.stdout, self.report.text(width=100))
        done = subprocess.run([*command, "--top", "x"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        done = subprocess.run([*command, str(self.folder / "none.json"), "--width=100"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 4)
        self.assertEqual(done.stderr, f"stepscope: {self.folder}/none.json: no such file\n")

    def test_it_is_saved_and_loaded(self):
        self.report.save(self.folder / "run.sss")
        again = fleet.load(self.folder / "run.sss")
        self.assertEqual(again, self.report)
        self.assertEqual(hash(again), hash(self.report))
        self.assertEqual([path.name for path in self.folder.iterdir()], ["run.sss"])
        # A summary is as good as the traces.
        self.assertEqual(fleet.report(self.folder / "run.sss", progress=False), self.report)
        parts = [fleet.summarize(path) for path in support.RANKS]
        for number, part in enumerate(parts):
            part.save(self.folder / f"{number}.sss")
        self.assertEqual(fleet.load([self.folder / "1.sss", self.folder / "0.sss"]), self.report)
        self.assertEqual(fleet.merge([parts[1].summary, parts[0], self.folder / "1.sss"]), self.report)

    def test_a_summary_is_small(self):
        for path in support.RANKS:
            self.assertLessEqual(len(fleet.summarize(path).summary), 256 * 1024)

    def test_it_is_pickled_with_its_summary(self):
        again = pickle.loads(pickle.dumps(self.report))
        self.assertEqual(again.text(), self.report.text())

    @support.needs("pandas", "pyarrow")
    def test_its_ranks_are_a_table(self):
        table = self.report.table()
        self.assertEqual(len(table), 2)
        frame = table.to_pandas()
        self.assertEqual(list(frame["rank"]), [0, 1])
        self.assertEqual(list(frame["source"]), [str(path) for path in support.RANKS])
        for path, row in zip(support.RANKS, frame.to_dict("records")):
            steps = stepscope.load(path).steps.to_pandas()
            self.assertEqual(row["step_count"], len(steps))
            self.assertEqual(row["step_ns"], int(steps["duration_ns"].median()))
            self.assertEqual(row["gpu_busy_ns"], int(steps["gpu_busy_ns"].median()))
        self.assertTrue(all(table.columns.keys() & {"idle_ns", "exposed_communication_ns", "verdict"}))

    def test_a_notebook_gets_html_in_which_names_are_harmless(self):
        hostile = fleet.FleetReport(_core.unreadable_summary(b"</pre><script>", "<b>"))
        self.assertNotIn("<script>", hostile._repr_html_())

    def test_damaged_summaries_are_refused(self):
        summary = self.report.summary
        for damaged in (b"", b"hello", summary[: len(summary) // 2], summary[:-1] + bytes([summary[-1] ^ 1])):
            with self.assertRaises(stepscope.TraceError):
                fleet.merge([damaged])
        (self.folder / "cut.sss").write_bytes(summary[:100])
        with self.assertRaises(stepscope.TraceError):
            fleet.load(self.folder / "cut.sss")
        told = fleet.report(self.folder, progress=False)
        self.assertEqual(len(told.unreadable), 1)

    def command(self, *arguments):
        return subprocess.run(
            [sys.executable, "-m", "stepscope", *map(str, arguments)], capture_output=True, text=True, cwd=self.folder
        )

    def test_what_does_not_fit_a_file_is_wrong_usage(self):
        with self.assertRaisesRegex(ValueError, "straggler_rank0.*no span is named `nosuch`"):
            fleet.report(support.RANKS, steps="nosuch", progress=False)
        with self.assertRaisesRegex(ValueError, "no device 7 in the file"):
            fleet.summarize(support.RANKS[0], device=7)
        self.report.save(self.folder / "run.sss")
        for option, words in ({"steps": "x"}, "--steps"), ({"device": 7}, "--device"), ({"peak_flops": 1e12}, "--peak"):
            with self.assertRaisesRegex(ValueError, f"^{words} cannot change .*run.sss"):
                fleet.report(self.folder / "run.sss", progress=False, **option)
        done = self.command("report", "--engine=local", *support.RANKS, "--steps", "nosuch")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("no span is named `nosuch`", done.stderr)
        with self.assertRaisesRegex(ValueError, "width: a whole number from 60 to 400, not 10"):
            self.report.text(10)
        done = self.command("report", "--engine=local", *support.RANKS, "--width", "10")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--width: must be a whole number from 60 to 400, not 10", done.stderr)

    def test_what_was_read_is_not_written_over(self):
        for number, path in enumerate(support.RANKS):
            fleet.summarize(path).save(self.folder / f"{number}.sss")
        run = fleet.load([self.folder / "0.sss", self.folder / "1.sss"])
        os.link(self.folder / "0.sss", self.folder / "link.sss")
        shutil.copy(support.RANKS[0], self.folder / "trace.json.gz")
        for name, words in ("1.sss", "to be read"), ("link.sss", "to be read"), ("trace.json.gz", "no summary"):
            before = (self.folder / name).read_bytes()
            with self.assertRaisesRegex(FileExistsError, words):
                run.save(self.folder / name)
            with self.assertRaisesRegex(FileExistsError, words):
                pickle.loads(pickle.dumps(run)).save(self.folder / name)
            commands = (
                ("merge", "0.sss", "1.sss", "-o"),
                ("summarize", "0.sss", "1.sss", "-o"),
                ("report", "--engine=local", "0.sss", "1.sss", "--save"),
            )
            for command in commands:
                done = self.command(*command, name)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(words, done.stderr)
            self.assertEqual((self.folder / name).read_bytes(), before)
        for name in "new.sss", "new.sss":  # its own summary may be made anew
            run.save(self.folder / name)
        (self.folder / "empty").touch()
        run.save(self.folder / "empty")

    def test_a_page_of_all_ranks(self):
        done = self.command("report", "--engine=local", *support.RANKS, "--html", "run.html", "--width=100")
        self.assertEqual((done.returncode, done.stdout), (0, self.report.text(width=100)), done.stderr)
        page = (self.folder / "run.html").read_text()
        self.assertEqual(page, self.report.page())
        self.assertIn("<html", page[:200])
        done = self.command("report", "--engine=local", *support.RANKS, "--html", "-")
        self.assertEqual(done.stdout, page)
        shutil.copy(support.RANKS[0], self.folder / "trace.json.gz")
        done = self.command("report", "--engine=local", "trace.json.gz", support.RANKS[1], "--html", "trace.json.gz")
        self.assertEqual(done.returncode, 2)

    def test_findings_of_ranks_have_proof_and_advice(self):
        own = {f["id"]: f for f in stepscope.load(support.RANKS[1]).report().findings}
        of_one = fleet.summarize(support.RANKS[1])
        told = [f for f in of_one.findings if f["id"] in own]
        self.assertTrue(told)
        for finding in told:
            self.assertEqual([e["text"] for e in finding["evidence"]], [e["text"] for e in own[finding["id"]]["evidence"]])
            self.assertEqual(finding["advice"], own[finding["id"]]["advice"])

    def test_files_that_cannot_be_read_have_the_code_of_their_kind(self):
        (self.folder / "text.json").write_text("hello")
        run = fleet.report([support.RANKS[0], self.folder / "text.json", self.folder / "none.json"], progress=False)
        codes = {entry["source"]["path"].rsplit("/", 1)[-1]: entry["error"]["code"] for entry in run["ranks"] if "error" in entry}
        self.assertEqual(codes, {"text.json": "unknown_format", "none.json": "not_found"})

    def test_errors_of_one_file(self):
        with self.assertRaises(FileNotFoundError):
            fleet.summarize(self.folder / "none.json")
        (self.folder / "none.json").write_text("hello")
        with self.assertRaises(stepscope.TraceError) as caught:
            fleet.summarize(self.folder / "none.json")
        self.assertEqual(caught.exception.file, str(self.folder / "none.json"))

    def test_arguments_that_are_none(self):
        for wrong in ({"engine": "spark"}, {"jobs": 0}, {"tries": 0}, {"per_node": True}, {"address": "a:1"}):
            with self.assertRaises(ValueError):
                fleet.report(support.RANKS, **wrong)

    def test_others_run_while_summaries_are_made(self):
        ticks = []
        is_over = threading.Event()

        def tick():
            while not is_over.is_set():
                ticks.append(time.monotonic())
                time.sleep(0.0005)

        thread = threading.Thread(target=tick)
        thread.start()
        before = time.monotonic()
        fleet.summarize(support.RANKS[0])
        after = time.monotonic()
        is_over.set()
        thread.join()
        self.assertTrue([at for at in ticks if before < at < after], "no other thread ran meanwhile")

    def test_importing_it_brings_no_engine_and_no_store(self):
        code = "import sys, stepscope.fleet\nprint([n for n in ('ray', 'fsspec', 'tqdm', 'numpy', 'asyncio') if n in sys.modules])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.strip(), "[]")


if __name__ == "__main__":
    support.main()
