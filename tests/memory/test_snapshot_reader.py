"""The snapshot reader's columns against the objects that Python's pickle and json make of the same bytes."""
import io
import itertools
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
DUMP = os.environ.get("STEPSCOPE_DUMP_SNAPSHOT", str(ROOT / "build/release/tests/memory/dump_snapshot"))

KNOWN_ACTIONS = ("alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap",
                 "oom", "snapshot")
STATES = {"inactive": 0, "active_allocated": 1, "active_pending_free": 2}


def dump_of(data):
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        return json.loads(subprocess.run([DUMP, file.name], stdout=subprocess.PIPE, check=False).stdout)


def stack_of(frames):
    return [[f["name"], f["filename"], f["line"] if f["line"] < 1 << 63 else None] for f in frames or []]


def entry_row(entry):
    context = entry.get("compile_context", "")
    return {"action": entry["action"] if entry["action"] in KNOWN_ACTIONS else "unknown",
            "category": entry.get("category", "unknown").replace("_", " "),
            "stream": entry.get("stream"),
            "pool": list(entry["pool_id"]) if "pool_id" in entry else None,
            "stack": stack_of(entry.get("frames")),
            "forward_stack": stack_of(entry.get("forward_frames")),
            "compile_context": "" if context == "N/A" else context,
            "user_metadata": entry.get("user_metadata", ""),
            "address": entry.get("addr", entry.get("device_free", 0)),
            "size_bytes": entry["size"],
            "time_us": entry.get("time_us")}


def block_row(block, address):
    history = block.get("history")
    return {"address": block.get("address", address),
            "size_bytes": block["size"],
            "requested_bytes": history[0]["real_size"] if history else block.get("requested_size"),
            "state": STATES[block["state"]],
            "stack": stack_of(history[0]["frames"] if history else block.get("frames")),
            "is_sum": 0}  # only a trace's lump is one


def segment_row(segment):
    return {"device": segment["device"], "address": segment["address"], "total_bytes": segment["total_size"],
            "allocated_bytes": segment["allocated_size"], "active_bytes": segment["active_size"],
            "requested_bytes": segment.get("requested_size"), "stream": segment["stream"],
            "pool": list(segment["segment_pool_id"]) if "segment_pool_id" in segment else None,
            "is_small": int(segment["segment_type"] == "small"), "is_expandable": int(segment.get("is_expandable", False)),
            "stack": stack_of(segment.get("frames"))}


class SnapshotReader(unittest.TestCase):
    def assert_rows(self, shown, expected, what):
        """assertEqual takes minutes to draw the difference of two long lists."""
        self.assertEqual(len(shown), len(expected), what)
        for at, (one, other) in enumerate(zip(shown, expected)):
            if one != other:
                self.fail(f"{what}: row {at} is {str(one)[:600]}, not {str(other)[:600]}")

    def assert_read(self, data, loaded, what):
        """`loaded`: what Python makes of `data`."""
        shown = dump_of(data)
        self.assertNotIn("error", shown, what)
        snapshot = {"segments": loaded} if isinstance(loaded, list) else loaded
        traces = snapshot.get("device_traces", [])
        self.assert_rows(shown["entries"], [entry_row(e) for trace in traces for e in trace], what)
        ends = list(itertools.accumulate(len(trace) for trace in traces))
        for device in shown["devices"]:
            number = device["number"]
            if number < len(traces):
                self.assertEqual(device["entries"], [ends[number] - len(traces[number]), ends[number]], what)
        segments = sorted(snapshot["segments"], key=lambda s: (s["device"], s["address"]))
        self.assert_rows([{k: v for k, v in row.items() if k != "blocks"} for row in shown["segments"]],
                         [segment_row(s) for s in segments], what)
        blocks = []
        for segment in segments:
            at = segment["address"]
            for block in segment["blocks"]:
                blocks.append(block_row(block, at))
                at += block["size"]
        self.assert_rows(shown["blocks"], blocks, what)
        self.assertEqual([(a["name"], a["is_start"], a["device_number"], a["time_us"]) for a in shown["annotations"]],
                         [(a["name"], int(a["stage"] == "START"), a["device"], a["time_us"])
                          for a in sorted(snapshot.get("external_annotations", []), key=lambda a: a["time_us"])], what)
        self.assert_settings(shown["settings"], snapshot.get("allocator_settings"), what)
        self.assertEqual([n for n in shown["notes"] if n["kind"] != "history_cut"], [], what)
        return shown

    def assert_settings(self, shown, settings, what):
        self.assertEqual(shown["is_recorded"], settings is not None, what)
        if settings is None:
            return
        self.assertEqual(shown["conf"], settings["PYTORCH_CUDA_ALLOC_CONF"], what)
        self.assertEqual(shown["garbage_collection_threshold"], settings["garbage_collection_threshold"], what)
        self.assertEqual(shown["expandable_segments"], settings["expandable_segments"], what)
        self.assertEqual(shown["roundup_power2_divisions"],
                         [[int(k), v] for k, v in settings["roundup_power2_divisions"].items()], what)
        self.assertEqual(dict(shown["others"]), {"pinned_num_register_threads": "1", "release_lock_on_cudamalloc": "False"})

    def assert_snapshot_read(self, snapshot, what, protocols=(0, 1, 2, 3, 4, 5)):
        for protocol in protocols:
            data = pickle.dumps(snapshot, protocol)
            shown = self.assert_read(data, pickle.loads(data), f"{what}, protocol {protocol}")
            self.assertEqual(shown["protocol"], protocol if protocol > 1 else 0)
        return shown

    def test_every_version_with_every_seed(self):
        for version in VERSIONS:
            for seed in range(1, 21):
                snapshot = Maker(seed=seed, version=version, entries=60, devices=1 + seed % 3, streams=seed % 2 == 0,
                                 pools=seed % 3 == 0, oom=seed % 4 == 0, expandable=seed % 5 == 0,
                                 cpp=seed % 2 == 1).snapshot()
                self.assert_snapshot_read(snapshot, f"{version} seed {seed}", (0, 2, 4) if seed == 1 else (4,))

    def test_every_option_in_every_protocol(self):
        for option in ("cpp", "expandable", "oom", "streams", "pools", "categories", "forward", "no_frames", "overflow",
                       "repeated_frames"):
            self.assert_snapshot_read(Maker(version="2.14", entries=80, devices=2, **{option: True}).snapshot(), option)

    def test_stacks_deeper_than_a_batch_of_the_pickler(self):
        for depth in (999, 1000, 1001, 2500):
            self.assert_snapshot_read(Maker(entries=12, depth=depth).snapshot(), f"depth {depth}")

    def test_more_entries_than_a_batch(self):
        shown = self.assert_snapshot_read(Maker(entries=3100, devices=2).snapshot(), "3100 entries", (0, 4))
        self.assertEqual(len(shown["devices"]), 2)

    def test_pickle_that_was_optimized(self):
        data = pickletools.optimize(pickle.dumps(Maker().snapshot(), 4))
        self.assert_read(data, pickle.loads(data), "optimized")

    def test_pickle_without_memo(self):
        file = io.BytesIO()
        pickler = pickle.Pickler(file, 2)
        pickler.fast = True
        pickler.dump(Maker().snapshot())
        self.assert_read(file.getvalue(), pickle.loads(file.getvalue()), "fast")

    def test_pickle_from_the_python_pickler(self):
        file = io.BytesIO()
        pickle._Pickler(file, 4).dump(Maker(entries=1500).snapshot())  # pylint: disable=protected-access
        self.assert_read(file.getvalue(), pickle.loads(file.getvalue()), "python pickler")

    def test_json(self):
        for version in VERSIONS:
            loaded = Maker(version=version, pools=True, streams=True, cpp=True, devices=2).snapshot()
            for indent in (None, 2):
                data = json.dumps(loaded, indent=indent).encode()
                self.assertEqual(self.assert_read(data, json.loads(data), f"json {version}")["format"], "json")
        self.assert_read(json.dumps(loaded, ensure_ascii=False).encode(), loaded, "json in UTF-8")
        self.assert_read(json.dumps(loaded["segments"]).encode(), loaded["segments"], "json list")

    def test_bare_list_of_segments(self):
        for version in ("2.0", "2.9"):
            self.assert_snapshot_read(Maker(version=version).snapshot()["segments"], f"list {version}")
        self.assert_snapshot_read(Maker(entries=3).snapshot()["segments"][:1], "list of one")

    def test_segments_in_any_order(self):
        snapshot = Maker(entries=600, devices=3).snapshot()
        snapshot["segments"].reverse()
        self.assert_snapshot_read(snapshot, "reversed")

    def test_keys_in_another_order(self):
        snapshot = Maker(version="2.14", devices=2).snapshot()
        snapshot = dict(reversed(snapshot.items()))
        for trace in snapshot["device_traces"]:
            trace[:] = [dict(reversed(entry.items())) for entry in trace]
        self.assert_snapshot_read(snapshot, "reversed keys")

    def test_same_objects_named_twice(self):
        snapshot = Maker().snapshot()
        trace = snapshot["device_traces"][0]
        snapshot["device_traces"] = [trace, trace[:50] + trace[:50], [], trace[3:4]]
        snapshot["segments"] += snapshot["segments"][:1]
        self.assert_snapshot_read(snapshot, "aliases")

    def test_entries_of_the_host_are_counted_only(self):
        snapshot = Maker(version="2.14").snapshot()
        other = Maker(version="2.14", seed=9).snapshot()
        snapshot["host_traces"], snapshot["host_segments"] = other["device_traces"], other["segments"]
        shown = self.assert_snapshot_read(snapshot, "host last")
        self.assertEqual(shown["host_entries"], len(other["device_traces"][0]))
        self.assertEqual(shown["host_segments"], len(other["segments"]))
        first = {"host_traces": snapshot.pop("host_traces")}
        self.assert_snapshot_read({**first, **snapshot}, "host first")
        flat = {**first, **snapshot, "host_traces": other["device_traces"][0]}
        self.assertEqual(self.assert_snapshot_read(flat, "host flat")["host_entries"], len(other["device_traces"][0]))

    def test_full_ring_is_told(self):
        for overflow in (True, False, [True], [False]):
            snapshot = Maker(version="2.14").snapshot()
            snapshot["trace_alloc_overflowed"] = overflow
            shown = self.assert_snapshot_read(snapshot, f"overflow {overflow}")
            is_cut = overflow in (True, [True])
            self.assertEqual(shown["devices"][0]["is_history_cut"], int(is_cut))
            self.assertEqual([n["kind"] for n in shown["notes"]], ["history_cut"] if is_cut else [])
        del snapshot["trace_alloc_overflowed"]
        self.assertEqual(self.assert_snapshot_read(snapshot, "full")["devices"][0]["is_history_cut"], 1)
        snapshot["trace_alloc_max_entries"] += 1
        self.assertEqual(self.assert_snapshot_read(snapshot, "not full")["devices"][0]["is_history_cut"], 0)

    def test_numbers_of_any_size(self):
        for number in (0, 1, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**55 - 1, 2**55, 2**61):
            snapshot = Maker(entries=4).snapshot()
            snapshot["device_traces"][0][1].update(addr=number, size=number, time_us=number, stream=number)
            self.assert_snapshot_read(snapshot, f"number {number}")
        for number in (-1, -255, -2**31, -2**55, -2**55 - 1, -2**62, 2**63 - 1):
            snapshot["device_traces"][0][1].update(addr=1, size=1, time_us=number, stream=number)
            self.assert_snapshot_read(snapshot, f"number {number}")
        snapshot["device_traces"][0][1].update(addr=2**64 - 1, time_us=1, stream=0)
        self.assert_snapshot_read(snapshot, "address of 64 bits")

    def test_text_of_any_kind(self):
        for text in ("", "a", "\\", "back\\slash \\u0041", "line\nbreak\r", "\u00e4", "\u4e2d\u6587", "\U0001f600", "'\"",
                     "x" * 255, "x" * 256, "y" * 70000, "\x00"):
            snapshot = Maker(entries=4).snapshot()
            snapshot["device_traces"][0][1]["user_metadata"] = text
            self.assert_snapshot_read(snapshot, repr(text[:20]))


if __name__ == "__main__":
    unittest.main()
