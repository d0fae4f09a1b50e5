"""stepscope mfu: the worked examples, units, wrong usage, the document, and agreement with the report on traces."""
import json
import re
import unittest

from program import COMPLETE, PARTIAL, ROOT, UNUSABLE, USAGE, cases, columns, recordings, run

SOLID = "h200/solid.pt.trace.json.gz"
SEVEN = ["--params", "7e9", "--gpus", "64", "--peak", "989e12", "--tokens-per-step", "2e6", "--step-s", "9"]
GPT = ["--params", "137353728", "--layers", "12", "--d-model", "768", "--context", "1024", "--tokens-per-step", "16384"]
DESCRIBED = set(re.findall(r"`([a-z0-9_.\-\[\]]+)`", (ROOT / "docs" / "formats" / "mfu.md").read_text()))


def with_option(arguments, option, value):
    changed = list(arguments)
    if option in changed:
        changed[changed.index(option) + 1] = value
        return changed
    return changed + [option, value]


def without(arguments, option):
    if option not in arguments:
        return list(arguments)
    at = arguments.index(option)
    return arguments[:at] + arguments[at + 2:]


def ratio(*arguments):
    done = run("mfu", *arguments, "--json")
    assert done.status in (COMPLETE, PARTIAL), done.err
    return done.json()["mfu_ratio"]


class Numbers(unittest.TestCase):
    def test_the_worked_example(self):
        done = run("mfu", *SEVEN)
        self.assertEqual(done.status, COMPLETE)
        self.assertTrue(done.out.startswith("MFU 14.75%"), done.out)
        self.assertIn("42 GFLOP x 2,000,000 tokens", done.out)
        self.assertIn("84 PFLOP / 569.7 PFLOP", done.out)
        self.assertAlmostEqual(ratio(*SEVEN), 84e15 / (64 * 989e12 * 9), places=12)

    def test_units_say_the_same(self):
        base = ratio(*SEVEN)
        for option, values in (("--params", ("7B", "7b", "7000M", "7 B", "7000000000", "0.007T")), ("--peak", ("989T", "989TFLOP/s", "0.989P", "989 TFLOPS")),
                               ("--tokens-per-step", ("2M", "2m", "2000k", "2000000")), ("--step-s", ("9s", "9.0", "9000ms", "9e6us", "0.15min"))):
            for value in values:
                with self.subTest(option=option, value=value):
                    self.assertAlmostEqual(ratio(*with_option(SEVEN, option, value)), base, places=12)
        self.assertEqual(ratio(*with_option(without(SEVEN, "--peak"), "--peak-flops", "989T")), base)

    def test_a_device_has_its_peak(self):
        document = run("mfu", *without(SEVEN, "--peak"), "--device", "NVIDIA H200", "--dtype", "bf16", "--json").json()
        self.assertAlmostEqual(document["mfu_ratio"], ratio(*SEVEN), places=12)
        self.assertEqual(document["peak"]["source"], "NVIDIA H200 data sheet, 2024")
        assumed = run("mfu", *without(SEVEN, "--peak"), "--device", "NVIDIA H200")
        self.assertIn("bf16 is assumed", assumed.out)
        fp8 = ratio(*without(SEVEN, "--peak"), "--device", "NVIDIA H200", "--dtype", "fp8")
        self.assertAlmostEqual(fp8 * 1979, ratio(*SEVEN) * 989, places=9)

    def test_the_recorded_gpt(self):
        done = run("mfu", *GPT, "--step-s", "43.5ms", "--device", "NVIDIA H200")
        self.assertTrue(done.out.startswith("MFU 35.70%"), done.out)
        self.assertIn("15.36 TFLOP", done.out)

    def test_recomputation(self):
        def hfu(word):
            return run("mfu", *SEVEN, "--recompute", word, "--json").json()["hfu_ratio"]
        self.assertIsNone(run("mfu", *SEVEN, "--json").json()["hfu_ratio"])
        self.assertEqual(hfu("none"), ratio(*SEVEN))
        self.assertAlmostEqual(hfu("full"), ratio(*SEVEN) * 4 / 3, places=12)
        self.assertAlmostEqual(hfu("28P"), hfu("full"), places=12)  # a third of 84
        self.assertIn("HFU 19.66%", run("mfu", *SEVEN, "--recompute", "full").out)

    def test_vocab_shows_the_embedding(self):
        document = run("mfu", *SEVEN, "--vocab", "32000", "--d-model", "4096", "--json").json()
        self.assertEqual([c["flops"] for c in document["counts"]], ["formula", "formula_without_embedding"])
        self.assertEqual(document["model"]["embedding_params"], 32000 * 4096)
        self.assertEqual([c["attention"] for c in document["counts"]], ["ignored"] * 2)
        self.assertIn("1.87% of all", run("mfu", *SEVEN, "--vocab", "32000", "--d-model", "4096").out)


class WrongUsage(unittest.TestCase):
    def assert_refused(self, arguments, words, status=USAGE):
        done = run("mfu", *arguments)
        self.assertEqual(done.status, status, done.out + done.err)
        self.assertEqual(done.out, "")
        self.assertTrue(done.err.startswith("stepscope: "), done.err)
        self.assertIn(words, done.err)
        document = run("mfu", *arguments, "--json").json()
        self.assertEqual(document["status"], "unusable")
        self.assertIn(words.splitlines()[0], document["error"]["message"])
        self.assertEqual(document["error"]["code"] == "invalid_argument", status == USAGE, document["error"])

    def test_every_flag_names_itself_and_what_is_allowed(self):
        for option, allowed, values in (("--params", "7B", ("7bn", "0", "-7B", "nan", "inf", "seven", "7,000", "")),
                                        ("--peak", "989T", ("989", "0", "989t", "1e400", "989TB")),
                                        ("--tokens-per-step", "a number above 0", ("0", "2MM", "-1")),
                                        ("--step-s", "43.5ms", ("0", "-9", "9 seconds", "9m", "nan")),
                                        ("--gpus", "a whole number above 0", ("0", "-3", "64.5", "8x", "1e3")),
                                        ("--layers", "written out", ("32.5", "0")), ("--context", "8192", ("8K", "8k", "8e3")),
                                        ("--d-model", "written out", ("4K",)), ("--vocab", "written out", ("32k",)),
                                        ("--recompute", "full, none", ("half", "0", "28p")), ("--dtype", "bf16", ("bf8",))):
            for value in values:
                with self.subTest(option=option, value=value):
                    self.assert_refused([*without(SEVEN, option), f"{option}={value}"], option)
                    if value:
                        self.assertIn(allowed, run("mfu", f"{option}={value}").err)

    def test_what_is_missing_is_named(self):
        for option in ("--tokens-per-step", "--step-s", "--params", "--peak"):
            with self.subTest(option):
                self.assert_refused(without(SEVEN, option), option)
        self.assert_refused([], "--params")
        self.assert_refused([*SEVEN, "--layers", "32"], "--d-model")
        self.assert_refused([*SEVEN, "--d-model", "4096"], "--layers")
        self.assert_refused([*SEVEN, "--vocab", "32000"], "--d-model")
        self.assert_refused([*SEVEN, "--vocab", "32000000", "--d-model", "4096"], "--vocab")
        self.assert_refused([*SEVEN, "--device", "NVIDIA H200"], "not both")
        self.assert_refused([*SEVEN, "--steps", "train"], "TRACE")
        self.assert_refused([*SEVEN, "--rank", "0"], "TRACE")
        self.assert_refused([SOLID, "--recompute", "full"], "--params")
        self.assert_refused([*SEVEN, "--parms", "7B"], "--params")

    def test_an_unknown_device_lists_near_names(self):
        base = without(SEVEN, "--peak")
        self.assert_refused([*base, "--device", "H100"], "NVIDIA H100 80GB HBM3")
        self.assert_refused([*base, "--device", "nvidia h200"], "NVIDIA H200 NVL")
        self.assert_refused([*base, "--device", "Tesla T4"], "fp16, fp32, int8")
        self.assert_refused([*base, "--device", "Madeup 9000"], "known are:")

    def test_a_hundred_percent_is_a_data_error(self):
        self.assert_refused(with_option(SEVEN, "--gpus", "1"), "data error: MFU comes out as 943.7%", UNUSABLE)
        self.assert_refused([*SEVEN, "--recompute", "1E"], "data error: HFU comes out as 190.3%", UNUSABLE)

    def test_files_that_give_nothing(self):
        self.assert_refused(["no/such/file.json"], "no such file", UNUSABLE)
        self.assert_refused(["cases/A25_zero_bytes.json"], "empty", UNUSABLE)
        self.assert_refused(["h200/ddp_rank0.pt.trace.json.gz"], "record_shapes=True", UNUSABLE)
        self.assertEqual(run("mfu", "h200/ddp_rank0.pt.trace.json.gz", "--json").json()["error"]["code"], "not_found")
        self.assert_refused(["h200/graph.pt.trace.json.gz"], "CUDA graph", UNUSABLE)
        self.assert_refused(["cases/A21b_events_only_in_two_steps.json"], "incomplete", UNUSABLE)
        self.assert_refused(["cases/A22_no_profiler_step.json"], "name the span that is one with --steps", UNUSABLE)
        self.assert_refused(["cases/B07_unknown_gpu.json"], "Madeup Accelerator 9000")
        self.assert_refused([SOLID, "--steps", "nothing"], "forward")

    def test_a_recording_of_the_cpu_alone_has_no_gpus_to_count(self):
        step = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 1.0, "dur": 1000.0}
        product = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 2.0, "dur": 900.0,
                   "args": {"Input Dims": [[64, 64], [64, 64]]}}
        trace = json.dumps({"schemaVersion": 1, "traceEvents": [step, product]}).encode()
        for more in ([], ["--peak", "989T"], ["--device", "NVIDIA H200"]):
            done = run("mfu", "-", *more, stdin=trace)
            self.assertEqual(done.status, USAGE, done.out)
            self.assertIn("give --gpus", done.err)
        done = run("mfu", "-", "--gpus", "8", "--peak", "989T", stdin=trace)
        self.assertEqual(done.status, COMPLETE, done.err)
        self.assertIn("8 GPUs", done.out)


class Traces(unittest.TestCase):
    def test_it_agrees_with_the_report(self):
        compared = 0
        for path in recordings():
            report = run("report", path, "--json").json()
            expected = report["efficiency"]["mfu_ratio"]
            if expected is None:
                continue
            document = run("mfu", path, "--json").json()
            with self.subTest(path):
                mean = [t["source"] for t in document["step_times"]].index("trace_mean")
                self.assertAlmostEqual(document["counts"][0]["mfu_ratio"][mean] / expected, 1, places=6)
                self.assertAlmostEqual(document["counts"][0]["hfu_ratio"][mean] / report["efficiency"]["hfu_ratio"], 1, places=6)
                self.assertEqual(document["step_times"][0]["step_ns"], report["steps"]["median_ns"])
                compared += 1
        self.assertGreater(compared, 10)

    def test_every_file_gives_a_document(self):
        for path in cases():
            for more in ([], with_option(SEVEN, "--step-s", "1min")):
                with self.subTest(path, more=bool(more)):
                    done = run("mfu", path, *more, "--json")
                    self.assertIn(done.status, (COMPLETE, USAGE, UNUSABLE, PARTIAL))
                    document = done.json()
                    self.assertEqual(document["status"], "complete" if done.status == COMPLETE else
                                     "partial" if done.status == PARTIAL else "unusable")
                    if done.status in (COMPLETE, PARTIAL):
                        self.assertTrue(0 < document["mfu_ratio"] < 1)
                        self.assertEqual(run("mfu", path, *more).status, done.status)

    def test_the_formula_beside_the_operators(self):
        document = run("mfu", SOLID, *GPT, "--step-s", "43.5ms", "--vocab", "32000", "--json").json()
        by_count = {c["flops"]: c for c in document["counts"]}
        self.assertAlmostEqual(by_count["formula"]["flops_per_gpu_step"] / 1e12, 15.358, places=3)
        for count, percent in (("formula", 35.7), ("operators", 30.1), ("operators_causal_halved", 27.5)):
            self.assertAlmostEqual(by_count[count]["mfu_ratio"][0] * 100, percent, delta=0.06)
        # Where the output layer does not share the embedding, the formula without it is what the operators do.
        self.assertAlmostEqual(by_count["formula_without_embedding"]["flops_per_gpu_step"] / by_count["operators"]["flops_per_gpu_step"], 1,
                               delta=0.002)
        text = run("mfu", SOLID, *GPT).out
        for words in ("formula", "operators, attention in full", "operators, causal halved", "recorded", "unprofiled"):
            self.assertIn(words, text)

    def test_recomputation_is_seen(self):
        document = run("mfu", "planted/recompute.pt.trace.json.gz", "--json").json()
        self.assertGreater(document["hfu_ratio"], document["mfu_ratio"])
        self.assertIn("HFU", run("mfu", "planted/recompute.pt.trace.json.gz").out)
        self.assertNotIn("HFU", run("mfu", SOLID).out)

    def test_ranks_and_losses(self):
        ddp = run("mfu", "h200/ddp_rank0.pt.trace.json.gz", "--params", "10M", "--tokens-per-step", "1000", "--json").json()
        self.assertEqual(ddp["gpus"], {"count": 2, "source": "trace_world_size"})
        self.assertIn("record_shapes", ddp["trace"]["operators_not_available"])
        cut = run("mfu", "cases/A01_truncated_mid_event.json", "--json")
        self.assertEqual(cut.status, PARTIAL)
        self.assertEqual(cut.json()["status"], "partial")
        unsound = run("mfu", "cases/A21b_events_only_in_two_steps.json", *SEVEN, "--json")
        self.assertEqual(unsound.status, PARTIAL, unsound.err)
        self.assertEqual([t["source"] for t in unsound.json()["step_times"]], ["given"])


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

    def test_every_key_and_word_is_described(self):
        found = set()
        for arguments in (SEVEN, [SOLID, *GPT, "--vocab", "32000"], ["no/such/file"], [SOLID]):
            document = run("mfu", *arguments, "--json").json()
            found |= self.keys_of(document, set()) - {"code", "message", "byte_offset"}  # report.md has these
            for part in document.get("counts", []):
                found |= {part["flops"], part["attention"]}
            found |= {t["source"] for t in document.get("step_times", [])}
        words = {part for word in DESCRIBED for part in word.split(".")}
        self.assertEqual(found - words, set())

    def test_text_fits_its_width(self):
        for width in (60, 80, 120):
            for arguments in (SEVEN, [*SEVEN, "--recompute", "full"], [SOLID, *GPT], ["planted/recompute.pt.trace.json.gz"]):
                for line in run("mfu", *arguments, "--width", str(width)).out.splitlines():
                    self.assertLessEqual(columns(line), width, line)


if __name__ == "__main__":
    unittest.main()
