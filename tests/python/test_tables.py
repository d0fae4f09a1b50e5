"""Tables: what data frames see is what the trace holds, and nothing of a table is copied."""

import gc
import gzip
import json
import tempfile
import unittest

import support
import stepscope


class Columns(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.trace = stepscope.load(support.CONV)
        cls.events = json.loads(gzip.decompress(support.CONV.read_bytes()))["traceEvents"]

    def test_kernels_are_those_of_the_file(self):
        wanted = sorted(
            (event["name"], event["args"]["stream"])
            for event in self.events
            if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")
        )
        kernels = self.trace.kernels()._table
        found = sorted(zip(kernels.column("name"), (int(stream) for stream in kernels.column("stream"))))
        self.assertEqual(found, wanted)

    def test_times_are_whole_nanoseconds(self):
        by_name = {}
        for event in self.events:
            if event.get("cat") == "cpu_op":
                by_name.setdefault(event["name"], []).append(event["dur"])
        ops = self.trace.table("ops")._table
        found = {}
        for name, start, end in zip(ops.column("name"), ops.column("start_ns"), ops.column("end_ns")):
            found.setdefault(name, []).append((end - start) / 1000)
        self.assertEqual({name: sorted(times) for name, times in found.items()},
                         {name: sorted(times) for name, times in by_name.items()})

    def test_idle_gaps_add_up_to_the_idle_time_of_the_report(self):
        report = self.trace.report(top=0)
        device = report["devices"][0]
        gaps = sum(self.trace.gaps()._table.column("duration_ns"))
        self.assertEqual(gaps, device["idle_ns"])

    def test_steps_are_those_of_the_report(self):
        steps = self.trace.steps._table
        told = self.trace.report(top=0)["steps"]
        self.assertEqual(len(self.trace.steps), told["count"])
        times = sorted(steps.column("duration_ns"))
        middle = len(times) // 2
        self.assertEqual((times[~middle] + times[middle]) // 2, told["median_ns"])
        self.assertEqual(steps.column("step")[0], told["first"])

    def test_averages_are_those_of_the_text(self):
        for by in ("name", "shape", "stack", "module"):
            document = json.loads(self.trace._recording.ops_text(by, 5, "", None, 80, True))
            table = self.trace.ops(by)._table
            self.assertEqual(table.column("name"), [row["key"] for row in document["rows"]])
            self.assertEqual(table.column("count"), [row["count"] for row in document["rows"]])

    def test_every_column_says_what_it_is(self):
        for name in self.trace.table_names:
            table = self.trace.table(name)
            self.assertEqual(len(set(table.columns)), len(table.columns), name)
            for column, doc in table.columns.items():
                self.assertTrue(doc, f"{name}.{column}")
                self.assertEqual(len(table._table.column(column)), len(table))
        with self.assertRaises(KeyError):
            self.trace.table("ops")._table.column("nme")


class Frames(unittest.TestCase):
    def setUp(self):
        self.trace = stepscope.load(support.CONV)

    @support.needs("pyarrow")
    def test_pyarrow_finds_every_table_sound(self):
        import pyarrow

        for name in self.trace.table_names:
            table = pyarrow.table(self.trace.table(name))
            table.validate(full=True)
            self.assertEqual(table.num_rows, len(self.trace.table(name)))
        for table in (self.trace.steps, self.trace.kernels(), self.trace.gaps(), self.trace.ops("shape")):
            pyarrow.table(table).validate(full=True)
        field = pyarrow.table(self.trace.table("ops")).schema.field("start_ns")
        self.assertEqual(field.metadata, {b"doc": b"ns on the trace's clock"})

    @support.needs("pyarrow")
    def test_numbers_are_not_copied_and_outlive_the_trace(self):
        import pyarrow

        first = pyarrow.table(self.trace.table("ops")).column("start_ns").chunk(0)
        second = pyarrow.table(self.trace.table("ops")).column("start_ns").chunk(0)
        self.assertEqual(first.buffers()[1].address, second.buffers()[1].address)
        values = first.to_pylist()
        del second
        self.trace = None
        gc.collect()
        self.assertEqual(first.to_pylist(), values)

    @support.needs("pandas", "pyarrow")
    def test_pandas_takes_every_table(self):
        for name in self.trace.table_names:
            self.assertEqual(len(self.trace.table(name).to_pandas()), len(self.trace.table(name)), name)

    @support.needs("pandas", "pyarrow")
    def test_pandas(self):
        import pandas

        frame = pandas.DataFrame.from_arrow(self.trace.kernels()) if hasattr(pandas.DataFrame, "from_arrow") else None
        frame = self.trace.kernels().to_pandas() if frame is None else frame
        self.assertEqual(int(frame["duration_ns"].sum()), sum(self.trace.kernels()._table.column("duration_ns")))
        self.assertIn("kernel", set(frame["kind"]))

    @support.needs("polars")
    def test_polars(self):
        import polars

        frame = polars.DataFrame(self.trace.table("gpu_events"))
        self.assertEqual(frame["start_ns"].to_list(), self.trace.table("gpu_events")._table.column("start_ns"))
        self.assertEqual(frame["name"].to_list(), self.trace.table("gpu_events")._table.column("name"))
        self.assertEqual(frame["bytes"].null_count(), self.trace.table("gpu_events")._table.column("bytes").count(None))

    @support.needs("polars", "duckdb", "pyarrow")
    def test_polars_and_duckdb_take_every_table_and_polars_copies_no_number(self):
        import duckdb
        import polars
        import pyarrow

        shared = 0
        for name in self.trace.table_names:
            found = self.trace.table(name)
            frame, arrow = polars.DataFrame(found), pyarrow.table(found)
            self.assertEqual(frame.height, len(found), name)
            self.assertEqual(duckdb.sql("select count(*) from found").fetchall(), [(len(found),)], name)
            for column in arrow.schema.names if len(found) > 0 else []:
                chunk = arrow.column(column).chunk(0)
                if pyarrow.types.is_int64(chunk.type) and chunk.null_count == 0:
                    address = frame[column].to_numpy(allow_copy=False).__array_interface__["data"][0]
                    self.assertEqual(address, chunk.buffers()[1].address, f"{name}.{column}")
                    shared += 1
        self.assertGreater(shared, 20)

    @support.needs("pandas", "pyarrow")
    def test_broken_names_that_are_repaired_to_one_word(self):
        names = [b"a\xff", b"b", b"a\xfe", "a\ufffd".encode(), b"c"]
        events = [b'{"ph":"X","cat":"cpu_op","name":"%s","pid":1,"tid":1,"ts":%d,"dur":2}' % (name, 10 * i) for i, name in enumerate(names)]
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            file.write(b'{"traceEvents":[' + b",".join(events) + b"]}")
            file.flush()
            ops = stepscope.load(file.name).table("ops")
            self.assertEqual(ops._table.column("name"), ["a\ufffd", "b", "a\ufffd", "a\ufffd", "c"])
            self.assertEqual(list(ops.to_pandas()["name"]), ["a\ufffd", "b", "a\ufffd", "a\ufffd", "c"])

    @support.needs("duckdb", "pyarrow")
    def test_duckdb(self):
        import duckdb

        kernels = self.trace.kernels()
        total = duckdb.sql("select sum(duration_ns) from kernels").fetchall()[0][0]
        self.assertEqual(total, sum(kernels._table.column("duration_ns")))


if __name__ == "__main__":
    support.main()
