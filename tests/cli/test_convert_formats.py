"""convert to the formats of other viewers: Perfetto's protobuf, speedscope, folded stacks, CSV, memory timelines.

Each is decoded here by a reader of a few lines and compared with the events of the recording itself; the real readers
(Perfetto's schema, pandas) are asked in tests/readers.
"""
import collections
import csv
import decimal
import functools
import gzip
import io
import json
import os
import pathlib
import re
import struct
import tempfile
import unittest

from program import COMPLETE, DATA, PARTIAL, UNUSABLE, USAGE, run

RECORDINGS = ("golden/enc", "h200/ddp_rank0", "h200/solid4_stack", "h200/graph")
HOST = {"cpu_op", "user_annotation", "python_function", "cuda_runtime", "cuda_driver"}
DEVICE = {"kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation"}
csv.field_size_limit(1 << 30)


def path_of(name):
    return f"{name}.pt.trace.json.gz"


def nanoseconds(text):
    return int(decimal.Decimal(text) * 1000)


@functools.cache
def trace_of(name):
    return json.loads(gzip.decompress((DATA / path_of(name)).read_bytes()), parse_float=decimal.Decimal)


@functools.cache
def events_of(name):
    """The file's complete events, with exact times since 1970."""
    trace = trace_of(name)
    base = trace.get("baseTimeNanoseconds", 0)
    return [(e["cat"], e["name"], base + nanoseconds(e["ts"]), nanoseconds(e["dur"]))
            for e in trace["traceEvents"] if e.get("ph") == "X" and e.get("cat") in HOST | DEVICE]


ARGUMENTS = {"External id", "Sequence number", "correlation", "graph id", "bytes", "registers per thread", "shared memory", "grid", "block"}
COLLECTIVE = {"Collective name", "dtype", "Group size", "In msg nelems", "Out msg nelems", "Process Group Name", "Process Group Ranks"}


def arguments_of(name):
    """(category, key, value) of the file; those of collectives where a trace keeps them, at the kernels."""
    return collections.Counter((event["cat"], key, str(value).replace(" ", "") if isinstance(value, list) else value)
                               for event in trace_of(name)["traceEvents"] if event.get("ph") == "X" and event["cat"] in HOST | DEVICE
                               for key, value in event.get("args", {}).items()
                               if key in ARGUMENTS or key in COLLECTIVE and event["cat"] == "kernel")


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of a message: varints and fixed numbers as integers, the rest as bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        else:
            assert kind == 2, kind
            size, at = varint(data, at)
            assert at + size <= len(data)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def message(data):
    out = collections.defaultdict(list)
    for number, value in fields(data):
        out[number].append(value)
    return out


class PerfettoFile:
    """Slices, flows and tracks; fails where packets contradict each other."""

    def __init__(self, data):
        self.slices, self.tracks, self.counters = [], {}, collections.Counter()
        self.flow_starts, self.flow_ends = collections.Counter(), collections.Counter()
        self.arguments = collections.Counter()
        names, categories, open_slices, last = {}, {}, collections.defaultdict(list), {}
        keys, texts = {}, {}
        for number, packet in fields(data):
            assert number == 1
            packet = message(packet)
            if 60 in packet:
                track = message(packet[60][0])
                self.tracks[track[1][0]] = track.get(2, [b""])[0].decode("utf-8")
            for interned in packet.get(12, ()):
                for entry in message(interned)[1]:
                    entry = message(entry)
                    categories[entry[1][0]] = entry[2][0].decode("utf-8")
                for entries, known in ((2, names), (3, keys), (29, texts)):
                    for entry in message(interned)[entries]:
                        entry = message(entry)
                        known[entry[1][0]] = entry.get(2, [b""])[0].decode("utf-8")
            for event in packet.get(11, ()):
                event = message(event)
                kind, track, time = event[9][-1], event[11][0], packet[8][0]
                assert track in self.tracks
                if kind == 4:
                    self.counters[self.tracks[track]] += 1
                    continue
                assert time >= last.get(track, 0), "a track's events are in order of time"
                last[track] = time
                if kind == 2:
                    begun = open_slices[track].pop()
                    self.slices.append((*begun[:2], begun[2], time - begun[2]))
                    continue
                self.flow_starts.update(event[47])
                self.flow_ends.update(event[48])
                for argument in event[4]:
                    argument = message(argument)
                    value = argument[4][0] if 4 in argument else texts[argument[17][0]] if 17 in argument else argument[6][0].decode("utf-8")
                    self.arguments[categories[event[3][0]], keys[argument[1][0]], value] += 1
                if kind == 1:
                    open_slices[track].append((categories[event[3][0]], names[event[10][0]], time))
        assert not any(open_slices.values())


def folded_lines(text):
    for line in text.split("\n")[:-1]:
        found = re.fullmatch(r"([^\x00-\x20]+) ([1-9][0-9]*)", line)
        assert found, line[:200]
        yield found[1].split(";"), int(found[2])


class Formats(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def written(self, source, name, *arguments, status=COMPLETE):
        path = os.path.join(self.folder.name, name)
        done = run("convert", source, "-o", path, *arguments)
        self.assertEqual(done.status, status, done.err)
        return pathlib.Path(path).read_bytes()

    def test_perfetto_has_every_slice_of_the_recording_and_its_arguments(self):
        for name in RECORDINGS:
            with self.subTest(name):
                trace = PerfettoFile(self.written(path_of(name), "a.pftrace"))
                events = collections.Counter(events_of(name))
                slices = collections.Counter(s for s in trace.slices if s[0] != "other")
                self.assertGreater(len(events), 1000)
                self.assertEqual(list((events - slices).items())[:3], [])
                self.assertEqual(list((slices - events).items())[:3], [])
                arguments = arguments_of(name)
                found = collections.Counter({one: count for one, count in trace.arguments.items()
                                             if one[0] != "other" and one[1] in ARGUMENTS | COLLECTIVE})
                self.assertGreater(len(arguments), 500)
                self.assertEqual(list((arguments - found).items())[:3], [])
                self.assertEqual(list((found - arguments).items())[:3], [])

    def test_a_captures_launches_have_arrows(self):
        """Its links are drawn for viewers and are no rows when the file is read again."""
        source = "capture/made_v1_0.stepscope"
        text = self.written(source, "a.json")
        trace = json.loads(text)
        ends = {(e["ph"], e["id"]): e for e in trace["traceEvents"] if e.get("cat") == "ac2g"}
        kernels = {(e["pid"], e["tid"], e["ts"]) for e in trace["traceEvents"] if e.get("cat") == "kernel"}
        calls = {(e["pid"], e["tid"], e["ts"]): e["args"]["correlation"] for e in trace["traceEvents"] if e.get("cat") in ("cuda_runtime", "cuda_driver")}
        self.assertEqual(len(ends), 2 * len(kernels))
        self.assertEqual({(e["pid"], e["tid"], e["ts"]) for (phase, _), e in ends.items() if phase == "f"}, kernels)
        self.assertEqual(len({calls[e["pid"], e["tid"], e["ts"]] for (phase, _), e in ends.items() if phase == "s"}), len(kernels))
        self.assertEqual(self.written(source, "flows.csv", "--table", "flows").count(b"\n"), 1)
        self.assertEqual(self.written(os.path.join(self.folder.name, "a.json"), "flows.csv", "--table", "flows").count(b"\n"), 1)
        self.assertEqual(self.written(os.path.join(self.folder.name, "a.json"), "again.json"), text)
        categories = {s[0] for s in PerfettoFile(self.written(source, "a.pftrace")).slices}
        self.assertLessEqual({"cuda_sync", "kernel", "cuda_runtime"}, categories)

    def test_perfettos_arrows_begin_and_end(self):
        for name in RECORDINGS:
            with self.subTest(name):
                trace = PerfettoFile(self.written(path_of(name), "a.pftrace"))
                self.assertGreater(len(trace.flow_starts), 100)
                self.assertEqual(set(trace.flow_starts), set(trace.flow_ends))
        self.assertIn("GPU 0 memory allocated", PerfettoFile(self.written(path_of("golden/enc"), "b.pftrace")).counters)

    def test_speedscope_nests_and_has_every_row(self):
        for name in RECORDINGS:
            with self.subTest(name):
                file = json.loads(self.written(path_of(name), "a.speedscope.json"))
                self.assertEqual(file["$schema"], "https://www.speedscope.app/file-format-schema.json")
                frames = [frame["name"] for frame in file["shared"]["frames"]]
                found = collections.Counter()
                for profile in file["profiles"]:
                    self.assertEqual((profile["type"], profile["unit"]), ("evented", "nanoseconds"))
                    stack, at = [], profile["startValue"]
                    for event in profile["events"]:
                        self.assertLessEqual(at, event["at"])
                        at = event["at"]
                        if event["type"] == "O":
                            stack.append((event["frame"], at))
                        else:
                            frame, begun = stack.pop()
                            self.assertEqual(frame, event["frame"])
                            found[frames[frame], at - begun] += 1
                    self.assertEqual(stack, [])
                    self.assertLessEqual(at, profile["endValue"])
                self.assertEqual(found, collections.Counter((e[1], e[3]) for e in events_of(name)))

    def test_folded_stacks_add_up(self):
        for name in RECORDINGS:
            with self.subTest(name):
                gpu = list(folded_lines(self.written(path_of(name), "a.gpu.folded").decode("utf-8")))
                events = events_of(name)
                total = sum(e[3] for e in events if e[0] in DEVICE - {"gpu_user_annotation"}) // 1000
                self.assertLessEqual(abs(total - sum(value for _, value in gpu)), len(events))  # rounded down, each
                self.assertTrue(all(stack[0].startswith("GPU_") for stack, _ in gpu))
                cpu = list(folded_lines(self.written(path_of(name), "a.folded").decode("utf-8")))
                self.assertEqual(len(cpu), len({tuple(stack) for stack, _ in cpu}))
                # A thread's outermost rows cover what its lines say together.
                self.assertGreater(sum(value for _, value in cpu), 0)

    def test_csv_tables_have_the_rows(self):
        name = "golden/enc"
        self.assertEqual(run("convert", path_of(name), "-o", self.folder.name + "/tables/").status, COMPLETE)
        tables = {}
        for path in pathlib.Path(self.folder.name, "tables").iterdir():
            with path.open(newline="", encoding="utf-8") as file:
                header, *rows = csv.reader(file, strict=True)
            self.assertTrue(all(len(row) == len(header) for row in rows), path)
            tables[path.stem] = [dict(zip(header, row)) for row in rows]
        events = events_of(name)
        for table, categories in (("ops", {"cpu_op"}), ("spans", {"user_annotation"}), ("frames", {"python_function"}),
                                  ("calls", {"cuda_runtime", "cuda_driver"}), ("gpu_events", DEVICE - {"gpu_user_annotation"})):
            ours = collections.Counter((r["name"], int(r["end_ns"]) - int(r["start_ns"])) for r in tables[table])
            self.assertEqual(ours, collections.Counter((e[1], e[3]) for e in events if e[0] in categories), table)
        self.assertEqual(len(tables["steps"]), 2)
        self.assertEqual(sum(int(r["count"]) for r in tables["kernels"]), len(tables["gpu_events"]))
        self.assertTrue(all(not r["op"] or int(r["op"]) < len(tables["ops"]) for r in tables["gpu_events"]))
        one = self.written(path_of(name), "ops.csv", "--table", "ops")
        self.assertEqual(one, pathlib.Path(self.folder.name, "tables", "ops.csv").read_bytes())

    def test_memory_timelines_are_torchs(self):
        for name in ("conv", "enc"):
            with self.subTest(name):
                rows = json.loads(gzip.decompress(self.written(path_of(f"golden/{name}"), "a.memory.raw.json.gz")))
                golden = json.loads(gzip.decompress((DATA / f"golden/{name}.memtl.raw.json.gz").read_bytes()))
                self.assertEqual([r[:3] for r in rows if r[1] in (2, 4)], [r[:3] for r in golden if r[1] in (2, 4)])
                self.assertTrue(all(r[0] == -1 and r[1] == 1 for r in rows if r[1] not in (2, 4)))
                times, levels = json.loads(self.written(path_of(f"golden/{name}"), "a.memory.json"))
                self.assertEqual(len(times), len(levels))
                self.assertEqual({len(level) for level in levels}, {9})
                self.assertEqual({level[0] for level in levels}, {0})
                self.assertEqual(sum(levels[-1]), sum(r[2] for r in rows))
                page = self.written(path_of(f"golden/{name}"), "a.memory.html").decode("utf-8")
                self.assertIn("default-src 'none'", page)
                self.assertNotRegex(page, r"(src|href)\s*=|https?:")
        none = run("convert", "cases/A00_good.json", "-o", self.folder.name + "/none.memory.json")
        self.assertEqual(none.status, UNUSABLE)
        self.assertIn("profile_memory=True", none.err)
        self.assertFalse(os.path.exists(self.folder.name + "/none.memory.json"))

    def test_hostile_names_break_no_reader(self):
        long_name = "k" * 10_000_000
        names = ['quote " \\ back', "line\nbreak\r\ttab", "comma, semicolon; space", "</script><b>&", "nul \u0000 end", "\u2028", "",
                 "=1+2", long_name]
        events = [{"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 7, "ts": 10 * i + shift, "dur": 5,
                   "args": {"External id": i + 1, "correlation": i + 1, "Input Dims": [[name[:99]]]}}
                  for i, name in enumerate(names) for category, shift in (("cpu_op", 0), ("cuda_runtime", 1), ("kernel", 6))]
        text = json.dumps({"schemaVersion": 1, "traceEvents": events}, ensure_ascii=False).encode("utf-8")
        text = text.replace(b"comma", b"\xff\xfe\xc3comma")
        source = os.path.join(self.folder.name, "hostile.json")
        pathlib.Path(source).write_bytes(text)
        def short(found):  # a failure prints them
            return sorted(name if len(name) < 99 else f"{name[0]} x {len(name)}" for name in found)

        seen = {name.replace("comma", "\ufffd\ufffd\ufffdcomma") for name in names}
        status = run("ops", source).status
        self.assertIn(status, (COMPLETE, PARTIAL))
        trace = PerfettoFile(self.written(source, "a.pftrace", status=status))
        self.assertEqual(short({s[1] for s in trace.slices if s[0] == "kernel"}), short(seen))
        file = json.loads(self.written(source, "a.speedscope.json", status=status).decode("utf-8"))
        self.assertEqual(short({frame["name"] for frame in file["shared"]["frames"]}), short(seen))
        for kind in ("cpu", "gpu"):
            lines = list(folded_lines(self.written(source, f"a.{kind}.folded", status=status).decode("utf-8")))
            self.assertGreaterEqual(len(lines), len(names))
        rows = list(csv.DictReader(io.StringIO(self.written(source, "a.csv", "--table", "gpu_events", status=status).decode("utf-8"), newline=""), strict=True))
        self.assertEqual(short({row["name"] for row in rows}), short({name.replace("\0", "\ufffd") for name in seen}))

    def test_the_ending_or_the_option_says_the_format(self):
        good = "cases/A00_good.json"
        self.assertEqual(self.written(good, "a", "--to", "perfetto"), self.written(good, "b.pftrace"))
        self.assertEqual(gzip.decompress(self.written(good, "a.pftrace.gz")), self.written(good, "b.perfetto-trace"))
        self.assertEqual(run("convert", good, "-o", "-", "--to", "folded-gpu").out.encode(), self.written(good, "a.gpu.folded"))
        for arguments, said in ((("a", "--to", "perfeto"), "formats:"), (("a.csv",), "--table"), (("a.csv", "--table", "kernel"), "did you mean kernels?"),
                                (("a.pftrace", "--table", "ops"), "only CSV")):
            done = run("convert", good, "-o", os.path.join(self.folder.name, "x-" + arguments[0]), *arguments[1:])
            self.assertEqual(done.status, USAGE)
            self.assertIn(said, done.err)
        self.assertEqual([f for f in os.listdir(self.folder.name) if f.startswith("x-")], [])


if __name__ == "__main__":
    unittest.main()
