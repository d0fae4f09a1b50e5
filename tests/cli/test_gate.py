"""stepscope gate, end to end: answers and statuses, every kind of input, the four outputs, the base and its update."""
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

from program import COMPLETE, DATA, GATE, PARTIAL, PROGRAM, ROOT, UNUSABLE, USAGE, columns, run

SOLID, SYNC, MEMSPIKE = (f"h200/{name}.pt.trace.json.gz" for name in ("solid", "sync", "memspike"))
DESCRIBED = set(re.findall(r"`([a-z0-9_.]+)`", (ROOT / "docs" / "formats" / "gate.md").read_text()))
WORDS = DESCRIBED | {part for word in DESCRIBED for part in word.split(".")}


def gate(*arguments, **options):
    return run("gate", *arguments, **options)


def keys_of(value):
    if isinstance(value, dict):
        return set(value).union(*map(keys_of, value.values()))
    return set().union(*map(keys_of, value)) if isinstance(value, list) else set()


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def steps(self, name, median=43.5, count=100, seed=1, spread=0.01):
        values = random.Random(f"{seed} {name}")
        return self.write(name, "".join(f"{values.gauss(median, spread * median):.6f} ms\n" for _ in range(count)))


class Answers(Files):
    def test_passes(self):
        done = gate(self.steps("base.txt"), self.steps("new.txt"))
        self.assertEqual(done.status, COMPLETE, done.out + done.err)
        self.assertRegex(done.out.splitlines()[0], r"^gate passed: step 43\.\d+ -> 43\.\d+ ms, [+-]\d\.\d % \(-?\d\.\d to -?\d\.\d\), limit 3 %$")
        self.assertEqual(done.err, "")

    def test_fails_with_one_line_why(self):
        done = gate(self.steps("base.txt"), self.steps("new.txt", 45.46))
        self.assertEqual(done.status, GATE)
        self.assertRegex(done.out.splitlines()[0], r"^gate failed: step 43\.\d -> 45\.\d ms, \+4\.\d % \(\d\.\d to \d\.\d\), limit 3 %$")
        self.assertEqual(gate(self.path("base.txt"), self.path("new.txt"), "--max-slower", "10%").status, COMPLETE)
        self.assertEqual(gate(self.path("base.txt"), self.path("new.txt"), "--max-slower", "1ms").status, GATE)
        self.assertEqual(gate(self.path("base.txt"), self.path("new.txt"), "--max-slower", "0.1").status, COMPLETE)

    def test_three_steps_are_too_few_to_tell(self):
        done = gate(SOLID, SYNC)
        self.assertEqual(done.status, PARTIAL)
        self.assertRegex(done.out.splitlines()[0], r"^gate cannot tell: too few steps to tell: 3 steps; 7 are needed \(step 45.1 -> 50.7 ms")
        allowed = gate(SOLID, SYNC, "--allow-few")
        self.assertEqual(allowed.status, COMPLETE)
        self.assertIn("too few steps to tell", allowed.out)

    def test_allow_few_allows_nothing_else(self):
        self.assertEqual(gate(SOLID, SYNC, "--allow-few", "--max-memory", "0").status, COMPLETE)
        few = self.steps("few.txt", count=3)
        self.assertEqual(gate(few, self.steps("more.txt"), "--allow-few", "--max-memory", "5%").status, PARTIAL)
        self.assertEqual(gate(SOLID, MEMSPIKE, "--allow-few", "--max-memory", "5%").status, GATE)

    def test_several_runs_a_side(self):
        base = [self.steps(f"base{i}.txt", seed=i) for i in range(5)]
        done = gate(*base, "--vs", self.steps("new.txt", 45.5))
        self.assertEqual(done.status, GATE, done.out)
        self.assertIn("5 runs of 100 steps", done.out)
        self.assertNotIn("One run a side", done.out)
        self.assertIn("One run a side", gate(base[0], self.path("new.txt")).out)
        self.assertEqual(gate(base[0], base[0], "--vs", base[1]).out.count("named more than once"), 1)

    def test_a_copy_is_no_second_run(self):
        files = [self.steps(name) for name in ("a.txt", "b.txt")]
        copies = [self.write("copy_" + os.path.basename(file), pathlib.Path(file).read_text()) for file in files]
        done = gate(files[0], copies[0], "--vs", files[1], copies[1], "--json").json()
        self.assertEqual([len(done[side]["runs"]) for side in ("base", "new")], [1, 1])
        self.assertEqual(sum("counted once" in warning for warning in done["warnings"]), 2)
        recorded = self.path("other.json.gz")
        pathlib.Path(recorded).write_bytes((DATA / SOLID).read_bytes())
        done = gate(SOLID, recorded, "--vs", SYNC, "--json").json()
        self.assertEqual(len(done["base"]["runs"]), 1)

    def test_a_cut_base_proves_no_failure(self):
        done = gate("memory/C15_truncated.pickle", "memory/C06_expandable.pickle", "--max-memory", "5%")
        self.assertEqual(done.status, PARTIAL, done.out)

    def test_strict(self):
        noisy = [self.steps(name, spread=0.2) for name in ("a.txt", "b.txt")]
        self.assertEqual(gate(*noisy).status, COMPLETE)
        self.assertIn("Noise leaves room", gate(*noisy).out)
        strict = gate(*noisy, "--strict")
        self.assertEqual(strict.status, PARTIAL)
        self.assertIn("not shown to be within the limit", strict.out)

    def test_memory(self):
        spike = gate(SOLID, MEMSPIKE, "--max-memory", "5%")
        self.assertEqual(spike.status, GATE)
        self.assertRegex(spike.out, r"gate failed: reserved peak 13\.8 GiB -> 25\.5 GiB, \+84\.9 %, limit 5 %")
        self.assertIn("Not told: too few steps", spike.out)
        self.assertEqual(gate(SOLID, MEMSPIKE, "--max-memory", "20GiB", "--allow-few").status, COMPLETE)
        missing = gate(self.steps("a.txt"), self.steps("b.txt"), "--max-memory", "5%")
        self.assertEqual(missing.status, PARTIAL)
        self.assertIn("base and new have no memory peaks", missing.out)

    def test_memory_snapshots(self):
        snapshots = ("memory/C01_basic_proto4.pickle", "memory/C01_basic_proto2.pickle")
        same = gate(*snapshots, "--max-memory", "5%")
        self.assertIn(same.status, (COMPLETE, PARTIAL), same.out + same.err)
        self.assertIn("allocated peak", same.out)
        asked = gate(*snapshots)
        self.assertEqual(asked.status, USAGE)
        self.assertIn("--max-memory", asked.err)
        self.assertEqual(gate(self.path("b.sss"), snapshots[0], "--max-memory", "5%", "--update-base").status, USAGE)

    def test_lost_data_never_pass(self):
        done = gate(SOLID, "cases/A01_truncated_mid_event.json", "--allow-few", "--allow-mixed")
        self.assertEqual(done.status, PARTIAL, done.out)

    def test_other_gpus_and_other_times(self):
        done = gate(SOLID, "cases/A40_duplicates_and_bleed.json")
        self.assertEqual(done.status, UNUSABLE)
        self.assertIn("another GPU: base NVIDIA H200, new NVIDIA H100 80GB HBM3", done.out)
        listed = gate(SOLID, self.steps("a.txt"))
        self.assertEqual(listed.status, UNUSABLE)
        self.assertIn("another kind of time", listed.out)
        self.assertIn("Note: another kind of time", gate(SOLID, self.path("a.txt"), "--allow-mixed").out)

    def test_a_slower_recording_is_explained(self):
        # The program's own recordings have three steps; made ones of ten show the line of diff.
        self.write("base.json", trace(40)), self.write("new.json", trace(60))
        done = gate(self.path("base.json"), self.path("new.json"))
        self.assertEqual(done.status, GATE, done.out + done.err)
        self.assertRegex(done.out.splitlines()[0], r"^gate failed: step .*, limit 3 %; mostly: \S.*")


def trace(kernel_us, steps=10):
    """Steps that wait for one kernel."""
    events = []
    for step in range(steps):
        at = step * (kernel_us + 40) + step % 3
        events += [
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1, "ts": at, "dur": kernel_us + 30},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 2, "dur": 4, "args": {"correlation": step + 1}},
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": at + 10, "dur": kernel_us, "args": {"correlation": step + 1, "device": 0, "stream": 7}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 1, "tid": 1, "ts": at + 8, "dur": kernel_us + 5},
        ]
    return json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "traceEvents": events})


class Lists(Files):
    def test_units_and_forms(self):
        plain = self.write("plain.txt", "43.5\n" * 10)
        self.assertEqual(gate(plain, plain).status, USAGE)
        self.assertIn("--unit ms", gate(plain, plain).err)
        document = self.write("document.json", json.dumps({"unit": "us", "steps": [43500.0] * 10}))
        self.assertEqual(gate(plain, document, "--unit", "ms").status, COMPLETE)
        wrong_unit = gate(plain, document, "--unit", "us")
        self.assertEqual(wrong_unit.status, GATE)
        self.assertIn("are both in the same unit?", " ".join(wrong_unit.out.split()))
        runs = self.write("runs.json", json.dumps([[43.5] * 10, [43.6] * 10]))
        self.assertIn("2 runs of 10 steps", gate(runs, plain, "--unit", "ms").out)

    def test_standard_input(self):
        base = self.steps("base.txt")
        self.assertEqual(gate(base, "-", stdin=pathlib.Path(base).read_bytes()).status, COMPLETE)
        self.assertEqual(gate("-", "-").status, USAGE)
        # Whatever a file can be: a trace, a summary, a memory snapshot, and what is none says so.
        trace = run("gate", SOLID, "-", "--allow-few", stdin=(DATA / SOLID).read_bytes())
        self.assertEqual(trace.status, COMPLETE, trace.err)
        self.assertIn("\n        standard input\n", trace.out)
        self.assertEqual(run("summarize", SOLID, "-o", self.path("a.sss")).status, COMPLETE)
        summary = run("gate", SOLID, "-", "--allow-few", stdin=pathlib.Path(self.path("a.sss")).read_bytes())
        self.assertEqual(summary.status, COMPLETE, summary.err)
        snapshot = "memory/h200/snap.oom.pickle.gz"
        piped = run("gate", snapshot, "-", "--max-memory", "1%", stdin=(DATA / snapshot).read_bytes())
        self.assertEqual(piped.status, COMPLETE, piped.err)
        self.assertEqual(gate(base, "-", stdin=b"no times").status, UNUSABLE)

    def test_our_own_documents(self):
        steps = self.write("steps.json", run("steps", SOLID, "--json").out)
        done = gate(SOLID, steps, "--allow-few", "--max-memory", "1%")
        self.assertEqual(done.status, COMPLETE, done.out + done.err)
        bench = self.write("bench.json", run("bench", "--json", "--runs", "10", "--", "true").out)
        same = gate(bench, bench)
        self.assertEqual(same.status, COMPLETE, same.out + same.err)
        self.assertIn("10 runs of a command", same.out)
        two = self.write("two.json", run("bench", "--json", "--runs", "2", "--", "true", "--vs", "true").out)
        self.assertIn("two commands", gate(bench, two).err)

    def test_times_that_are_none_make_a_file_unusable(self):
        good = self.steps("good.txt")
        for text in ("43\nnan\n", "-1\n", "0\n", "[1, NaN]", "[1, null]", '{"unit": "ms", "steps": []}', "[[", "{\"unit\": \"ms\"}"):
            done = gate(good, self.write("bad", text), "--unit", "ms")
            self.assertEqual((done.status, done.out), (UNUSABLE, ""), text)
            self.assertIn("bad: ", done.err)


class Usage(Files):
    def test_wrong_usage(self):
        base = self.steps("base.txt")
        for arguments in (
            (), (base,), (base, base, base), (base, base, "--max-slower", "3"), (base, base, "--max-slower", "-3%"), (base, base, "--max-memory", "512"),
            (base, base, "--force"), (base, base, "--json", "--junit", "-"), (base, base, "--json", "--github"), (base, base, "--unit", "h"),
            (base, "--vs"), (base, base, "--between-runs", "1"), ("-", base, "--update-base"), (base, base, "--update-base"), (base, base, "--junit", base),
            (base, base, "--max-slwer", "3%"),
        ):
            done = gate(*arguments)
            self.assertEqual(done.status, USAGE, arguments)
            self.assertEqual(bool(done.out), "--json" in arguments, arguments)
            self.assertTrue(done.err.startswith("stepscope: "), done.err)
        self.assertIn("did you mean --max-slower?", gate(base, base, "--max-slwer", "3%").err)

    def test_files_that_are_not_there(self):
        base = self.steps("base.txt")
        self.assertEqual(gate(base, self.path("none")).status, UNUSABLE)
        missing = gate(self.path("none.sss"), base)
        self.assertEqual(missing.status, UNUSABLE)
        self.assertIn("--update-base makes it of NEW", missing.err)
        os.mkdir(self.path("empty"))
        self.assertEqual(gate(base, self.path("empty")).status, UNUSABLE)
        self.assertEqual(gate(base, "cases/A25_zero_bytes.json").status, UNUSABLE)

    def test_patterns_and_lists(self):
        for i in range(3):
            self.steps(f"run{i}.txt", seed=i)
        new = self.steps("new.txt")
        self.assertIn("3 runs of 100 steps", gate(self.path("run*.txt"), new).out)
        listed = self.write("list", "run0.txt\n# remark\nrun2.txt\n")
        self.assertIn("2 runs of 100 steps", gate("@" + listed, new).out)
        none = gate(self.path("none*.txt"), new)
        self.assertEqual(none.status, UNUSABLE)
        self.assertIn("none*.txt: no file is called so", none.err)
        before = pathlib.Path(new).read_text()
        self.assertEqual(gate(self.path("run*.txt"), self.path("ne?.txt"), "--junit", new).status, USAGE)
        self.assertEqual(pathlib.Path(new).read_text(), before)

    def test_urls_are_refused_in_words(self):
        done = gate("https://me:secret@host/base.sss?signature=x", "s3://bucket/new.sss")
        self.assertEqual(done.status, USAGE)
        self.assertIn("https://host/base.sss: gate reads local files", done.err)
        self.assertIn("pip install 'stepscope'", done.err)
        self.assertNotIn("secret", done.err)
        self.assertNotIn("signature", done.err)
        self.assertIn("stepscope[s3]", gate(self.steps("a.txt"), "s3://bucket/new.sss").err)

    def test_noise_between_runs_has_a_bound(self):
        files = [self.steps("a.txt"), self.steps("b.txt")]
        self.assertEqual(gate(*files, "--between-runs", "100%").status, COMPLETE)
        self.assertEqual(gate(*files, "--between-runs", "101%").status, USAGE)

    def test_a_folder_is_its_files(self):
        os.mkdir(self.path("runs"))
        for i in range(3):
            self.steps(f"runs/{i}.txt", seed=i)
        self.assertIn("3 runs of 100 steps", gate(self.path("runs"), self.steps("new.txt")).out)

    def test_help(self):
        done = gate("--help")
        self.assertEqual(done.status, COMPLETE)
        self.assertIn("Exit status: 0 passed, 1 failed", done.out)
        self.assertTrue(all(columns(line) <= 80 for line in done.out.splitlines()), [line for line in done.out.splitlines() if columns(line) > 80])


class Base(Files):
    def test_the_first_run_makes_it_and_a_pass_replaces_it(self):
        base = self.path("base.sss")
        first = gate(base, self.steps("first.txt"), "--update-base")
        self.assertEqual(first.status, COMPLETE, first.err)
        self.assertIn("there was no base yet", first.out)
        before = pathlib.Path(base).read_bytes()
        self.assertLess(len(before), 10_000)
        slow = gate(base, self.steps("slow.txt", 46), "--update-base")
        self.assertEqual(slow.status, GATE)
        self.assertIn("stays as it was", slow.out)
        self.assertEqual(pathlib.Path(base).read_bytes(), before)
        self.assertEqual(gate(base, self.steps("same.txt", seed=9), "--update-base").status, COMPLETE)
        same = pathlib.Path(base).read_bytes()
        self.assertNotEqual(same, before)
        forced = gate(base, self.path("slow.txt"), "--update-base", "--force")
        self.assertEqual(forced.status, GATE)
        self.assertNotEqual(pathlib.Path(base).read_bytes(), same)
        self.assertEqual(gate(base, self.path("slow.txt")).status, COMPLETE)
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["base.sss", "first.txt", "same.txt", "slow.txt"])

    def test_several_runs_stay_several(self):
        base = self.path("base.sss")
        gate(base, "--vs", *(self.steps(f"{i}.txt", seed=i) for i in range(4)), "--update-base")
        done = gate(base, self.steps("new.txt"))
        self.assertIn("4 runs of 100 steps", done.out)
        self.assertNotIn("One run a side", done.out)

    def test_only_a_file_called_sss_is_made(self):
        new = self.steps("new.txt")
        for name in ("base.txt", "a*.sss", "a*.txt", "@base.sss", "s3://bucket/base.sss", ".sss"):
            done = run("gate", name, new, "--update-base", "--force", cwd=self.folder.name)
            self.assertEqual(done.status, USAGE, name)
            self.assertIn("base.sss", done.err)
        self.assertEqual(os.listdir(self.folder.name), ["new.txt"])

    def test_the_rights_of_a_base_are_kept(self):
        base = self.path("base.sss")
        gate(base, self.steps("a.txt"), "--update-base")
        for mode in (0o600, 0o664):
            os.chmod(base, mode)
            before = os.stat(base).st_ino
            self.assertEqual(gate(base, self.path("a.txt"), "--update-base").status, COMPLETE)
            self.assertNotEqual(os.stat(base).st_ino, before)
            self.assertEqual(os.stat(base).st_mode & 0o777, mode)

    def test_traces(self):
        base = self.path("base.sss")
        self.assertEqual(gate(base, SOLID, "--update-base").status, COMPLETE)
        self.assertIn("at least 7 are needed", gate(self.path("other.sss"), SOLID, "--update-base").out)
        same = gate(base, SOLID, "--allow-few", "--max-memory", "0%")
        self.assertEqual(same.status, COMPLETE, same.out)
        self.assertIn("+0.0 %", same.out)

    def test_what_is_no_summary_is_never_replaced(self):
        trace_copy = self.write("trace.json", (DATA / "cases/A00_good.json").read_text())
        before = pathlib.Path(trace_copy).read_text()
        done = gate(trace_copy, SOLID, "--update-base", "--force")
        self.assertEqual(done.status, USAGE)
        self.assertEqual(pathlib.Path(trace_copy).read_text(), before)

    def test_a_new_run_that_is_not_whole_makes_no_base(self):
        base = self.path("base.sss")
        done = gate(base, "cases/A01_truncated_mid_event.json", "--update-base")
        self.assertEqual(done.status, PARTIAL, done.out)
        self.assertFalse(os.path.exists(base))

    def test_a_base_that_cannot_be_written(self):
        missing = gate(self.path("no/folder/base.sss"), self.steps("a.txt"), "--update-base")
        self.assertEqual(missing.status, UNUSABLE)
        self.assertIn("no/folder/base.sss", missing.err)
        document = gate(self.path("no/folder/base.sss"), self.path("a.txt"), "--update-base", "--json").json()
        self.assertEqual((document["status"], document["base_updated"]), ("unusable", False))
        if os.geteuid() == 0:
            return  # root may write everything
        base = self.path("base.sss")
        gate(base, self.path("a.txt"), "--update-base")
        os.chmod(base, 0o400)
        self.assertEqual(gate(base, self.path("a.txt"), "--update-base").status, UNUSABLE)

    def test_two_at_once_leave_a_whole_base(self):
        base = self.path("base.sss")
        files = [self.steps(f"{i}.txt", seed=i) for i in range(4)]
        running = [subprocess.Popen([PROGRAM, "gate", base, file, "--update-base"], stdout=subprocess.DEVNULL) for file in files * 2]
        self.assertTrue(all(each.wait(60) in (COMPLETE, GATE) for each in running))
        self.assertEqual(gate(base, files[0]).status, COMPLETE)
        self.assertEqual([name for name in os.listdir(self.folder.name) if ".tmp" in name], [])

    def test_a_damaged_base_is_no_base(self):
        base = self.path("base.sss")
        gate(base, self.steps("a.txt"), "--update-base")
        whole = pathlib.Path(base).read_bytes()
        pathlib.Path(base).write_bytes(whole[: len(whole) // 2])
        self.assertEqual(gate(base, self.path("a.txt")).status, UNUSABLE)


class Outputs(Files):
    def pairs(self):
        base, new = self.steps("base.txt"), self.steps("new.txt", seed=3)
        return {
            "passed": ((base, new), COMPLETE),
            "failed": ((base, self.steps("slow.txt", 46)), GATE),
            "cannot_tell": ((base, self.steps("few.txt", count=3), "--max-memory", "5%"), PARTIAL),
        }

    def test_json(self):
        for verdict, (arguments, status) in self.pairs().items():
            done = gate(*arguments, "--json")
            document = done.json()
            self.assertEqual((done.status, document["verdict"]), (status, verdict))
            self.assertEqual(document["schema_version"], 1)
            self.assertEqual(keys_of(document) - WORDS, set())
            self.assertEqual(document["status"], "partial" if status == PARTIAL else "complete")
            self.assertEqual(document["sentence"], gate(*arguments).out.splitlines()[0])
            self.assertEqual(done.err, "" if status == COMPLETE else f"stepscope: {document['sentence']}\n")
            self.assertIsNone(document["checks"][0]["base_ns"] and None)
            self.assertGreater(document["checks"][0]["base_ns"], 0)
        no_base = gate(self.path("new.sss"), self.path("base.txt"), "--update-base", "--json").json()
        self.assertEqual((no_base["verdict"], no_base["base"], no_base["base_updated"]), ("no_base", None, True))
        unusable = gate(self.path("none"), self.path("none"), "--json")
        self.assertEqual((unusable.status, unusable.json()["status"]), (UNUSABLE, "unusable"))

    def check_junit(self, text):
        """What the JUnit readers of CI systems rely on."""
        root = ElementTree.fromstring(text)
        self.assertEqual(root.tag, "testsuites")
        (suite,) = root
        self.assertEqual(suite.tag, "testsuite")
        self.assertEqual(set(suite.attrib), {"name", "tests", "failures", "errors", "skipped", "time"})
        self.assertEqual([child.tag for child in suite][0], "properties")
        for each in suite.find("properties"):
            self.assertEqual((each.tag, set(each.attrib)), ("property", {"name", "value"}))
        cases = suite.findall("testcase")
        self.assertEqual(len(cases) + 1, len(suite))
        for case in cases:
            self.assertEqual(set(case.attrib), {"classname", "name", "time"})
            self.assertGreaterEqual(float(case.get("time")), 0)
            self.assertLessEqual(len(case), 1)
            for child in case:
                if child.tag == "system-out":
                    continue
                self.assertIn(child.tag, ("failure", "error", "skipped"))
                self.assertTrue(child.get("message"))
                self.assertEqual(set(child.attrib), {"message"} if child.tag == "skipped" else {"message", "type"})
        for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            self.assertEqual(int(suite.get(attribute)), len(suite.findall(f"testcase/{tag}")))
        self.assertEqual(int(suite.get("tests")), len(cases))
        return {case.get("name"): [child.tag for child in case] for case in cases}

    def test_junit(self):
        expected = {"passed": {"step time": []}, "failed": {"step time": ["failure"]},
                    "cannot_tell": {"step time": ["error"], "allocated peak": ["error"], "reserved peak": ["error"]}}
        for verdict, (arguments, status) in self.pairs().items():
            done = gate(*arguments, "--junit", "-")
            self.assertEqual(done.status, status)
            self.assertEqual(self.check_junit(done.out), expected[verdict])
            to_file = gate(*arguments, "--junit", self.path("gate.xml"))
            self.assertEqual(to_file.out, gate(*arguments).out)
            self.assertEqual(pathlib.Path(self.path("gate.xml")).read_text(), done.out)
        allowed = gate(self.path("base.txt"), self.path("few.txt"), "--allow-few", "--junit", "-")
        self.assertEqual(self.check_junit(allowed.out), {"step time": ["skipped"]})
        self.assertEqual(gate(self.path("base.txt"), self.path("new.txt"), "--junit", self.path("no/gate.xml")).status, UNUSABLE)

    def test_github(self):
        levels = {"passed": "notice", "failed": "error", "cannot_tell": "error"}
        for verdict, (arguments, status) in self.pairs().items():
            done = gate(*arguments, "--github")
            self.assertEqual(done.status, status)
            lines = done.out.splitlines()
            self.assertRegex(lines[0], rf"^::{levels[verdict]} title=Stepscope gate%3A [a-z ]+::gate {verdict.replace('_', ' ')}: .*%25")
            token = re.fullmatch(r"::stop-commands::(stepscope-[0-9a-f]{16})", lines[1]).group(1)
            self.assertEqual(lines[-1], f"::{token}::")
            self.assertEqual("\n".join(lines[2:-1]) + "\n", gate(*arguments).out)

    def test_files_that_cannot_be_used_are_said_where_ci_looks(self):
        base, xml = self.steps("base.txt"), self.write("gate.xml", "of an earlier run")
        for new, why in ((self.path("none"), "no such file"), (self.write("bad", "43\nnan\n"), "is no number")):
            done = gate(base, new, "--unit", "ms", "--junit", xml, "--github")
            self.assertEqual(done.status, UNUSABLE)
            self.assertTrue(done.out.startswith("::error title=Stepscope gate%3A nothing was judged::"), done.out)
            self.assertIn(why, done.out)
            self.assertIn(why, pathlib.Path(xml).read_text())
            self.assertEqual(self.check_junit(pathlib.Path(xml).read_text()), {"gate": ["error"]})
        self.assertEqual(self.check_junit(gate(base, self.path("none"), "--junit", "-").out), {"gate": ["error"]})

    def test_a_tail_is_a_warning(self):
        base = self.steps("base.txt", count=300)
        values = random.Random(5)
        tail = self.write("tail.txt", "".join(f"{values.gauss(43.5, 0.4) * (10 if i % 5 < 2 else 1):.6f} ms\n" for i in range(300)))
        done = gate(base, tail, "--max-slower", "5%", "--github", "--junit", self.path("gate.xml"))
        self.assertEqual(done.status, COMPLETE, done.out)
        self.assertTrue(done.out.startswith("::warning title="), done.out)
        self.assertEqual(self.check_junit(pathlib.Path(self.path("gate.xml")).read_text()), {"step time": ["system-out"]})
        self.assertTrue(any("the mean step is" in warning for warning in gate(base, tail, "--json", "--max-slower", "5%").json()["warnings"]))
        self.assertEqual(gate(base, tail, "--strict", "--max-slower", "5%").status, PARTIAL)

    def test_hostile_names(self):
        name = "a]]>&\"'<b>%0A::error::x,\u202ey\n::warning::z\x1b[31m\udcff\uffff.txt"
        path = os.fsencode(self.path("x")).replace(b"/x", b"/") + name.encode("utf-8", "surrogateescape")
        with open(path, "wb") as file:
            file.write(pathlib.Path(self.steps("few.txt", count=3)).read_bytes())
        base = self.steps("base.txt")
        lossy = gate(base, path.decode("utf-8", "surrogateescape"), base, "--vs", path.decode("utf-8", "surrogateescape"), "--junit", self.path("gate.xml"), "--github")
        self.check_junit(pathlib.Path(self.path("gate.xml")).read_text("utf-8"))
        commands = [line for line in lossy.out.splitlines() if line.lstrip().startswith("::")]
        self.assertEqual(len(commands), 3, commands)
        self.assertNotIn("\x1b", lossy.out)
        document = gate(base, path.decode("utf-8", "surrogateescape"), "--json").json()
        self.assertEqual(document["verdict"], "cannot_tell")

    def test_width(self):
        for width in (60, 80, 160):
            for arguments in ((SOLID, MEMSPIKE, "--max-memory", "5%"), (SOLID, SYNC)):
                lines = gate(*arguments, "--width", width).out.splitlines()
                self.assertTrue(all(columns(line) <= width for line in lines[1:]), lines)


if __name__ == "__main__":
    unittest.main()
