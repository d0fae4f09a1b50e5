"""Perfetto's trace processor sees in our files what it sees in PyTorch's. TRACE_PROCESSOR names the program; it is no
package of Debian or Python's, so without the variable the test is skipped."""
import csv
import io
import os
import subprocess
import unittest

import files

TRACE_PROCESSOR = os.environ.get("TRACE_PROCESSOR")
if not TRACE_PROCESSOR:
    files.skip("TRACE_PROCESSOR is not set; it names Perfetto's trace_processor_shell")

CAPTURE = "capture/made_v1_0.stepscope"
RECORDINGS = ("h200/ddp_rank0", "h200/solid4_stack", "h200/graph", "golden/enc")


def query(path, sql):
    done = subprocess.run([TRACE_PROCESSOR, "query", path, sql], capture_output=True, check=True)
    return list(csv.reader(io.StringIO(done.stdout.decode("utf-8"))))[1:]


class Perfetto(unittest.TestCase):
    def test_recordings_have_the_same_slices_and_flows(self):
        sql = ("select (select count(*) from slice), (select sum(dur) from slice), (select sum(depth) from slice), "
               "(select count(*) from flow), (select sum(value) from stats where severity in ('error', 'data_loss'))")
        for name in RECORDINGS:
            with self.subTest(name):
                theirs = query(files.original(name), sql)
                self.assertGreater(int(theirs[0][0]), 1000)
                self.assertGreater(int(theirs[0][3]), 100)
                self.assertEqual(query(files.rewritten(name), sql), theirs)

    def test_the_protobuf_has_the_slices_of_the_json(self):
        sql = ("select count(*), sum(dur) from slice where category in ('cpu_op', 'user_annotation', 'python_function', 'cuda_runtime', "
               "'cuda_driver', 'kernel', 'gpu_memcpy', 'gpu_memset', 'gpu_user_annotation')")
        for name in RECORDINGS:
            with self.subTest(name):
                path = str(files.FOLDER / "proto.pftrace")
                files.convert(name, path)
                self.assertEqual(query(path, sql), query(files.original(name), sql))

    def test_a_capture_has_the_same_in_both_formats(self):
        """Slices, arrows from the right call to the right kernel, and what the program's own CSV tables say."""
        tables = str(files.FOLDER / "tables") + "/"
        files.convert_file(CAPTURE, tables)
        slices = []
        for table in ("ops", "spans", "frames", "calls", "gpu_events", "gpu_spans"):
            with open(tables + table + ".csv", newline="", encoding="utf-8") as file:
                slices += [(row["name"], str(int(row["end_ns"]) - int(row["start_ns"]))) for row in csv.DictReader(file)]
        with open(tables + "gpu_events.csv", newline="", encoding="utf-8") as file:
            linked = [row["name"] for row in csv.DictReader(file) if row["call"]]
        self.assertGreater(len(linked), 1)
        for ending, prefix in ((".json", "args."), (".pftrace", "debug.")):
            with self.subTest(ending):
                path = str(files.FOLDER / f"capture{ending}")
                files.convert_file(CAPTURE, path)
                seen = query(path, "select name, dur from slice where category not in ('other', 'overhead', 'cpu_instant_event')")
                self.assertEqual(sorted(map(tuple, seen)), sorted(slices))
                flows = query(path, "select k.name from flow join slice c on slice_out = c.id join slice k on slice_in = k.id "
                                    f"where extract_arg(c.arg_set_id, '{prefix}correlation') = extract_arg(k.arg_set_id, '{prefix}correlation')")
                self.assertEqual(sorted(row[0] for row in flows), sorted(linked))

    def test_the_protobuf_has_the_arguments_of_the_json(self):
        keys = ("External id", "Sequence number", "correlation", "graph id", "bytes", "registers per thread", "shared memory",
                "Collective name", "dtype", "Group size", "Process Group Name", "Process Group Ranks")
        sql = ("select category, key, count(*), count(distinct value) from (select distinct slice.id, category, "
               "replace(replace(key, 'args.', ''), 'debug.', '') key, display_value value from slice join args using (arg_set_id)) "
               f"where key in {keys} and category != 'other' group by 1, 2 order by 1, 2")
        for name in RECORDINGS:
            with self.subTest(name):
                path = str(files.FOLDER / "arguments.pftrace")
                files.convert(name, path)
                self.assertEqual(query(path, sql), query(files.rewritten(name), sql))

    def test_the_protobuf_is_read_without_an_error(self):
        for name in RECORDINGS:
            path = str(files.FOLDER / "stats.pftrace")
            files.convert(name, path)
            self.assertEqual(query(path, "select name, value from stats where severity in ('error', 'data_loss') and value > 0"), [], name)

    def test_a_session_has_what_was_put_there(self):
        path = files.session_like()
        # Its CSV does not escape quotes.
        slices = query(path, "select category, replace(name, '\"', '`'), count(*), sum(dur), sum(depth) from slice group by 1, 2")
        by_name = {row[1]: row for row in slices}
        self.assertEqual(by_name["void gemm<float, 128>(float const*, float*)"][2:4], ["3", "1500000"])
        self.assertEqual(by_name["forward `mlp`"][2:], ["3", "1200000", "3"])  # inside the step
        self.assertEqual(by_name["aten::linear"][4], "6")  # inside both
        self.assertEqual(by_name["prefetch"][2:4], ["1", "1500000"])
        self.assertEqual(by_name["epoch begins"][2], "1")
        self.assertEqual(query(path, "select count(*) from flow"), [["6"]])
        counters = query(path, "select name, value from counter join counter_track on track_id = counter_track.id")
        self.assertEqual([(name, float(value)) for name, value in counters], [("queue value", 2.5)])
        self.assertEqual(query(path, "select name, value from stats where severity in ('error', 'data_loss') and value > 0"), [])

    def test_rows_are_named_and_sorted(self):
        path = files.session_like()
        processes = query(path, "select pid, name, extract_arg(arg_set_id, 'process_sort_index_hint') from process "
                                "where name is not null order by 3")
        self.assertEqual([row[0] for row in sorted(processes, key=lambda row: int(row[2]))], ["4242", "0"])
        threads = {row[0] for row in query(path, "select name from thread where name is not null")}
        self.assertLessEqual({"main", "loader"}, threads)


if __name__ == "__main__":
    unittest.main()
