"""Snapshots written by us, loaded by Python's pickle and json and shown by PyTorch's memory_viz: the fields that we keep are
those of the original, for every version and shape that the generator makes and for recordings of an H200."""
import gzip
import importlib.util
import json
import os
import pathlib
import pickle
import pickletools
import subprocess
import tempfile
import unittest

from made_snapshots import VERSIONS, Maker

ROOT = pathlib.Path(__file__).resolve().parents[2]
REWRITE = os.environ.get("STEPSCOPE_REWRITE_SNAPSHOT", str(ROOT / "build/release/tests/memory/rewrite_snapshot"))
RECORDED = sorted((ROOT / "tests/data/memory/h200").glob("*.pickle.gz"))

# Opcodes of files that torch writes: a viewer that opens those knows these.
TORCHS_OPCODES = set("PROTO FRAME STOP MARK MEMOIZE BINGET LONG_BINGET EMPTY_DICT SETITEMS EMPTY_LIST APPEND APPENDS BININT BININT1 "
                     "BININT2 LONG1 SHORT_BINUNICODE BINUNICODE BINFLOAT NEWTRUE NEWFALSE TUPLE2".split())


def memory_viz():
    """torch/cuda/_memory_viz.py of the environment that tools/setup_python.sh makes, without importing torch."""
    for path in (ROOT / "build" / "venv").glob("lib/python3*/site-packages/torch/cuda/_memory_viz.py"):
        spec = importlib.util.spec_from_file_location("memory_viz", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    return None


def rewritten(data, ending=".pickle", max_entries=None):
    with tempfile.TemporaryDirectory() as folder:
        source, out = os.path.join(folder, "in"), os.path.join(folder, "out" + ending)
        pathlib.Path(source).write_bytes(data)
        subprocess.run([REWRITE, source, out, *([str(max_entries)] if max_entries else [])], check=True)
        return pathlib.Path(out).read_bytes()


def frames_of(frames):
    return [(f["name"], f["filename"], f["line"]) for f in frames or []]


def kept(snapshot):
    """What the columns keep, in the order of segments by address."""
    segments = []
    for segment in sorted(snapshot["segments"], key=lambda s: (s["device"], s["address"])):
        row = {k: v for k, v in segment.items() if k not in ("frames", "blocks", "segment_pool_id")}
        row.setdefault("is_expandable", False)
        at, blocks = segment["address"], []
        for block in segment["blocks"]:
            history = block.get("history")
            blocks.append((block.get("address", at), block["size"], history[0]["real_size"] if history else block.get("requested_size"),
                           block["state"], frames_of(history[0]["frames"] if history else block.get("frames"))))
            at += block["size"]
        segments.append((row, tuple(segment.get("segment_pool_id", ())), frames_of(segment.get("frames")), blocks))
    traces = []
    for trace in snapshot.get("device_traces", []):
        rows = []
        for entry in trace:
            row = {k: v for k, v in entry.items() if k not in ("frames", "forward_frames", "pool_id")}
            row = {k: v for k, v in row.items() if (k, v) not in (("compile_context", "N/A"), ("user_metadata", ""), ("category", "unknown"))}
            rows.append((row, tuple(entry.get("pool_id", ())), frames_of(entry.get("frames")), frames_of(entry.get("forward_frames"))))
        traces.append(rows)
    marks = sorted(snapshot.get("external_annotations", []), key=lambda mark: mark["time_us"])  # the columns hold them so
    return segments, traces, marks, snapshot.get("allocator_settings")


class SnapshotWriter(unittest.TestCase):
    maxDiff = 2000

    def assert_kept(self, original, what):
        data = pickle.dumps(original, 4)
        written = rewritten(data)
        self.assertEqual(kept(pickle.loads(written)), kept(original), what)
        self.assertEqual(kept(json.loads(rewritten(data, ".json"))), kept(original), what)
        return data, written

    def test_every_version_and_option(self):
        for version in VERSIONS:
            for seed in range(1, 6):
                self.assert_kept(Maker(seed=seed, version=version, entries=60, devices=1 + seed % 3, streams=seed % 2 == 0, oom=seed % 4 == 0,
                                       expandable=seed % 5 == 0, cpp=seed % 2 == 1).snapshot(), f"{version} seed {seed}")
        for option in ("pools", "categories", "forward", "no_frames", "repeated_frames"):
            self.assert_kept(Maker(version="2.14", entries=80, devices=2, **{option: True}).snapshot(), option)

    def test_recordings_and_only_torchs_opcodes(self):
        for path in RECORDED:
            with self.subTest(path.name):
                data = gzip.decompress(path.read_bytes())
                _, written = self.assert_kept(pickle.loads(data), path.name)
                self.assertLess(len(written), len(data))
                self.assertLessEqual({op.name for op, _, _ in pickletools.genops(written)}, TORCHS_OPCODES)
                self.assertEqual(rewritten(written), written)

    def test_more_entries_and_frames_than_a_batch(self):
        self.assert_kept(Maker(entries=3100, devices=2).snapshot(), "3100 entries")
        self.assert_kept(Maker(entries=12, depth=1500).snapshot(), "deep stacks")

    def test_the_newest_entries(self):
        original = Maker(entries=500, devices=2).snapshot()
        cut = pickle.loads(rewritten(pickle.dumps(original, 4), max_entries=100))
        self.assertEqual([len(trace) for trace in cut["device_traces"]], [100, 100])
        self.assertEqual(cut["trace_alloc_max_entries"], 100)
        original["device_traces"] = [trace[-100:] for trace in original["device_traces"]]
        self.assertEqual(kept(cut), kept(original))

    def test_memory_viz_says_the_same(self):
        viz = memory_viz()
        if viz is None:
            self.skipTest("no PyTorch in build/venv: tools/setup_python.sh makes it")
        for path in RECORDED:
            with self.subTest(path.name):
                original = pickle.loads(gzip.decompress(path.read_bytes()))
                written = pickle.loads(rewritten(gzip.decompress(path.read_bytes())))
                self.assertEqual(viz.segsum(written), viz.segsum(original))
                # Entries that it has no words for are printed as they are, with keys that say nothing.
                ours, theirs = ([line for line in viz.trace(s).split("\n") if not line.startswith("{'action'")] for s in (written, original))
                self.assertGreater(len(ours), 400)
                self.assertEqual(ours, theirs)
                for plot in (viz.trace_plot, viz.segment_plot):
                    self.assertIn("MemoryViz", plot(written))


if __name__ == "__main__":
    unittest.main()
