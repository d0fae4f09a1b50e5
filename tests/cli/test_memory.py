"""stepscope memory: every case of snapshot through the whole command, the document, the text, the findings, wrong usage."""
import gzip
import json
import pathlib
import pickle
import re
import tempfile
import unittest

from made_snapshots import BUILD, EMPTY_CACHE, FORWARD, MIB, Snapshot, growing_sizes, training
from program import COMPLETE, DATA, PARTIAL, ROOT, UNUSABLE, USAGE, WIDTHS, columns, once, run, without_colour

MEMORY = DATA / "memory"
RECORDED = sorted(f"memory/h200/{p.name}" for p in (MEMORY / "h200").glob("*.pickle.gz"))
CASES = sorted(f"memory/{p.name}" for p in MEMORY.glob("C*.pickle"))
HOSTILE = sorted(f"memory/hostile/{p.name}" for p in (MEMORY / "hostile").iterdir())
DESCRIBED = set(re.findall(r"`([a-z0-9_.\-\[\]]+)`", (ROOT / "docs" / "formats" / "memory.md").read_text()))
DETAILS = re.compile(r"^(Findings, with|Held |Levels$|What if$|Steps,|Free memory|Devices$|Data$)")


def memory(path, *arguments, **more):
    return run("memory", path, *arguments, **more)


def document(path, *arguments, **more):
    return memory(path, *arguments, "--json", **more).json()


def case(name, *arguments):
    return document(f"memory/{name}.pickle", *arguments)


def level(device, kind):
    return {key: value // MIB if key.endswith("bytes") and value is not None else value for key, value in device[kind].items()}


def made(snapshot, *arguments):
    return document("-", *arguments, stdin=snapshot.pickle())


def ids(found):
    return [finding["id"] for finding in found["findings"]]


def first_screen(text):
    lines = text.splitlines()
    end = next((i for i, line in enumerate(lines) if DETAILS.match(line)), len(lines))
    while end > 0 and lines[end - 1] == "":
        end -= 1
    return lines[:end]


class Traces(unittest.TestCase):
    """Memory events of torch.profiler as a history: what a snapshot of the same run says, without what only it knows."""

    def test_levels_are_those_of_the_report(self):
        path = "h200/sync.pt.trace.json.gz"
        found = document(path)
        reported = run("report", path, "--json").json()["memory"]["devices"][0]
        device = found["devices"][0]
        self.assertEqual(found["source"]["format"], "trace")
        self.assertEqual(device["allocated"]["peak_bytes"], reported["allocated_peak"]["bytes"])
        self.assertEqual(device["allocated"]["end_bytes"], reported["allocated_last_bytes"])
        self.assertEqual(device["reserved"]["peak_bytes"], reported["reserved_peak"]["bytes"])
        self.assertEqual(sum(row["bytes"] for row in device["live_at_peak"]), device["requested"]["peak_bytes"])
        self.assertEqual(device["contradiction_count"], 0)
        self.assertIsNone(device["fragmentation"])
        self.assertEqual(device["steps"]["name"], "ProfilerStep")

    def test_how_to_record_memory_is_told_by_the_tool_that_made_the_file(self):
        for path, words in (("jax/vm.trace.json.gz", "which JAX's traces never hold"),
                            ("capture/cpu_v1_0.stepscope", "record with stepscope run --memory"),
                            ("h200/ddp_rank0.pt.trace.json.gz", "record with profile_memory=True")):
            with self.subTest(path):
                done = memory(path)
                self.assertEqual(done.status, UNUSABLE)
                said = " ".join(done.err.split())
                self.assertIn(words, said)
                self.assertEqual("profile_memory" in said, "profile_memory" in words, said)

    def test_what_if_is_withheld(self):
        done = memory("h200/sync.pt.trace.json.gz", "--what-if")
        self.assertEqual(done.status, COMPLETE, done.err)
        self.assertIn("Withheld: a trace tells neither streams nor pools", done.out)

    def test_a_capture_of_a_program_without_pytorch(self):
        """tests/data/capture/cuda_memory_v1_1.stepscope: 512 MiB that stay, and 100 MiB in each of four steps, 900 MiB in one."""
        path = "capture/cuda_memory_v1_1.stepscope"
        found = document(path)
        device = found["devices"][0]
        self.assertEqual([level(device, "allocated")[key] for key in ("start_bytes", "peak_bytes", "end_bytes")], [0, 1412, 512])
        self.assertEqual([(row["line"], row["bytes"] // MIB) for row in device["live_at_peak"]], [("main.py:30 solve", 900), ("main.py:12 make_grid", 512)])
        self.assertEqual([row["peak_bytes"] // MIB for row in device["steps"]["rows"]], [612, 612, 1412, 612])
        self.assertEqual(ids(found), ["memory-spike"], "calls of CUDA are no retries of an allocator")
        self.assertTrue(device["history"]["whole_life"])
        report = run("report", path)
        self.assertIn("process 1,012 MiB, allocator 512 MiB, rest 500 MiB", report.out)

    def test_it_is_not_written_as_a_snapshot(self):
        with tempfile.TemporaryDirectory() as folder:
            done = memory("h200/sync.pt.trace.json.gz", "-o", pathlib.Path(folder) / "out.pickle")
            self.assertEqual(done.status, UNUSABLE, done.err)
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])

    def test_its_peak_is_that_of_the_report(self):
        for name in ("cases/A38_memory_instants.json", "h200/memspike.pt.trace.json.gz", "h200/loader.pt.trace.json.gz", "golden/conv.pt.trace.json.gz"):
            with self.subTest(name):
                peaks = [d["allocated"]["peak_bytes"] for d in run("memory", name, "--json").json()["devices"]]
                report = run("report", name, "--json").json()["memory"]["devices"]
                self.assertEqual(peaks, [d["allocated_peak"]["bytes"] for d in report])
        text = run("memory", "cases/A38_memory_instants.json")
        self.assertEqual(text.status, PARTIAL)
        self.assertIn("never allocated", text.out)

    def test_a_pipe_is_read_as_a_file_is(self):
        name = "cases/A38_memory_instants.json"
        piped, read = memory("-", "--json", stdin=(DATA / name).read_bytes()), run("memory", name, "--json")
        self.assertEqual(piped.status, read.status, piped.err)
        self.assertEqual(piped.json()["devices"], read.json()["devices"])


class MomentsThatAreNotThere(unittest.TestCase):
    def test_are_refused_and_the_end_is_not_shown_for_them(self):
        for name, at, said in (("C01_basic_proto4.pickle", "1e30s", "the last entry is at 7.000ms"),
                               ("C01_basic_proto4.pickle", "", "no moment is named"),
                               ("C08_no_history.pickle", "start", "no history was recorded"),
                               ("C08_no_history.pickle", "#0", "no history was recorded")):
            with self.subTest(name=name, at=at):
                done = memory(f"memory/{name}", "--at", at)
                self.assertEqual((done.status, done.out), (USAGE, ""))
                self.assertIn(said, done.err)
        self.assertEqual(memory("memory/C08_no_history.pickle", "--at", "end").status, COMPLETE)


class AddressMap(unittest.TestCase):
    def test_the_map_beside_a_snapshot_decides(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "run.end.pickle"
            path.write_bytes((MEMORY / "C01_basic_proto4.pickle").read_bytes())
            block = next(block for segment in pickle.loads(path.read_bytes())["segments"] for block in segment["blocks"] if block["state"] == "active_allocated")
            address = block.get("address", None)
            tensors = {"gradient": [[0, address, block["size"]]]}
            beside = pathlib.Path(folder) / "run.end.tensors.json"
            before = document(path, "--at", "end", "--by", "category")["live"]["groups"]
            beside.write_text(json.dumps({"format": "stepscope-tensor-addresses", "version": 1, "time_ns": 1, "tensors": tensors}))
            after = document(path, "--at", "end", "--by", "category")["live"]["groups"]
            self.assertNotEqual(before, after)
            self.assertIn("gradient", json.dumps(after))
            beside.write_text("{}")
            damaged = memory(path)
            self.assertEqual(damaged.status, COMPLETE)
            self.assertIn("the map of tensor addresses does not say it is one", damaged.err)


class Cases(unittest.TestCase):
    def test_one_answer_in_four_protocols(self):
        for protocol in (2, 3, 4, 5):
            with self.subTest(protocol):
                found = case(f"C01_basic_proto{protocol}")
                device = found["devices"][0]
                allocated = level(device, "allocated")
                self.assertEqual((allocated["start_bytes"], allocated["peak_bytes"], allocated["end_bytes"]), (0, 18, 8))
                self.assertEqual(allocated["peak_event"], 3)  # segment_alloc, then the third alloc
                self.assertEqual(level(device, "reserved")["peak_bytes"], 20)
                self.assertEqual(found["source"]["pickle_protocol"], protocol)
                self.assertEqual(found["history"], {"recorded": True, "entries": 8, "truncated": False})
                self.assertEqual(sum(line["bytes"] for line in device["live_at_peak"]), device["requested"]["peak_bytes"])

    def test_nothing_is_run(self):
        for path, name in (("memory/C02_global_call.pickle", "print"), ("memory/hostile/global_reduce.pickle", "system")):
            done = memory(path)
            self.assertEqual(done.status, UNUSABLE)
            self.assertIn(name, done.err)
            self.assertNotIn("PICKLE WAS EXECUTED", done.out + done.err)

    def test_what_is_older_than_the_history_counts(self):
        device = case("C03_before_history")["devices"][0]
        requested = level(device, "requested")
        self.assertEqual((requested["start_bytes"], requested["peak_bytes"], requested["end_bytes"]), (14, 19, 12))
        self.assertEqual(level(device, "reserved")["peak_bytes"], 20)
        self.assertIsNone(device["reserved"]["peak_event"])
        self.assertIn("older than the history", memory("memory/C03_before_history.pickle").out)

    def test_expandable_segments(self):
        device = case("C06_expandable")["devices"][0]
        reserved, allocated = level(device, "reserved"), level(device, "allocated")
        self.assertEqual((reserved["peak_bytes"], reserved["end_bytes"]), (40, 20))
        self.assertEqual((allocated["peak_bytes"], allocated["end_bytes"]), (30, 4))
        self.assertEqual(device["segments"], 1)

    def test_without_history_there_is_no_peak(self):
        done = memory("memory/C08_no_history.pickle")
        self.assertEqual(done.status, COMPLETE)
        text = " ".join(done.out.split())
        self.assertIn("history was not recorded: no timeline, no peak", text)
        self.assertIn("torch.cuda.memory._record_memory_history", text)
        found = case("C08_no_history")
        device = found["devices"][0]
        for kind, end in (("requested", 8), ("allocated", 8), ("active", 8), ("reserved", 20)):
            self.assertEqual([device[kind][key] for key in ("start_bytes", "peak_bytes", "peak_event")], [None] * 3)
            self.assertEqual(device[kind]["end_bytes"], end * MIB)
        self.assertEqual((device["live_at_peak"], device["oom_count"], device["cuda_malloc_count"]), (None, None, None))
        self.assertEqual(found["history"]["recorded"], False)
        self.assertEqual(sum(line["bytes"] for line in device["live_at_end"]), 8 * MIB)
        self.assertEqual(found["live"]["at"], "end")
        self.assertNotEqual(memory("memory/C08_no_history.pickle", "--at", "peak").status, COMPLETE)

    def test_the_device_with_activity_is_shown(self):
        found = case("C09_many_devices")
        self.assertEqual((found["main_device"], found["shown_device"], len(found["devices"])), (2, 2, 8))
        allocated = level(found["devices"][2], "allocated")
        self.assertEqual((allocated["peak_bytes"], allocated["end_bytes"]), (32, 16))
        self.assertEqual(level(found["devices"][2], "reserved")["end_bytes"], 40)
        stray = found["devices"][0]
        self.assertEqual((level(stray, "allocated")["end_bytes"], level(stray, "reserved")["end_bytes"]), (1, 2))
        text = memory("memory/C09_many_devices.pickle").out
        self.assertTrue(text.startswith("GPU 2 of 8"), text[:40])
        self.assertRegex(text, r"GPU 0: 1\.0 MiB in 2\.0 MiB")
        self.assertTrue(memory("memory/C09_many_devices.pickle", "--device", "0").out.startswith("GPU 0 of 8"))

    def test_out_of_memory_by_fragmentation(self):
        oom = case("C10_oom_fragmented")["devices"][0]["oom"]
        self.assertEqual((oom["request_bytes"], oom["reserved_bytes"], oom["allocated_bytes"]), (12 * MIB, 60 * MIB, 40 * MIB))
        self.assertEqual(oom["device_free_bytes"], MIB)
        self.assertEqual(oom["usable"], {"free_bytes": 20 * MIB, "largest_free_bytes": 8 * MIB, "free_piece_count": 3})
        self.assertTrue(oom["is_fragmentation"])
        text = " ".join(memory("memory/C10_oom_fragmented.pickle").out.split())
        self.assertIn("free for it 20 MiB in 3 pieces, largest 8.0 MiB: fragmentation", text)

    def test_unknown_entries_are_counted(self):
        allocated = level(case("C14_unknown_action")["devices"][0], "allocated")
        self.assertEqual((allocated["peak_bytes"], allocated["end_bytes"]), (18, 8))
        done = memory("memory/C14_unknown_action.pickle")
        self.assertIn("1 entry of unknown kind ignored", done.out)
        self.assertEqual(done.status, COMPLETE)

    def test_a_cut_file_has_no_sound_numbers(self):
        done = memory("memory/C15_truncated.pickle")
        self.assertEqual(done.status, PARTIAL)
        self.assertIn("The file is cut at byte 700: copy it again", " ".join(done.out.split()))
        found = case("C15_truncated")
        self.assertEqual(found["status"], "partial")
        self.assertIsNotNone(found["headline_withheld"])
        self.assertIsNone(found["live"])
        for device in found["devices"]:
            for kind in ("requested", "allocated", "active", "reserved"):
                self.assertEqual(set(device[kind].values()), {None})
        self.assertEqual(memory("memory/C15_truncated.pickle", "--folded").status, UNUSABLE)
        self.assertEqual(memory("memory/C01_basic_proto4.pickle", "--diff", "memory/C15_truncated.pickle").status, UNUSABLE)

    def test_an_empty_file(self):
        done = memory("memory/C11_zero_bytes.pickle")
        self.assertEqual((done.status, done.out), (UNUSABLE, ""))
        self.assertIn("empty", done.err)

    def test_hostile_files_end_with_a_sentence(self):
        for path in HOSTILE:
            for more in ([], ["--what-if"], ["--folded"], ["--json"], ["--by", "stack"]):
                with self.subTest(path, more=more):
                    done = memory(path, *more)
                    self.assertIn(done.status, (COMPLETE, USAGE, UNUSABLE, PARTIAL), done.err)
                    if "--json" in more:
                        self.assertIn(done.json()["status"], ("complete", "partial", "unusable"))
                    elif done.status in (USAGE, UNUSABLE):
                        self.assertTrue(done.err.startswith("stepscope: "), done.err)
                    self.assertLess(len(done.err), 2000)

    def test_every_prefix_of_a_file_is_survived(self):
        whole = (MEMORY / "C01_basic_proto4.pickle").read_bytes()
        for end in range(0, len(whole), 37):
            done = memory("-", stdin=whole[:end])
            self.assertIn(done.status, (UNUSABLE, PARTIAL), end)


class Containers(unittest.TestCase):
    def test_gzip_json_and_pipes_give_the_same(self):
        raw = (MEMORY / "C01_basic_proto4.pickle").read_bytes()
        wanted = document("-", stdin=raw)
        as_json = json.dumps(pickle.loads(raw)).encode()
        for data in (gzip.compress(raw), as_json, gzip.compress(as_json)):
            found = document("-", stdin=data)
            self.assertEqual(found["devices"], wanted["devices"])
            self.assertEqual(found["live"], wanted["live"])

    def test_a_cut_gzip_stream_gives_what_was_whole(self):
        raw = (MEMORY / "h200" / "snap.oom.pickle.gz").read_bytes()
        done = memory("-", stdin=raw[:20_000])
        self.assertEqual(done.status, PARTIAL)
        self.assertIn("cannot carry an answer", done.out)
        kinds = {note["kind"] for note in document("-", stdin=raw[:20_000])["notes"]}
        self.assertLessEqual({"file_cut", "gzip_damaged"}, kinds)

    def test_the_right_command_is_named(self):
        done = memory("cases/A00_good.json")
        self.assertEqual(done.status, UNUSABLE)
        self.assertIn("profile_memory=True", done.err)
        self.assertIn("stepscope report cases/A00_good.json", done.err)
        self.assertIn("stepscope report", memory(f"capture/{sorted(p.name for p in (DATA / 'capture').iterdir())[0]}").err)
        for path in ("memory/C01_basic_proto4.pickle", RECORDED[0]):
            for command in ("report", "steps", "ops"):
                done = run(command, path)
                self.assertEqual(done.status, UNUSABLE)
                self.assertIn(f"stepscope memory {path}", done.err)

    def test_no_such_file(self):
        self.assertEqual(memory("no/such.pickle").status, UNUSABLE)
        self.assertIn("no such file", memory("no/such.pickle").err)


class Recorded(unittest.TestCase):
    """tests/data/memory/README.md has what torch.cuda.memory_stats() said."""

    def test_peaks_of_the_recordings(self):
        for name, reserved, allocated in (("snap", 2_975_858_688, None), ("snapx", 2_413_821_952, None),
                                          ("snap.oom", 3_001_024_512, 2_896_768_512), ("snapx.oom", 3_001_024_512, 2_232_615_936)):
            device = document(f"memory/h200/{name}.pickle.gz")["devices"][0]
            with self.subTest(name):
                if allocated:
                    self.assertEqual(device["allocated"]["peak_bytes"], allocated)
                else:
                    self.assertEqual(device["reserved"]["end_bytes"], reserved)
                    self.assertEqual(device["allocated"]["end_bytes"], 504_561_664)
                # The cap is no multiple of a segment: reserved ends below it.
                self.assertLessEqual(device["reserved"]["peak_bytes"], reserved)
                self.assertTrue(device["history"]["whole_life"])

    def test_each_recording_predicts_the_other(self):
        for name, settings, reserved in (("snap", "expandable_segments:True", 2_413_821_952), ("snapx", "default", 2_975_858_688)):
            rows = document(f"memory/h200/{name}.pickle.gz", "--what-if", settings)["what_if"]
            self.assertEqual(len(rows), 1)
            self.assertEqual((rows[0]["settings"], rows[0]["reserved_peak_bytes"], rows[0]["oom"]), (settings, reserved, None))
            self.assertEqual((rows[0]["replay_matched"], rows[0]["replay_total"]), (591, 591))

    def test_the_other_settings_own_failure(self):
        rows = document("memory/h200/snap.oom.pickle.gz", "--what-if", "expandable_segments:True", "--capacity", "3002197606")["what_if"]
        self.assertEqual((rows[0]["oom"]["request_bytes"], rows[0]["allocated_peak_bytes"], rows[0]["retries"]), (6_076_928, 2_232_615_936, 2))
        self.assertEqual(rows[0]["capacity_bytes"], 3_002_197_606)

    def test_an_oom_brings_a_ranked_table_unasked(self):
        found = document("memory/h200/snap.oom.pickle.gz")
        self.assertGreater(len(found["what_if"]), 5)
        self.assertEqual(found["findings"][0]["id"], "out-of-memory")
        serving = [row for row in found["what_if"] if row["oom"] is None]
        self.assertTrue(serving)
        for row in found["what_if"]:
            self.assertEqual((row["replay_matched"], row["replay_total"]), (1378, 1378))
        self.assertEqual(document("memory/h200/snap.pickle.gz")["what_if"], [])

    def test_live_sets_sum_to_the_requested_peak(self):
        for path in RECORDED + CASES:
            found = document(path)
            for device in found.get("devices", []):
                if device["live_at_peak"] is not None:
                    self.assertEqual(sum(line["bytes"] for line in device["live_at_peak"]), device["requested"]["peak_bytes"], path)
            if found.get("live"):
                self.assertEqual(sum(group["bytes"] for group in found["live"]["groups"]), found["live"]["bytes"])

    def test_every_grouping_sums_alike(self):
        for path in RECORDED[:2]:
            wanted = document(path)["live"]["bytes"]
            for by in ("line", "stack", "category", "span", "module", "device", "stream", "pool"):
                live = document(path, "--by", by)["live"]
                self.assertEqual((live["by"], live["bytes"], sum(g["bytes"] for g in live["groups"])), (by, wanted, wanted))

    def test_folded_stacks(self):
        for path in RECORDED:
            done = memory(path, "--folded")
            self.assertEqual(done.status, COMPLETE)
            total = 0
            for line in done.out.splitlines():
                stack, value = line.rsplit(" ", 1)
                self.assertNotRegex(stack, r"[ \t]")
                self.assertGreater(int(value), 0)
                total += int(value)
            self.assertEqual(total, document(path)["live"]["bytes"])
        self.assertRegex(memory("memory/C01_basic_proto4.pickle", "--folded").out, r"(?m)^\S*train\.py:9\S*;\S*model\.py:41_forward 18874368$")

    def test_lifetimes(self):
        path = "memory/C01_basic_proto4.pickle"
        entries = pickle.loads((DATA / path).read_bytes())["device_traces"][0]
        made, held = {}, 0.0
        for entry in entries:
            if entry["action"] == "alloc":
                made[entry["addr"]] = entry
            elif entry["action"] == "free_completed":
                begun = made.pop(entry["addr"])
                held += begun["size"] * (entry["time_us"] - begun["time_us"]) / 1e6
        held += sum(entry["size"] * (entries[-1]["time_us"] - entry["time_us"]) / 1e6 for entry in made.values())
        lifetimes = document(path, "--lifetimes")["lifetimes"]
        self.assertAlmostEqual(sum(group["byte_seconds"] for group in lifetimes["byte_time"]), held, delta=1)
        self.assertEqual(sum(group["bytes"] for group in lifetimes["never_freed"]), sum(e["size"] for e in made.values()))
        self.assertIsNone(document(path)["lifetimes"])
        by_category = document(path, "--lifetimes", "--by", "category")["lifetimes"]
        self.assertEqual(by_category["by"], "category")
        self.assertAlmostEqual(sum(group["byte_seconds"] for group in by_category["byte_time"]), held, delta=1)
        text = memory(path, "--lifetimes").out
        self.assertIn("Bytes x time within the history", text)
        self.assertIn("Made in the history and never freed in it", text)
        self.assertIn("is not known", memory("memory/C08_no_history.pickle", "--lifetimes").out)
        self.assertEqual(memory(path, "--lifetimes", "--what-if").status, USAGE)
        self.assertEqual(memory(path, "--lifetimes", "--stats").status, USAGE)
        self.assertEqual(memory(path, "--lifetimes", "--at", "start").status, USAGE)
        self.assertNotIn("more", memory(path, "--lifetimes", "--top", "0").out)

    def test_lifetimes_of_a_history_with_little_in_it(self):
        def told(*entries):
            frames = [{"filename": "a.py", "line": 1, "name": "f"}]
            rows = [{"action": action, "addr": 1 << 40, "size": size, "stream": 0, "frames": frames, "time_us": time}
                    for action, size, time in entries]
            snapshot = {"segments": [], "device_traces": [rows], "allocator_settings": {}, "external_annotations": []}
            asked = "-", "--lifetimes"
            text = run("memory", *asked, stdin=pickle.dumps(snapshot)).out
            return text, document(*asked, stdin=pickle.dumps(snapshot))["lifetimes"]

        text, found = told(("segment_alloc", 2 * MIB, 1000), ("snapshot", 0, 2000))
        self.assertIn("Bytes x time: nothing was held", text)
        self.assertIn("Nothing was made in the history", text)
        self.assertEqual((found["has_times"], found["made_count"]), (True, 0))
        text, found = told(("alloc", 1024, 1000), ("free_requested", 1024, 2000), ("snapshot", 0, 3000))
        self.assertIn("held at the end until other streams are done: 1.0 KiB (1 tensor)", text)
        self.assertEqual((found["never_freed"], found["free_pending_bytes"]), ([], 1024))
        text, _ = told(("alloc", 1024, 1000), ("free_requested", 1024, 1001), ("free_completed", 1024, 1001))
        self.assertIn("< 1 B s", text)
        text, _ = told(("alloc", 1 << 62, 0), ("snapshot", 0, 1 << 61))
        self.assertRegex(text, r"GiB s  +100 %")

    def test_lifetimes_say_what_is_inferred_and_of_which_devices(self):
        self.assertIn("category (inferred)", memory("memory/made/training.pickle", "--lifetimes", "--by", "category").out)
        path = "memory/C09_many_devices.pickle"
        self.assertIn("having no history: cuda:0", memory(path, "--lifetimes", "--by", "device").out)
        self.assertEqual(document(path, "--lifetimes", "--by", "device")["lifetimes"]["devices_without_history"], [0])
        self.assertEqual(document(path, "--lifetimes")["lifetimes"]["devices_without_history"], [])

    def test_differences_sum(self):
        diff = document("memory/h200/snap.pickle.gz", "--diff", "memory/h200/snap.oom.pickle.gz")["diff"]
        self.assertEqual(diff["difference_bytes"], diff["after_bytes"] - diff["before_bytes"])
        self.assertEqual(sum(row["difference_bytes"] for row in diff["rows"]), diff["difference_bytes"])
        self.assertEqual([abs(r["difference_bytes"]) for r in diff["rows"]], sorted((abs(r["difference_bytes"]) for r in diff["rows"]), reverse=True))
        same = document(RECORDED[0], "--diff", RECORDED[0])["diff"]
        self.assertEqual((same["rows"], same["difference_bytes"]), ([], 0))

    def test_moments(self):
        path = "memory/h200/snap.oom.pickle.gz"
        peak = document(path)["live"]
        event = peak["place"]["event"]
        self.assertEqual(document(path, "--at", f"#{event}")["live"]["groups"], peak["groups"])
        self.assertEqual(document(path, "--at", "start")["live"]["bytes"], 0)
        self.assertEqual(document(path, "--at", "oom")["live"]["at"], "oom")
        self.assertEqual(document(path, "--at", "end")["live"]["bytes"], document(path)["devices"][0]["requested"]["end_bytes"])


class Findings(unittest.TestCase):
    def test_a_healthy_loop_is_silent(self):
        found = made(training(activation=10))
        self.assertEqual(ids(found), [])
        self.assertEqual([row["peak_bytes"] // MIB for row in found["devices"][0]["steps"]["rows"]], [130] * 6)

    def test_memory_spike(self):
        found = made(training(big_step=3))
        spike = found["findings"][0]
        self.assertEqual((spike["id"], spike["severity"], spike["saving_bytes"]), ("memory-spike", "fault", 240 * MIB))
        self.assertIn("Step 3 needs 410 MiB, 2.4 times the 170 MiB", spike["title"])
        self.assertIn("model.py:120 forward", spike["evidence"][0]["text"])
        recorded = document("memory/h200/snap.pickle.gz")["findings"]
        self.assertIn("Step 4", next(f for f in recorded if f["id"] == "memory-spike")["title"])
        self.assertNotIn("memory-spike", ids(made(training(big_step=1, steps=3))))  # three steps have no ordinary one

    def test_memory_growth(self):
        growth = made(training(leak=12))["findings"][0]
        self.assertEqual((growth["id"], growth["severity"], growth["saving_bytes"]), ("memory-growth", "fault", 48 * MIB))
        self.assertIn("12.0 MiB a step", growth["title"])
        self.assertIn("loop.py:66 log_loss", growth["evidence"][0]["text"])
        self.assertNotIn("memory-growth", ids(made(training(leak=12, steps=4))))
        for path in RECORDED:
            self.assertNotIn("memory-growth", ids(document(path)))

    def test_batches_that_happen_to_become_longer_are_no_growth(self):
        """Each step holds its batch until the next one is there: the level at the boundaries rises, and nothing is left behind."""
        for longer, grows in ((True, False), (False, True)):
            loop = Snapshot()
            loop.alloc(20, BUILD)
            batch = None
            for step in range(6):
                loop.step(step)
                held = batch
                batch = loop.alloc(20 + (10 * step if longer else 0), FORWARD)
                if held is not None and longer:
                    loop.release(held, FORWARD)
            loop.end_steps(5)
            self.assertEqual("memory-growth" in ids(made(loop)), grows)

    def test_optimizer_state(self):
        found = made(training(optimizer=20))
        state = found["findings"][0]
        self.assertEqual((state["id"], state["severity"], state["saving_bytes"]), ("optimizer-state", "information", None))
        self.assertIn("80.0 MiB of optimizer state", state["title"])
        self.assertIn("loop.py:80 train_step", state["evidence"][0]["text"])

    def test_allocator_retries(self):
        found = made(training(empties_cache=True))
        retries = found["findings"][0]
        self.assertEqual((retries["id"], retries["severity"]), ("allocator-retries", "fault"))
        self.assertIn("empty_cache", retries["advice"][0])
        once = training()
        once.empty_cache(EMPTY_CACHE)
        once.alloc(20, FORWARD)
        self.assertNotIn("allocator-retries", ids(made(once)))  # once, by the program itself
        full = training()
        full.empty_cache(FORWARD)
        full.alloc(20, FORWARD)
        note = next(f for f in made(full)["findings"] if f["id"] == "allocator-retries")
        self.assertEqual(note["severity"], "note")

    def test_fragmentation(self):
        found = made(growing_sizes())
        note = next(f for f in found["findings"] if f["id"] == "fragmentation")
        self.assertEqual((note["severity"], note["saving_bytes"]), ("note", None))
        device = found["devices"][0]
        self.assertIn("never in use at once", note["title"])
        self.assertGreater(device["reserved"]["peak_bytes"], 3 * device["active"]["peak_bytes"])
        self.assertIn("fragmentation", ids(document("memory/h200/snap.pickle.gz")))
        self.assertNotIn("fragmentation", ids(document("memory/h200/snapx.pickle.gz")))

    def test_activations_dominate(self):
        found = made(training(activation=100, layers=8))
        note = next(f for f in found["findings"] if f["id"] == "activations-dominate")
        self.assertEqual(note["severity"], "note")
        self.assertIn("800 MiB", note["title"])
        # Eight blocks of one tensor: of two together 3 stay and 2 are held, 500 of 800 MiB. That much is held until there are four
        # gradients of 10, beside parameters of 160: 700 instead of 970. Without activations all eight gradients are the peak.
        self.assertEqual(note["saving_bytes"], 270 * MIB)
        self.assertIn("Everything else needs 240 MiB", " ".join(e["text"] for e in note["evidence"]))
        self.assertIn("every 2 blocks", note["advice"][0])
        self.assertNotIn("activations-dominate", ids(made(training(activation=10, parameters=20))))

    # 5 MiB take a segment of 20 MiB: with 10 MiB left it is the device that refuses, with 20 MiB a cap.
    def test_a_cap_is_told_from_a_full_device(self):
        for device_free, is_cap in ((10 * MIB, False), (20 * MIB, True), (None, False)):
            entry = {"action": "oom", "size": 5 * MIB, "stream": 0, "time_us": 5, "frames": []}
            if device_free is not None:
                entry["device_free"] = device_free
            data = pickle.dumps({"segments": [], "device_traces": [[entry]]})
            found = document("-", stdin=data)["devices"][0]["oom"]
            self.assertEqual((found["device_free_bytes"], found["is_refused_by_cap"]), (device_free, is_cap))
            text = memory("-", stdin=data).out
            self.assertEqual("a cap refused it" in text, is_cap)
            self.assertEqual("device had" in text, device_free is not None)

    def test_out_of_memory(self):
        oom = document("memory/h200/snap.oom.pickle.gz")["findings"][0]
        self.assertEqual((oom["id"], oom["severity"]), ("out-of-memory", "fault"))
        self.assertIn("snap.py:24", oom["title"])
        self.assertTrue(any(advice.startswith("PYTORCH_CUDA_ALLOC_CONF=") for advice in oom["advice"]))
        self.assertNotIn("out-of-memory", ids(document("memory/h200/snap.pickle.gz")))

    def test_every_finding_has_its_page(self):
        listed = set(re.findall(r'MemoryRule\{"([a-z\-]+)"', (ROOT / "src" / "rules" / "memory_rules.cpp").read_text()))
        self.assertEqual(len(listed), 7)
        for finding in listed:
            self.assertTrue((ROOT / "docs" / "findings" / f"{finding}.md").exists(), finding)
            self.assertTrue((ROOT / "src" / "rules" / f"{finding.replace('-', '_')}.cpp").exists(), finding)


class Documents(unittest.TestCase):
    def keys_of(self, value, found):
        if isinstance(value, dict):
            for key, inner in value.items():
                found.add(key)
                self.keys_of(inner, found)
        elif isinstance(value, list):
            for inner in value:
                self.keys_of(inner, found)
        return found

    def test_every_key_is_described(self):
        found = set()
        for path in RECORDED + CASES:
            self.keys_of(document(path), found)
        self.keys_of(document("memory/h200/snap.pickle.gz", "--what-if", "--diff", "memory/h200/snapx.pickle.gz"), found)
        words = DESCRIBED | {part for word in DESCRIBED for part in word.split(".")}
        self.assertEqual(found - words, set())

    def test_goldens_keys_of_the_issue_stand(self):
        found = document("memory/h200/snap.oom.pickle.gz")
        for key in ("devices", "history", "notes", "what_if", "schema_version", "status", "findings", "live", "growth"):
            self.assertIn(key, found)
        for key in ("device", "requested", "allocated", "active", "reserved", "live_at_peak", "fragmentation", "oom"):
            self.assertIn(key, found["devices"][0])
        self.assertEqual(list(found["devices"][0]["requested"])[:4], ["start_bytes", "peak_bytes", "peak_event", "end_bytes"])

    def test_a_replay_that_does_not_match_is_withheld(self):
        broken = training()
        entry = next(e for e in broken.entries if e["action"] == "alloc")
        old, new = entry["addr"], entry["addr"] + 64 * MIB * 1024
        for e in broken.entries:
            if e.get("addr") == old and not e["action"].startswith("segment"):
                e["addr"] = new
        found = made(broken, "--what-if", "default")
        row = found["what_if"][0]
        self.assertIsNotNone(row["withheld"])
        self.assertEqual([row[k] for k in ("reserved_peak_bytes", "allocated_peak_bytes", "retries", "oom")], [None] * 4)
        self.assertLess(row["replay_matched"], row["replay_total"])
        self.assertEqual(list(row), list(made(training(), "--what-if", "default")["what_if"][0]), "the same keys, with null")
        self.assertIn("Withheld", memory("-", "--what-if", stdin=broken.pickle()).out)


class Text(unittest.TestCase):
    def check_width(self, text, width, where):
        for line in text.splitlines():
            self.assertLessEqual(columns(line), width, f"{where}: {line}")
            self.assertFalse(line.endswith(" "), line)

    def test_no_line_is_too_long(self):
        for path in RECORDED + CASES + HOSTILE:
            for width in WIDTHS:
                for more in ([], ["--by", "stack"], ["--what-if"]):
                    with self.subTest(path, width=width, more=more):
                        self.check_width(memory(path, "--width", width, *more).out, width, path)
        for width in WIDTHS:
            self.check_width(memory(RECORDED[0], "--diff", RECORDED[1], "--width", width).out, width, "diff")

    def test_the_first_screen_is_24_lines(self):
        for path in RECORDED + CASES:
            self.assertLessEqual(len(first_screen(memory(path, "--width", "80").out)), 24, path)
        for loop in (training(), training(big_step=3, leak=12, optimizer=20), training(empties_cache=True), growing_sizes()):
            self.assertLessEqual(len(first_screen(memory("-", stdin=loop.pickle()).out)), 24)

    def test_the_answer_comes_first(self):
        screen = " ".join(first_screen(memory("memory/h200/snapx.oom.pickle.gz").out))
        for words in ("At the peak, 50 % of what is held are activations", "OOM", "avoided by", "Try", "$ stepscope memory"):
            self.assertIn(words, screen)

    def test_colour_changes_nothing_but_colour(self):
        path = "memory/h200/snap.oom.pickle.gz"
        plain, coloured = memory(path, "--color", "never").out, memory(path, "--color", "always").out
        self.assertIn("\x1b[", coloured)
        self.assertEqual(without_colour(coloured), plain)

    def test_a_name_in_the_file_cannot_steer_the_terminal(self):
        bad = Snapshot()
        bad.alloc(10, [{"name": "f\x1b[31m\n\x07", "filename": "/home/u/\x1b]0;title\x07.py", "line": 3}])
        for more in ([], ["--by", "stack"], ["--folded"], ["--json"]):
            out = memory("-", *more, stdin=bad.pickle()).out
            self.assertNotIn("\x1b", out)
            self.assertNotIn("\x07", out)

    def test_ascii_terminals(self):
        out = memory("memory/h200/snap.pickle.gz", environment={"LC_ALL": "de_DE.ISO-8859-1"}).out
        self.assertTrue(all(ord(c) < 128 for c in out))


class WrongUsage(unittest.TestCase):
    def test_wrong_words_are_answered_with_the_right_ones(self):
        path = "memory/C01_basic_proto4.pickle"
        for arguments, words in ((["--by", "color"], "--by"), (["--at", "noon"], "peak"), (["--at", "#999"], "#999"), (["--at", "oom"], "no out-of-memory"),
                                 (["--device", "7"], "it has: 0"), (["--steps", "nothing"], "nothing"), (["--capacity", "8x", "--what-if"], "80GiB"),
                                 (["--capacity", "80GiB"], "--what-if"), (["--what-if", "expandable_segment:True"], "expandable_segment"),
                                 (["--what-if", "backend:cudaMallocAsync"], "cudaMallocAsync"), (["--folded", "--json"], "--json"),
                                 (["--top", "-1"], "--top"), (["--jsn"], "--json")):
            with self.subTest(arguments):
                done = memory(path, *arguments)
                self.assertEqual(done.status, USAGE, done.out + done.err)
                self.assertTrue(done.err.startswith("stepscope: "), done.err)
                self.assertIn(words, done.err)
        self.assertEqual(run("memory").status, USAGE)
        self.assertIn("FILE is required", run("memory").err)

    def test_what_if_takes_no_file_for_a_setting(self):
        path = "memory/h200/snap.pickle.gz"
        ranked = memory("--what-if", path)
        self.assertEqual((ranked.status, ranked.out), (COMPLETE, memory(path, "--what-if").out))
        both = document(path, "--what-if", "default", "--what-if", "max_split_size_mb:128")["what_if"]
        self.assertEqual([row["settings"] for row in both], ["default", "max_split_size_mb:128"])

    def test_failures_have_a_document(self):
        for arguments in (["memory/C11_zero_bytes.pickle"], ["memory/C02_global_call.pickle"], ["no/such.pickle"], ["cases/A00_good.json"]):
            found = run("memory", *arguments, "--json")
            self.assertEqual((found.status, found.json()["status"]), (UNUSABLE, "unusable"))

    def test_steps_by_name(self):
        found = document("memory/h200/snap.pickle.gz", "--steps", "Optimizer.zero_grad#Adam.zero_grad")
        self.assertEqual(found["devices"][0]["steps"]["name"], "Optimizer.zero_grad#Adam.zero_grad")

    def test_top_cuts_tables(self):
        text = memory("memory/h200/snap.pickle.gz", "--by", "line", "--top", "1").out
        self.assertRegex(text, r"5 more")


if __name__ == "__main__":
    unittest.main()
