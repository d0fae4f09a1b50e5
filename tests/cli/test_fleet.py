"""Reports over ranks of one run: folders, lists and summaries as arguments, what is missing or double, what is refused.

What is found is tested in src/fleet and tests/recorded; here the program's manners.
"""
import json
import os
import pathlib
import shutil
import tempfile
import unittest
import unittest.mock

from program import COMPLETE, DATA, PARTIAL, UNUSABLE, USAGE, columns, run

PAIR = [DATA / "h200" / f"straggler_rank{rank}.pt.trace.json.gz" for rank in (0, 1)]


class Fleet(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for path in PAIR:
            shutil.copy(path, self.folder)

    def report(self, *arguments):
        return run("report", *map(str, arguments), cwd=self.folder)

    def summary(self):
        self.assertEqual(run("summarize", "straggler_rank0.pt.trace.json.gz", "straggler_rank1.pt.trace.json.gz", "-o", "run.sss",
                             cwd=self.folder).status, COMPLETE)
        return self.folder / "run.sss"

    def test_folder_pattern_and_list_are_the_same_run(self):
        (self.folder / "list").write_text("straggler_rank0.pt.trace.json.gz\nstraggler_rank1.pt.trace.json.gz\n")
        verdicts = {self.report(what, "--json").json()["verdict"] for what in (".", "straggler*.gz", "@list")}
        self.assertEqual(len(verdicts), 1)
        self.assertIn("Rank 1 comes", verdicts.pop())

    def test_a_summary_gives_the_facts_of_its_traces(self):
        summary = self.summary()
        traces = self.report(".", "--json").json()
        for path in PAIR:
            (self.folder / path.name).unlink()
        done = self.report(summary.name, "--json")
        self.assertEqual(done.status, COMPLETE, done.err)
        short = done.json()
        self.assertEqual(short["verdict"], traces["verdict"])
        self.assertTrue(short["is_one_run"])
        self.assertEqual(short["ranks"], [])
        self.assertEqual([f["id"] for f in short["findings"]], [f["id"] for f in traces["findings"]])
        for key in ("stragglers", "steps", "over_ranks", "bandwidths", "clocks", "replay"):
            self.assertEqual(short["fleet"][key], traces["fleet"][key], key)
        self.assertEqual(len(short["fleet"]["ranks"]), 2)

    def test_one_rank_of_a_summary(self):
        done = self.report(self.summary().name, "--rank", "1", "--json")
        self.assertEqual([r["label"] for r in done.json()["fleet"]["ranks"]], ["rank 1"])
        self.assertEqual(self.report("run.sss", "--rank", "7").status, USAGE)
        self.assertEqual(self.report("run.sss", "--finding", "1").status, USAGE)

    def test_one_rank_of_a_folder_is_its_whole_report(self):
        self.assertEqual(self.report(".", "--rank", "1", "--json").json()["found"]["rank"], 1)

    def test_a_missing_rank_and_a_double_one_are_named(self):
        shutil.copy(PAIR[1], self.folder / "again_rank1.pt.trace.json.gz")
        done = self.report(".", "--json").json()
        self.assertEqual([d["rank"] for d in done["fleet"]["doubles"]], [1])
        self.assertIn("incomplete-run", [f["id"] for f in done["findings"]])
        self.assertEqual(done["fleet"]["stragglers"], ["rank 1"])

    def test_a_file_that_cannot_be_read_leaves_the_others(self):
        (self.folder / "rank2.json").write_text("{")
        done = self.report(*(path.name for path in PAIR), "rank2.json", "--json")
        self.assertEqual(done.status, PARTIAL)
        self.assertEqual(done.json()["fleet"]["stragglers"], ["rank 1"])
        self.assertEqual(len(done.json()["fleet"]["unreadable"]), 1)

    def test_what_lies_elsewhere_names_the_package(self):
        # As where no Python has it (src/cli/hand_over.cpp).
        with unittest.mock.patch.dict(os.environ, STEPSCOPE_HANDED_OVER="1"):
            for arguments, extra in ((["s3://bucket/run"], "s3"), ([".", "--engine", "ray"], "ray")):
                done = self.report(*arguments)
                self.assertEqual(done.status, USAGE)
                self.assertIn(f"pip install 'stepscope[{extra}]'", done.err)

    def test_an_engine_is_local_or_ray(self):
        with unittest.mock.patch.dict(os.environ, STEPSCOPE_HANDED_OVER="1"):
            local = self.report(".", "--engine", "local")
            self.assertTrue(local.err.endswith("pip install 'stepscope'\n"), local.err)
            for wrong in (["--engine", "foo"], ["--engine=foo"], ["--engine"]):
                done = self.report(".", *wrong)
                self.assertEqual(done.status, USAGE)
                self.assertIn("--engine: local or ray", done.err)
                self.assertNotIn("pip", done.err)

    def test_diff_names_what_reads_a_url(self):
        done = run("diff", "s3://key:secret@bucket/a", "s3://bucket/c")
        self.assertEqual(done.status, USAGE)
        self.assertIn("stepscope summarize s3://bucket/a", done.err)
        self.assertNotIn("secret", done.err)

    def test_a_summary_comes_from_standard_input(self):
        summary = self.summary().read_bytes()
        done = run("report", "-", "--json", stdin=summary, cwd=self.folder)
        self.assertEqual(done.status, COMPLETE, done.err)
        self.assertIn("Rank 1 comes", done.json()["verdict"])
        trace = (self.folder / PAIR[0].name).read_bytes()
        self.assertEqual(run("report", "-", "--json", stdin=trace, cwd=self.folder).json()["found"]["rank"], 0)
        both = run("report", "-", PAIR[1].name, "--json", stdin=trace, cwd=self.folder).json()
        self.assertIn("Rank 1 comes", both["verdict"])

    def test_recordings_that_are_no_ranks(self):
        names = [f"h200/{name}.pt.trace.json.gz" for name in ("solid", "tiny")]
        self.assertEqual(run("summarize", *(DATA / name for name in names), "-o", "two.sss", cwd=self.folder).status, COMPLETE)
        text = self.report("two.sss", "--width", "120").out
        traces = run("report", *names, "--width", "120").out
        self.assertTrue(text.startswith("2 recordings without a rank number"), text)
        self.assertNotIn("ranks", text.split("incomplete-run")[0])
        self.assertIn("in 1 of 2 recordings", text)
        for shown in (text, traces):  # worst first, each by its own name, and the same numbers in both
            rows = [line.split() for line in shown.splitlines() if line.lstrip().startswith(("solid.pt", "tiny.pt")) and "ms" not in line.split()[1]]
            rows = [row for row in rows if row[1].replace(".", "").isdigit()]
            self.assertEqual([row[0].split(".")[0] for row in rows[:2]], ["tiny", "solid"], shown)
            self.assertIn("91", rows[1], shown)
        alone = run("summarize", DATA / names[0], "-o", "one.sss", cwd=self.folder)
        self.assertEqual(alone.status, COMPLETE)
        self.assertNotIn("incomplete-run", self.report("one.sss").out)

    def test_two_windows_of_a_file_have_two_labels(self):
        (self.folder / "twice.json").write_text("".join(
            json.dumps({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": t, "dur": 9}]}) + "\n"
            for t in (1, 1000)))
        self.assertIn(run("summarize", "twice.json", "-o", "twice.sss", cwd=self.folder).status, (COMPLETE, PARTIAL))
        labels = [rank["label"] for rank in self.report("twice.sss", "--json").json()["fleet"]["ranks"]]
        self.assertEqual(labels, ["twice.json (1)", "twice.json (2)"])

    def test_what_reads_traces_says_what_a_summary_is(self):
        self.summary()
        for words in (["steps", "run.sss"], ["ops", "run.sss"], ["stacks", "run.sss"], ["mfu", "run.sss"], ["memory", "run.sss"],
                      ["convert", "run.sss", "-o", "run.json"]):
            done = run(*words, cwd=self.folder)
            self.assertEqual(done.status, UNUSABLE, words)
            self.assertIn("run.sss: a summary of ranks, not a trace; type: stepscope report run.sss", done.err, words)

    def test_what_was_chosen_when_a_summary_was_made_cannot_be_changed(self):
        self.summary()
        (self.folder / "other.sss").write_bytes((self.folder / "run.sss").read_bytes())
        commands = (
            ["report", "run.sss"],
            ["report", PAIR[0].name, "run.sss"],
            ["summarize", "run.sss", "-o", "again.sss"],
            ["diff", "run.sss", "other.sss"],
            ["gate", "run.sss", "other.sss"],
        )
        options = (["--steps", "ProfilerStep"], ["--window", "all"], ["--window", "steps"], ["--device", "7"], ["--peak", "1T"])
        for command in commands:
            for option in options:
                if option[0] == "--peak" and command[0] in ("diff", "gate"):
                    continue  # MFU is none of their business
                if option == ["--device", "7"] and command[1] == PAIR[0].name:
                    continue  # the trace has no such device
                with self.subTest(command=command, option=option):
                    done = run(*command, *option, cwd=self.folder)
                    self.assertEqual(done.status, USAGE, command + option)
                    self.assertIn(f"{option[0]} cannot change run.sss", done.err)
        self.assertFalse((self.folder / "again.sss").exists())

    def test_what_a_summary_is_already_is_no_change(self):
        self.assertEqual(run("summarize", PAIR[0].name, "-o", "a.sss", "--peak", "2T", cwd=self.folder).status, COMPLETE)
        for option in (["--device", "0"], ["--peak", "2T"]):
            done = self.report("a.sss", *option)
            self.assertEqual(done.status, COMPLETE, done.err)

    def test_a_rank_of_summaries_is_gated_alone(self):
        self.summary()
        (self.folder / "other.sss").write_bytes((self.folder / "run.sss").read_bytes())
        done = run("gate", "run.sss", "other.sss", "--rank", "1", "--json", cwd=self.folder).json()
        self.assertEqual([each["rank"] for each in done["base"]["runs"]], [1])
        self.assertEqual(run("gate", "run.sss", "other.sss", "--rank", "5", cwd=self.folder).status, USAGE)

    def test_what_is_wrong_with_a_file_is_said_by_its_kind(self):
        self.summary()
        done = self.report("run.sss", "missing.sss", "--json").json()
        self.assertEqual([each["error"]["code"] for each in done["ranks"] if "error" in each], ["not_found"])
        self.assertEqual(run("summarize", PAIR[0].name, "missing.json", "-o", "part.sss", cwd=self.folder).status, PARTIAL)
        done = self.report("part.sss", "--json").json()
        self.assertEqual([each["error"]["code"] for each in done["ranks"] if "error" in each], ["not_found"])

    def test_findings_of_summaries_have_proof_and_advice(self):
        single = {f["id"]: f for f in self.report(PAIR[0].name, "--json").json()["findings"]}
        self.assertEqual(run("summarize", PAIR[0].name, "-o", "a.sss", cwd=self.folder).status, COMPLETE)
        found = self.report("a.sss", "--json").json()["findings"]
        told = [f for f in found if f["id"] in single]
        self.assertTrue(told)
        for finding in told:
            own = single[finding["id"]]
            self.assertEqual([e["text"] for e in finding["evidence"]], [e["text"] for e in own["evidence"]])
            self.assertEqual(finding["advice"], own["advice"])

    def test_what_cannot_be_read_is_said_once(self):
        (self.folder / "cut.sss").write_bytes(self.summary().read_bytes()[:40])
        done = self.report("cut.sss")
        self.assertEqual((done.status, done.out), (UNUSABLE, ""))
        self.assertEqual(done.err.count("it is cut"), 1)
        self.assertEqual(self.report("cut.sss", "--json").json()["findings"], [])

    def test_a_path_that_cannot_be_read_is_as_it_is(self):
        (self.folder / "a\nb.json").write_text("{")
        done = self.report(*(path.name for path in PAIR), "a\nb.json", "--json").json()
        self.assertEqual([f["path"] for f in done["fleet"]["unreadable"]], ["a\nb.json"])

    def test_rank_numbers_stay_whole_on_a_narrow_screen(self):
        lines = self.report(".", "--width", "60").out.splitlines()
        self.assertRegex(next(line for line in lines if line.startswith("  own work ")), r" rank [01]$")
        self.assertRegex(lines[0], r"steps? \d+(-\d+)?  ")

    def test_findings_of_summaries_name_the_command_that_proves_them(self):
        for finding in self.report(self.summary().name, "--json").json()["findings"]:
            self.assertTrue(finding["advice"], finding["id"])

    def test_nobody_waited_for_a_stopped_rank_that_meets_nobody(self):
        for rank in (0, 1):
            events = []
            for step in range(4):
                at = 1000 + 10000 * step
                where = {"pid": 7, "tid": 7, "ph": "X"}
                events += [{**where, "cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": at, "dur": 9990},
                           {**where, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 10, "dur": 5, "args": {"correlation": step + 1}},
                           {"ph": "X", "pid": 0, "tid": 7, "cat": "kernel", "name": "gemm", "ts": at + 20, "dur": 3000,
                            "args": {"correlation": step + 1, "device": 0, "stream": 7}}]
                if rank == 0:
                    events.append({**where, "cat": "overhead", "name": "Stepscope wrote a memory snapshot", "ts": at + 4000, "dur": 5000})
            (self.folder / f"alone{rank}.json").write_text(json.dumps(
                {"traceEvents": events, "distributedInfo": {"rank": rank, "world_size": 2, "backend": "nccl"}}))
        text = " ".join(self.report("alone0.json", "alone1.json").out.split())
        self.assertIn("no collective that ranks share", text)
        self.assertIn("Stepscope itself stopped rank 0 for", text)
        self.assertNotIn("waited for it", text)

    def test_the_first_screen_holds_the_answer(self):
        for width in (60, 80, 160):
            text = self.report(".", "--width", str(width)).out
            for line in text.splitlines():
                self.assertLessEqual(columns(line), width, line)
        first = " ".join(self.report(".", "--width", "80").out.splitlines()[:24])
        for words in ("2 of 2 ranks", "Rank 1 comes", "Python +", "rank 0", "fault"):
            self.assertIn(words, first)


if __name__ == "__main__":
    unittest.main()
