"""`stepscope diff`: what it says of recordings that differ by one planted fault, of two of the same program, and of made variations."""
import gzip
import json
import pathlib
import re
import tempfile
import unittest

from program import COMPLETE, DATA, PARTIAL, ROOT, UNUSABLE, USAGE, columns, run

SUFFIX = ".pt.trace.json.gz"


def recorded(name):
    return f"h200/{name}{SUFFIX}"


def diff(before, after, *arguments):
    return run("diff", recorded(before), recorded(after), *arguments)


def document(before, after):
    return diff(before, after, "--json").json()


def explaining(found):
    return found["explaining_rank"] or found["typical_rank"]


def load(name):
    with gzip.open(DATA / recorded(name)) as file:
        return json.load(file)


GPU = ("kernel", "gpu_memcpy", "gpu_memset")


def slow_kernels(trace, factor):
    """Every kernel takes `factor` times as long; what follows it on its stream begins that much later, pauses stay."""
    streams = {}
    for event in trace["traceEvents"]:
        if event.get("cat") in GPU:
            streams.setdefault((event["pid"], event["tid"]), []).append(event)
    for events in streams.values():
        events.sort(key=lambda e: e["ts"])
        before_end = now_end = None
        for event in events:
            start, length = event["ts"], event["dur"]
            if before_end is not None:
                event["ts"] = round(max(start, now_end + max(0, start - before_end)), 3)
            event["dur"] = round(length * (factor if event["cat"] == "kernel" else 1), 3)
            before_end, now_end = start + length, event["ts"] + event["dur"]
    return trace


def save(folder, name, trace):
    path = pathlib.Path(folder) / name
    path.write_text(json.dumps(trace))
    return path


class PlantedFaults(unittest.TestCase):
    # before, after: the finding that is named first, and the largest part of the difference.
    TABLE = [
        ("logsync", "loader", "data-loader-stall", "data_loader"),
        ("solid", "loader", "data-loader-stall", "data_loader"),
        ("logsync", "sync", "hidden-sync", None),
        ("solid", "sync", "hidden-sync", None),
        ("resnet_healthy", "resnet_pageable", "blocking-copy", "copy"),
        ("ddp_rank0", "straggler_rank0", "straggler", "communication"),
        ("ddp_rank1", "straggler_rank1", "host-pause", "python"),
        ("solid4_stack", "fp32", "no-tensor-cores", "matmul"),
        ("memspike", "optimizer", "unfused-optimizer", None),
    ]

    def test_are_named_first(self):
        for before, after, finding, part in self.TABLE:
            with self.subTest(f"{before} {after}"):
                found = document(before, after)["typical_rank"]
                first = found["findings"][0]
                self.assertEqual((first["id"], first["change"]), (finding, "appeared"))
                if part:
                    parts = {**found["busy_by_class"], **found["idle_by_cause"]}
                    largest = max(parts, key=lambda name: abs(parts[name]["difference_ns"]))
                    self.assertEqual(largest, part)
                    self.assertTrue(parts[part]["is_told"])
                    self.assertEqual(found["step"]["verdict"], "slower")
                screen = diff(before, after, "--top", "0").out
                self.assertIn(f"New in B: {finding}", screen)

    def test_are_gone_the_other_way_round(self):
        found = document("loader", "logsync")
        self.assertEqual(found["verdict"], "faster")
        gone = {f["id"] for f in found["typical_rank"]["findings"] if f["change"] == "gone"}
        self.assertIn("data-loader-stall", gone)

    def test_ranks_are_matched_and_the_late_one_explains(self):
        done = run("diff", recorded("ddp_rank0"), recorded("ddp_rank1"), "--vs", recorded("straggler_rank0"),
                   recorded("straggler_rank1"), "--json")
        self.assertEqual(done.status, COMPLETE)
        found = done.json()
        self.assertEqual([r["rank"] for r in found["ranks"]], [0, 1])
        self.assertEqual(explaining(found)["rank"], 1)
        self.assertEqual(explaining(found)["findings"][0]["id"], "host-pause")
        self.assertIn("Python", found["explanation"])


class SameProgram(unittest.TestCase):
    def test_two_ranks_show_no_difference(self):
        found = document("ddp_rank0", "ddp_rank1")
        self.assertEqual(found["verdict"], "no_difference")
        rank = found["typical_rank"]
        told = [n for n, p in {**rank["busy_by_class"], **rank["idle_by_cause"]}.items() if p["is_told"]]
        self.assertEqual(told, [])
        self.assertEqual([w for w in rank["work"] if w["is_told"]], [])

    def test_two_repetitions_show_no_difference(self):
        # The same loop, recorded twice; only what is printed at the end of a step differs.
        found = document("memspike", "logsync")
        self.assertEqual(found["verdict"], "no_difference")
        self.assertFalse(any(w["is_told"] for w in found["typical_rank"]["work"]))

    def test_a_file_does_not_differ_from_itself(self):
        found = document("solid", "solid")
        self.assertEqual(found["verdict"], "no_difference")
        self.assertEqual({w["match"] for w in found["typical_rank"]["work"]} - {"same", "rest"}, set())
        self.assertTrue(all(w["difference_ns"] == 0 for w in found["typical_rank"]["work"]))


    def test_the_same_recording_is_said_and_nothing_follows(self):
        done = diff("solid", "solid")
        self.assertTrue(done.out.startswith("Both sides are the same recording: "), done.out)
        self.assertNotIn("0.00", done.out)
        self.assertTrue(document("solid", "solid")["is_same_recording"])
        self.assertFalse(document("solid", "sync")["is_same_recording"])

    def test_copies_are_no_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            sides = {}
            for name in ("logsync", "sync"):
                sides[name] = [pathlib.Path(folder) / f"{name}{i}{SUFFIX}" for i in range(3)]
                for copy in sides[name]:
                    copy.write_bytes((DATA / recorded(name)).read_bytes())
            done = run("diff", *sides["logsync"], "--vs", *sides["sync"], "--json")
            self.assertEqual(done.status, COMPLETE, done.err)
            found, single = done.json(), document("logsync", "sync")
            self.assertEqual(found["typical_rank"]["step"], single["typical_rank"]["step"])
            self.assertEqual(found["verdict"], single["verdict"])
            self.assertIn("A holds copies of one recording, which count once", found["doubts"][0])
        twice = run("diff", recorded("solid"), recorded("solid"), "--vs", recorded("sync"), "--json")
        self.assertIn("is named twice", twice.err)
        self.assertEqual(twice.json()["before_files"], [recorded("solid")])

    def test_another_run_in_a_side_is_left_out_and_said(self):
        with tempfile.TemporaryDirectory() as folder:
            other = load("straggler_rank1")
            other["distributedInfo"].update({"rank": 2, "world_size": 4})
            foreign = save(folder, "foreign.json", other)
            done = run("diff", recorded("ddp_rank0"), recorded("ddp_rank1"), foreign, "--vs", recorded("straggler_rank0"),
                       recorded("straggler_rank1"), "--json")
            self.assertEqual(done.status, PARTIAL)
            self.assertIn("A holds several runs: world sizes 2 (2 files), 4 (1 file); only that of 2", done.json()["doubts"][0])
            self.assertEqual([r["rank"] for r in done.json()["ranks"]], [0, 1])


class MadeVariations(unittest.TestCase):
    def test_three_percent_of_a_quiet_gpu_show(self):
        with tempfile.TemporaryDirectory() as folder:
            slower = save(folder, "slower.json", slow_kernels(load("resnet_healthy"), 1.03))
            done = run("diff", recorded("resnet_healthy"), slower, "--json")
            self.assertEqual(done.status, COMPLETE, done.err)
            found = done.json()
            step = found["typical_rank"]["step"]
            self.assertEqual(found["verdict"], "slower")
            self.assertGreater(step["ratio"], 1.02)
            self.assertLess(step["ratio"], 1.04)
            self.assertLess(step["ratio_low"], 1.03)
            self.assertGreater(step["ratio_low"], 1)
            self.assertTrue(found["typical_rank"]["gpu_busy"]["is_told"])
            back = run("diff", slower, recorded("resnet_healthy"), "--json").json()
            self.assertEqual(back["verdict"], "faster")

    def test_where_steps_are_too_noisy_the_gpu_shows_it(self):
        with tempfile.TemporaryDirectory() as folder:
            slower = save(folder, "slower.json", slow_kernels(load("memspike"), 1.03))
            out = run("diff", recorded("logsync"), slower, "--top", "0").out
            self.assertIn("No difference can be told", out)
            self.assertRegex(out.replace("\n", " "), r"But the GPU works \d\.\d % longer in every step")

    def test_renamed_kernels_are_found_by_what_they_do(self):
        trace = load("solid")
        for event in trace["traceEvents"]:
            if event.get("cat") == "kernel":
                event["name"] = event["name"].replace("nvjet_sm90_tst", "nvjet_sm90_v2_tst")
        with tempfile.TemporaryDirectory() as folder:
            after = save(folder, "renamed.json", trace)
            work = run("diff", recorded("solid"), after, "--json").json()["typical_rank"]["work"]
            renamed = [w for w in work if w["match"] == "renamed"]
            self.assertGreater(len(renamed), 5)
            for row in renamed:
                self.assertEqual(row["before"]["kernel"].replace("nvjet_sm90_tst", "nvjet_sm90_v2_tst"), row["after"]["kernel"])
                self.assertEqual(row["difference_ns"], 0)
            self.assertFalse([w for w in work if w["match"] in ("new", "gone")])
            text = run("diff", recorded("solid"), after, "--top", "200").out
            self.assertIn("before: nvjet_sm90_tst", text)

    def test_another_gpu_is_said_up_front(self):
        trace = load("solid")
        for device in trace["deviceProperties"]:
            device["name"] = "NVIDIA A100-SXM4-80GB"
        with tempfile.TemporaryDirectory() as folder:
            after = save(folder, "a100.json", trace)
            screen = run("diff", recorded("solid"), after, "--top", "0").out
            self.assertIn("Doubtful: other GPUs: A on NVIDIA H200, B NVIDIA A100-SXM4-80GB", screen)


class Arithmetic(unittest.TestCase):
    PAIRS = [("solid", "optimizer"), ("graph", "memspike"), ("mask_sync", "tiny"), ("ddp_rank0", "solid")]

    def check(self, rank):
        def total(rows, key):
            return sum(row[key] for row in rows)
        for side in ("before_ns", "after_ns", "difference_ns"):
            self.assertEqual(total(rank["busy_by_class"].values(), side), rank["gpu_busy"][side])
            self.assertEqual(total(rank["work"], side), rank["gpu_busy"][side])
            self.assertEqual(total(rank["idle_by_cause"].values(), side), rank["idle"][side])
            self.assertEqual(rank["gpu_busy"][side] + rank["idle"][side], rank["mean_step"][side])
        for row in rank["work"]:
            self.assertEqual(row["by_calls_ns"] + row["by_time_ns"], row["difference_ns"])

    def test_parts_sum_exactly(self):
        for before, after in self.PAIRS:
            with self.subTest(f"{before} {after}"):
                self.check(document(before, after)["typical_rank"])

    def test_the_other_way_round_is_the_mirror(self):
        for before, after in self.PAIRS[:2]:
            there, back = document(before, after)["typical_rank"], document(after, before)["typical_rank"]
            for name, part in {**there["busy_by_class"], **there["idle_by_cause"]}.items():
                other = {**back["busy_by_class"], **back["idle_by_cause"]}[name]
                self.assertEqual((part["difference_ns"], part["is_told"]), (-other["difference_ns"], other["is_told"]))
            self.assertAlmostEqual(there["step"]["ratio"] * back["step"]["ratio"], 1, places=9)


class Screen(unittest.TestCase):
    def test_the_first_screen_fits(self):
        for before, after in (("solid", "loader"), ("solid", "optimizer"), ("solid4_stack", "fp32"), ("tiny", "mask_sync")):
            lines = diff(before, after, "--top", "0", "--width", "80").out.splitlines()
            self.assertLessEqual(len(lines), 24, f"{before} {after}")
            for line in lines:
                self.assertLessEqual(columns(line), 80, line)

    def test_the_help_fits(self):
        for line in run("diff", "--help").out.splitlines():
            self.assertLessEqual(columns(line), 80, line)

    def test_all_lines_fit_every_width(self):
        for width in (40, 80, 160):
            for line in diff("ddp_rank0", "straggler_rank0", "--width", width).out.splitlines():
                if width >= 80:
                    self.assertLessEqual(columns(line), width, line)

    def test_rows_of_renamed_and_noisy_parts_fit_too(self):
        for before, after in (("fp32", "solid"), ("loader", "sync"), ("straggler_rank0", "ddp_rank0"), ("tiny", "mask_sync")):
            for width in (60, 80):
                out = diff(before, after, "--width", width).out
                self.assertIn(" -> ", out)
                for line in out.splitlines():
                    self.assertLessEqual(columns(line), width, line)
                self.assertNotRegex(out, r"[a-z)]\d+\.\d+ -> ")

    def test_every_key_is_described(self):
        described = set(re.findall(r"`([A-Za-z0-9_.\-]+)`", (ROOT / "docs" / "formats" / "diff.md").read_text()))
        words = described | {part for word in described for part in word.split(".")}
        found = set()

        def keys(value, inside=""):
            if isinstance(value, dict):
                for key, inner in value.items():
                    if inside not in ("busy_by_class", "idle_by_cause"):
                        found.add(key)
                    keys(inner, key)
            elif isinstance(value, list):
                for inner in value:
                    keys(inner, inside)
        keys(document("ddp_rank0", "straggler_rank0"))
        keys(run("diff", "cases/A00_good.json", "cases/B06_idle_causes.json", "--json").json())
        self.assertEqual(found - words, set())


class Usage(unittest.TestCase):
    def test_sides(self):
        one = run("diff", recorded("solid"))
        self.assertEqual(one.status, USAGE)
        self.assertIn("B is missing", one.err)
        three = run("diff", *[recorded("solid")] * 3)
        self.assertEqual(three.status, USAGE)
        self.assertIn("--vs", three.err)

    def test_what_cannot_be_read(self):
        absent = run("diff", recorded("solid"), "absent.json")
        self.assertEqual(absent.status, UNUSABLE)
        self.assertIn("absent.json", absent.err)
        damaged = run("diff", recorded("solid"), "absent.json", "--json").json()
        self.assertEqual(damaged["status"], "unusable")
        self.assertEqual(damaged["error"]["code"], "not_found")

    def test_a_side_may_be_a_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("solid", "memspike"):
                (pathlib.Path(folder) / name).mkdir()
                (pathlib.Path(folder) / name / f"run{SUFFIX}").write_bytes((DATA / recorded(name)).read_bytes())
            done = run("diff", f"{folder}/solid", f"{folder}/memspike", "--json")
            self.assertEqual(done.status, COMPLETE, done.err)
            (pathlib.Path(folder) / "empty").mkdir()
            self.assertEqual(run("diff", f"{folder}/solid", f"{folder}/empty").status, UNUSABLE)

    def test_lost_events_make_it_partial(self):
        self.assertEqual(run("diff", "cases/A00_good.json", "cases/A01_truncated_mid_event.json").status, PARTIAL)

    def test_a_page_is_written_and_never_over_an_input(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.html"
            self.assertEqual(diff("solid", "memspike", "--html", page).status, COMPLETE)
            self.assertIn("stepscope-document", page.read_text())
            self.assertEqual(diff("solid", "memspike", "--html", "-").out, page.read_text())
            self.assertIn('id="stepscope-recording-1"', page.read_text())
            summary = pathlib.Path(folder) / "solid.sss"
            self.assertEqual(run("summarize", recorded("solid"), "-o", summary).status, COMPLETE)
            self.assertEqual(run("diff", summary, recorded("memspike"), "--html", page).status, COMPLETE)
            self.assertNotIn('id="stepscope-recording-', page.read_text(), "a summary has no events to draw")
            copy = pathlib.Path(folder) / "copy.json.gz"
            copy.write_bytes((DATA / recorded("solid")).read_bytes())
            self.assertEqual(run("diff", recorded("memspike"), copy, "--html", copy).status, USAGE)

    def test_summaries_stand_for_their_recordings(self):
        with tempfile.TemporaryDirectory() as folder:
            summary = pathlib.Path(folder) / "a.sss"
            made = run("summarize", recorded("logsync"), "-o", summary)
            self.assertEqual(made.status, COMPLETE, made.err)
            one, other = document("logsync", "loader"), run("diff", summary, recorded("loader"), "--json").json()
            self.assertEqual(one["typical_rank"]["step"], other["typical_rank"]["step"])
            self.assertEqual(one["typical_rank"]["busy_by_class"], other["typical_rank"]["busy_by_class"])

    def test_what_carries_no_headline_carries_no_verdict(self):
        done = run("diff", "cases/A21b_events_only_in_two_steps.json", "cases/A00_good.json", "--json")
        self.assertEqual(done.status, PARTIAL)
        self.assertEqual(done.json()["verdict"], "withheld")
        self.assertIn("30 of 32 launches have no kernel", done.json()["answer"])

    def test_snapshots_are_compared_by_what_they_hold(self):
        done = run("diff", "memory/made/training.pickle", "memory/C01_basic_proto4.pickle")
        self.assertEqual(done.status, COMPLETE, done.err)
        self.assertEqual(done.out, run("memory", "memory/made/training.pickle", "--diff", "memory/C01_basic_proto4.pickle").out)
        mixed = run("diff", recorded("solid"), "memory/C01_basic_proto4.pickle")
        self.assertEqual(mixed.status, USAGE)
        self.assertIn("cannot be compared with each other", mixed.err)


if __name__ == "__main__":
    unittest.main()
