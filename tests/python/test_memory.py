"""stepscope.memory: every table against the snapshot itself, unpickled by Python, and against the command's own answer."""

import gzip
import json
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
from pathlib import Path

import support
import stepscope
from stepscope import memory

SNAPSHOTS = support.DATA / "memory"
OOM = SNAPSHOTS / "h200" / "snap.oom.pickle.gz"
TRAINING = SNAPSHOTS / "made" / "training.pickle"
PROGRAM = Path(stepscope.__file__).parent / "bin" / "stepscope"


def column(table, name):
    return table._table.column(name)


def rows(table):
    names = table._table.column_names
    return [dict(zip(names, cells)) for cells in zip(*(column(table, name) for name in names))]


def answer(*arguments):
    done = subprocess.run([PROGRAM, "memory", *map(str, arguments), "--json"], capture_output=True, text=True)
    return json.loads(done.stdout)


def peak_in_process(snapshot):
    return max(column(snapshot.levels(), "allocated_bytes"))


class Tables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.file = pickle.loads(gzip.decompress(OOM.read_bytes()))
        cls.snapshot = memory.load(OOM)
        cls.document = answer(OOM)

    def test_events_are_the_entries_of_the_file(self):
        entries = self.file["device_traces"][0]
        events = self.snapshot.events()
        self.assertEqual(len(events), len(entries))
        self.assertEqual(column(events, "action"), [entry["action"] for entry in entries])
        self.assertEqual(column(events, "bytes"), [entry["size"] for entry in entries])
        self.assertEqual(column(events, "time_us"), [entry["time_us"] for entry in entries])
        self.assertEqual(column(events, "event"), list(range(len(entries))))
        for stack, entry in zip(column(events, "stack"), entries):
            frames = [f"{frame['filename']}:{frame['line']} {frame['name']}" for frame in entry.get("frames", [])]
            self.assertEqual(stack, "\n".join(frames))

    def test_segments_and_blocks_are_those_of_the_file(self):
        segments = sorted(self.file["segments"], key=lambda segment: segment["address"])
        found = rows(self.snapshot.segments())
        for row, segment in zip(found, segments, strict=True):
            for ours, theirs in (("address", "address"), ("total_bytes", "total_size"), ("allocated_bytes", "allocated_size"), ("stream", "stream")):
                self.assertEqual(row[ours], segment[theirs])
            self.assertEqual(row["block_count"], len(segment["blocks"]))
            self.assertEqual(row["is_small"], int(segment["segment_type"] == "small"))
        blocks = rows(self.snapshot.blocks())
        wanted = [(segment["address"], block["address"], block["size"], block["state"]) for segment in segments for block in segment["blocks"]]
        self.assertEqual([(row["segment"], row["address"], row["size_bytes"], row["state"]) for row in blocks], wanted)

    def test_levels_peak_where_the_command_says(self):
        levels = self.snapshot.levels()
        self.assertEqual(len(levels), len(self.snapshot.events()) + 1)
        events = column(levels, "event")
        self.assertIsNone(events[0])
        for level in ("requested", "allocated", "active", "reserved"):
            values = column(levels, f"{level}_bytes")
            told = self.document["devices"][0][level]
            self.assertEqual(max(values), told["peak_bytes"])
            self.assertEqual(events[values.index(max(values))], told["peak_event"])
            self.assertEqual((values[0], values[-1]), (told["start_bytes"], told["end_bytes"]))
        # What PyTorch's own memory_stats() said after the failure: tests/data/memory/README.md.
        self.assertEqual(max(column(levels, "allocated_bytes")), 2_896_768_512)
        self.assertEqual(max(column(levels, "reserved_bytes")), 3_001_024_512)

    def test_a_live_set_is_the_level_at_its_moment(self):
        levels = column(self.snapshot.levels(), "requested_bytes")
        for event in (0, 100, 1234, len(levels) - 2):
            live = self.snapshot.live(f"#{event}")
            self.assertEqual(sum(column(live, "requested_bytes")), levels[event + 1])
            for by in ("line", "stack", "category", "span", "module", "stream"):
                self.assertEqual(sum(column(self.snapshot.live_by(by, f"#{event}"), "bytes")), levels[event + 1])
            for row in rows(live):
                self.assertLessEqual(row["alloc_event"] if row["alloc_event"] is not None else -1, event)
                self.assertTrue(row["free_completed_event"] is None or row["free_completed_event"] > event)

    def test_allocations_have_the_events_of_their_lives(self):
        entries = self.file["device_traces"][0]
        allocations = rows(self.snapshot.allocations())
        made = [row for row in allocations if row["alloc_event"] is not None]
        self.assertEqual(len(made), sum(entry["action"] == "alloc" for entry in entries))
        for row in made:
            entry = entries[row["alloc_event"]]
            self.assertEqual((entry["addr"], entry["size"]), (row["address"], row["requested_bytes"]))
            self.assertEqual(entry["time_us"], row["alloc_time_us"])
            if row["free_completed_event"] is not None:
                self.assertEqual(entries[row["free_completed_event"]]["action"], "free_completed")

    def test_groups_are_those_of_the_command(self):
        for by in ("line", "category"):
            document = answer(OOM, "--by", by, "--at", "oom", "--top", "1000")
            self.assertEqual(rows(self.snapshot.live_by(by, "oom")), document["live"]["groups"])
        self.assertEqual(rows(self.snapshot.categories()), rows(self.snapshot.live_by("category", "peak")))

    def test_what_if_is_that_of_the_command(self):
        asked = ("expandable_segments:True", "default")
        found = rows(self.snapshot.what_if(*asked))
        document = answer(OOM, "--what-if", asked[0], "--what-if", asked[1])
        self.assertEqual([row["settings"] for row in found], list(asked))
        for row, told in zip(found, document["what_if"], strict=True):
            for key in ("reserved_peak_bytes", "allocated_peak_bytes", "retries", "cuda_malloc_count", "least_capacity_bytes"):
                self.assertEqual(row[key], told[key])
            self.assertEqual(row["oom_event"], told["oom"] and told["oom"]["entry"])
        roomy = rows(self.snapshot.what_if("default", capacity_bytes=80 << 30))[0]
        self.assertEqual((roomy["is_oom"], roomy["retries"]), (0, 0))

    def test_the_difference_adds_up(self):
        before = memory.load(SNAPSHOTS / "h200" / "snap.pickle.gz")
        found = rows(before.diff(self.snapshot))
        told = answer(SNAPSHOTS / "h200" / "snap.pickle.gz", "--diff", OOM)["diff"]
        self.assertEqual(sum(row["difference_bytes"] for row in found), told["difference_bytes"])
        self.assertEqual([row["name"] for row in found], [row["name"] for row in told["rows"]])

    def test_the_report_is_the_commands(self):
        self.assertEqual(self.snapshot.report().data, self.document | {"source": self.snapshot.report()["source"]})
        self.assertIn("OOM", str(self.snapshot))
        self.assertEqual(self.snapshot.findings[0]["id"], self.document["findings"][0]["id"])
        self.assertIn("<table>", self.snapshot._repr_html_())
        self.assertEqual(self.snapshot.settings, "default")

    def test_the_summary_is_torchs_table(self):
        done = subprocess.run([PROGRAM, "memory", OOM, "--summary"], capture_output=True, text=True, check=True)
        self.assertEqual(self.snapshot.memory_summary(), done.stdout)
        self.assertLess(len(self.snapshot.memory_summary(abbreviated=True)), len(done.stdout))

    def test_steps(self):
        snapshot = memory.load(TRAINING)
        steps = rows(snapshot.steps())
        told = answer(TRAINING)["devices"][0]["steps"]["rows"]
        self.assertEqual([(row["step"], row["begin_event"], row["peak_bytes"], row["peak_event"]) for row in steps],
                         [(row["number"], row["begin_event"], row["peak_bytes"], row["peak_event"]) for row in told])
        self.assertGreater(len(steps), 2)

    @support.needs("pandas", "pyarrow", "polars", "duckdb")
    def test_data_frames_take_every_table(self):
        import duckdb
        import polars

        for name in ("events", "segments", "blocks", "levels", "allocations", "live", "live_by", "steps", "categories"):
            table = held = getattr(self.snapshot, name)()  # noqa: F841: DuckDB finds it by its name
            frame = table.to_pandas()
            self.assertEqual(len(frame), len(table), name)
            self.assertEqual(len(polars.DataFrame(table)), len(table), name)
            self.assertEqual(duckdb.sql("select count(*) from held").fetchall(), [(len(table),)], name)
            self.assertEqual(set(table.columns), set(frame.columns))


class Files(unittest.TestCase):
    def test_nothing_in_a_snapshot_is_run(self):
        for name in ("C02_global_call.pickle", "hostile/global_reduce.pickle"):
            with self.assertRaises(stepscope.TraceError) as caught:
                memory.load(SNAPSHOTS / name)
            self.assertEqual(caught.exception.file, str(SNAPSHOTS / name))
            self.assertIsInstance(caught.exception.offset, int)

    def test_lifetimes(self):
        snapshot = memory.load(TRAINING)
        report = snapshot.report(by="category", lifetimes=True)
        self.assertEqual(report["lifetimes"], answer(TRAINING, "--lifetimes", "--by", "category")["lifetimes"])
        self.assertIn("Bytes x time within the history", str(pickle.loads(pickle.dumps(report))))
        self.assertIsNone(snapshot.report()["lifetimes"])
        for wrong in ({"at": "start"}, {"what_if": ["default"]}):
            with self.assertRaisesRegex(ValueError, "neither"):
                snapshot.report(lifetimes=True, **wrong)

    def test_tables_and_reports_are_pickled(self):
        snapshot = memory.load(TRAINING)
        tables = [snapshot.live(), snapshot.live_by("stack"), snapshot.levels(), snapshot.allocations(), snapshot.events(),
                  snapshot.steps(), snapshot.segments(), snapshot.blocks(), snapshot.categories(), snapshot.diff(snapshot),
                  snapshot.what_if("default")]
        for table, again in zip(tables, pickle.loads(pickle.dumps(tables))):
            for name in table.columns:
                self.assertEqual(column(again, name), column(table, name))
        report = snapshot.report(top=2)
        self.assertEqual(str(pickle.loads(pickle.dumps(report))), str(report))

    def test_how_many_tensors_are_older_than_a_trace_is_not_known(self):
        snapshot = memory.load(support.DATA / "golden" / "enc.pt.trace.json.gz")
        groups = snapshot.live_by("line").to_pandas()
        older = groups[groups["name"] == "older than the history"]
        self.assertEqual(older["count"].isna().tolist(), [True])
        self.assertEqual(groups["count"].isna().sum(), 1)
        held = snapshot.live().to_pandas()
        self.assertEqual(held[held["is_sum"] == 1]["requested_bytes"].tolist(), older["bytes"].tolist())

    def test_what_cannot_be_opened_is_pythons_own_error(self):
        with self.assertRaises(FileNotFoundError):
            memory.load("/nonexistent/snapshot.pickle")
        with self.assertRaises(ValueError):
            memory.load("/")
        with self.assertRaises(stepscope.TraceError):
            memory.load(SNAPSHOTS / "C11_zero_bytes.pickle")
        with self.assertRaisesRegex(stepscope.TraceError, "stepscope.load"):
            memory.load(support.DATA / "cases" / "A00_good.json")

    def test_every_damaged_file_raises_or_answers(self):
        for path in sorted((SNAPSHOTS / "hostile").iterdir()) + sorted(SNAPSHOTS.glob("C*.pickle")):
            try:
                snapshot = memory.load(path)
                for name in ("events", "segments", "blocks", "levels", "allocations", "live", "live_by", "steps", "what_if"):
                    try:
                        self.assertGreaterEqual(len(getattr(snapshot, name)()), 0)
                    except ValueError:
                        pass
                self.assertTrue(str(snapshot))
            except (stepscope.TraceError, OSError):
                pass

    def test_a_cut_file_gives_its_entries_and_no_number(self):
        cut = memory.load(SNAPSHOTS / "C15_truncated.pickle")
        for name in ("levels", "allocations", "live", "live_by", "what_if", "memory_summary"):
            with self.assertRaisesRegex(stepscope.TraceError, "sound"):
                getattr(cut, name)()
        self.assertTrue(cut.report()["headline_withheld"])

    def test_wrong_questions(self):
        snapshot = memory.load(OOM)
        for ask in (lambda: snapshot.live("#99999999"), lambda: snapshot.live("noon"), lambda: snapshot.live_by("colour"),
                    lambda: snapshot.events(device=7), lambda: snapshot.what_if("no_such_key:1")):
            with self.assertRaises(ValueError):
                ask()
        with self.assertRaisesRegex(stepscope.TraceError, "no answer"):
            memory.load(SNAPSHOTS / "C10_oom_fragmented.pickle").what_if()

    def test_a_capture_with_cuda_memory_is_answered(self):
        snapshot = memory.load(support.DATA / "capture" / "cuda_memory_v1_1.stepscope")
        self.assertGreater(len(snapshot.events()), 0)
        with self.assertRaisesRegex(stepscope.TraceError, "no answer"):
            snapshot.what_if()

    def test_a_map_beside_the_snapshot_makes_categories_exact(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.pickle"
            shutil.copy(TRAINING, path)
            held = rows(memory.load(path).live("end"))[0]
            beside = Path(folder) / "run.tensors.json"
            beside.write_text("{")
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                memory.load(path)
            self.assertIn("run.tensors.json", str(caught[0].message))
            tensors = {"gradient": [[0, held["address"], held["requested_bytes"]]]}
            beside.write_text(json.dumps({"format": "stepscope-tensor-addresses", "version": 1, "time_ns": 1, "tensors": tensors}))
            found = [row for row in rows(memory.load(path).live("end")) if row["address"] == held["address"]]
            self.assertEqual((found[0]["category"], found[0]["category_source"]), ("gradient", "address map"))

    def test_pickling_reads_the_file_again(self):
        snapshot = memory.load(TRAINING)
        again = pickle.loads(pickle.dumps(snapshot))
        self.assertEqual(rows(again.live_by()), rows(snapshot.live_by()))
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            self.assertEqual(pool.apply(peak_in_process, (snapshot,)), peak_in_process(snapshot))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.pickle"
            shutil.copy(TRAINING, path)
            pickled = pickle.dumps(memory.load(os.path.relpath(path)))
            self.assertIn(os.fsencode(str(path)), pickled)
            shutil.copy(SNAPSHOTS / "C09_many_devices.pickle", path)
            with self.assertRaisesRegex(ValueError, "has changed"):
                pickle.loads(pickled)

    def test_threads_share_one(self):
        snapshot = memory.load(OOM)
        found = []
        threads = [threading.Thread(target=lambda: found.append(len(snapshot.allocations()))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(found)), 1)
        self.assertEqual(len(found), 4)

    def test_ctrl_c_ends_the_reading(self):
        """What the bar raises, as Python's handler of the signal does, ends the reading and comes out."""

        def interrupt(done, whole):
            os.kill(os.getpid(), signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            for _ in range(1000):  # Python may handle the signal only after a reading that was short
                stepscope._core.read_memory(os.fsencode(OOM), "", interrupt)

        def refuse(done, whole):
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            stepscope._core.read_memory(os.fsencode(OOM), "", refuse)

    def test_progress_is_told(self):
        told = []

        def note(done, whole):
            told.append((done, whole))

        stepscope._core.read_memory(os.fsencode(OOM), "", note)
        self.assertTrue(told)
        self.assertLessEqual(told[-1][0], OOM.stat().st_size)


if __name__ == "__main__":
    support.main()
