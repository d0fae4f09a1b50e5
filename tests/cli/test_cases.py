"""The numbers of every case file, end to end: what a right reader has no choice about, and what was decided for Stepscope."""
import unittest

from program import run

US = 1000
MIB = 1 << 20


def report(name, *arguments):
    return run("report", f"cases/{name}", "--json", *arguments).json()


def main_device(document):
    return next(d for d in document["devices"] if d["is_main"])


class Accounts(unittest.TestCase):
    # name: (complete steps, busy us, window us)
    TABLE = {
        "A00_good.json": (3, 900, 3000),
        "A01_truncated_mid_event.json": (3, 900, 3000),
        "A02_array_unclosed.json": (3, 900, 3000),
        "A04_backslash_paths.json": (3, 900, 3000),
        "A05_unescaped_quotes.json": (3, 900, 3000),
        "A07_inf_nan_na.json": (3, 908, 3000),
        "A12_plain_named_gz.json.gz": (3, 900, 3000),
        "A13_gzip_named_json.json": (3, 900, 3000),
        "A14_multi_member.json.gz": (3, 900, 3000),
        "A16_string_ts_absolute.json": (0, 1.2, 1.35),
        "A19_bad_durations.json": (3, 900, 3000),
        "A20_overlap_one_stream.json": (0, 4.0, None),
        "A21_dur_swallows_next.json": (32, 10300, 32000),
        "A22_no_profiler_step.json": (0, 900, 2400),
        "A26_kernel_before_launch.json": (3, 900, 3000),
        "A28_cuda_graph.json": (2, 640, 2000),
        "A29_rocm_names.json": (None, 400, 1000),
        "A31_pid_collision.json": (3, 900, 3000),
        "A32_id_types.json": (3, 910, 3000),
        "A33_tiny_kernels.json": (1, 2.0, 10),
        "A40_duplicates_and_bleed.json": (3, 900, 3000),
        "B01_two_streams_overlap.json": (None, 140, 200),
        "B06_idle_causes.json": (1, 440, 1000),
    }

    def test_each(self):
        for name, (steps, busy_us, window_us) in self.TABLE.items():
            with self.subTest(name):
                document = report(name)
                device = main_device(document)
                if steps is not None:
                    self.assertEqual(document["steps"]["count"], steps)
                self.assertEqual(device["gpu_busy_ns"], round(busy_us * US))
                if window_us is not None:
                    self.assertEqual(device["window_ns"], round(window_us * US))
                    self.assertEqual(device["idle_ns"], round((window_us - busy_us) * US))


class Kinds(unittest.TestCase):
    def test_a_cut_file_leaves_the_cut_step_out(self):
        document = report("A01_truncated_mid_event.json")
        self.assertEqual(document["steps"]["left_out"], [6])
        cut = next(n for n in document["notes"] if n["kind"] == "file_cut")
        self.assertEqual((cut["severity"], cut["count"], cut["first_offset"]), ("lost", 1, 4639))

    def test_repairs_are_counted(self):
        notes = {n["kind"]: n for n in report("A04_backslash_paths.json")["notes"]}
        self.assertEqual(notes["invalid_escape"]["count"], 8)
        notes = {n["kind"]: n for n in report("A05_unescaped_quotes.json")["notes"]}
        self.assertEqual(notes["unescaped_quote"]["count"], 1)

    def test_durations_that_cannot_be_true(self):
        self.assertEqual(report("A19_bad_durations.json")["ledger"]["bad_duration_count"], 3)
        document = report("A21_dur_swallows_next.json")
        self.assertEqual(main_device(document)["gpu_busy_raw_ns"], 30_800 * US)
        self.assertEqual(document["ledger"]["swallowing_duration_count"], 1)
        for finding in document["findings"]:
            self.assertNotIn("sticky_kernel", finding["title"] + " ".join(e["text"] for e in finding["evidence"]))
        self.assertEqual(main_device(report("A20_overlap_one_stream.json"))["gpu_sum_ns"], 5776)

    def test_lost_records_withhold_the_headline(self):
        document = report("A21b_events_only_in_two_steps.json")
        self.assertIn("30 of 32 launches have no kernel", document["headline_withheld"])
        self.assertEqual(document["findings"][0]["id"], "incomplete-data")
        self.assertEqual(document["ledger"]["launch_without_gpu_event_count"], 30)
        self.assertAlmostEqual(document["ledger"]["largest_event_ratio"], 0.9903, places=4)
        self.assertIn("two ranks merged", report("A35_merged_two_ranks.json")["headline_withheld"])
        self.assertIn("corrupt", report("A10_two_ranks_interleaved.json")["headline_withheld"])

    def test_latencies(self):
        launches = report("A26_kernel_before_launch.json")["launches"]
        self.assertEqual((launches["negative_latency_count"], launches["latency_count"]), (1, 3))
        self.assertEqual((launches["median_latency_ns"], launches["min_latency_ns"]), (80 * US, -3 * US))
        graph = report("A28_cuda_graph.json")
        self.assertEqual(graph["launches"]["median_latency_ns"], 50 * US)
        self.assertEqual((graph["launches"]["graph_launch_count"], graph["launches"]["graph_event_count"]), (2, 8))
        self.assertEqual(graph["ledger"]["launch_count"], 2)

    def test_devices_ranks_and_steps_are_found_where_they_stand(self):
        rocm = report("A29_rocm_names.json")
        self.assertEqual(main_device(rocm)["device"], 2)
        kinds = main_device(rocm)["event_count_by_kind"]
        self.assertEqual({k: kinds[k] for k in ("matmul", "communication", "copy", "elementwise")},
                         {"matmul": 1, "communication": 1, "copy": 1, "elementwise": 1})
        self.assertEqual(report("A39_metadata_at_end.json")["found"]["rank"], 5)
        self.assertEqual(report("A39_metadata_at_end.json")["found"]["world_size"], 8)
        jax = report("A37_jax_empty_tail.json.gz")
        self.assertEqual(jax["steps"]["source"], "step_number")
        self.assertEqual((jax["steps"]["median_ns"], main_device(jax)["gpu_busy_ns"]), (100 * US, 40 * US))

    def test_memory_of_the_gpu_alone(self):
        memory = report("A38_memory_instants.json")["memory"]["devices"]
        self.assertEqual([d["device"] for d in memory], [0])
        self.assertEqual(memory[0]["allocated_peak"]["bytes"], 900 * MIB)
        self.assertEqual(memory[0]["allocated_last_bytes"], 400 * MIB)

    def test_duplicates_and_events_outside(self):
        ledger = report("A40_duplicates_and_bleed.json")["ledger"]
        self.assertEqual((ledger["gpu_event_count"], ledger["duplicate_gpu_event_count"]), (4, 1))
        self.assertEqual(ledger["outside_window_gpu_event_count"], 1)

    def test_the_late_rank_is_named_on_one_clock(self):
        done = run("report", "cases/A17_rank0.json", "cases/A17_rank1.json", "--json").json()
        straggler = next(f for f in done["findings"] if f["id"] == "straggler")
        self.assertTrue(straggler["title"].startswith("Rank 1 comes 0.25 ms late"), straggler["title"])


class Numbers(unittest.TestCase):
    def test_communication(self):
        device = main_device(report("B01_two_streams_overlap.json"))
        self.assertEqual((device["communication_ns"], device["exposed_communication_ns"], device["hidden_communication_ns"]),
                         (100 * US, 40 * US, 60 * US))

    def test_idle_has_causes_that_add_up(self):
        device = main_device(report("B06_idle_causes.json"))
        edges = device["idle_by_cause_edges_ns"]
        self.assertEqual(edges["data_loader"], 400 * US)
        self.assertEqual(sum(edges.values()), 560 * US)
        self.assertEqual(sum(device["idle_by_cause_ns"].values()), 560 * US)
        self.assertEqual(device["exposed_communication_ns"], 200 * US)

    def test_flops(self):
        unknown = report("B07_unknown_gpu.json")["efficiency"]
        self.assertEqual(unknown["flops"], 1_572_864)
        self.assertIsNone(unknown["mfu_ratio"])
        self.assertIn("peak", unknown["not_available"])
        given = report("B07_unknown_gpu.json", "--peak-flops", "1e12")["efficiency"]
        self.assertIsNotNone(given["mfu_ratio"])
        nested = report("B09_nested_sdpa.json")["efficiency"]
        self.assertEqual((nested["flops"], nested["flops_causal_halved"]), (134_217_728, 100_663_296))

    def test_operators(self):
        rows = {r["key"]: r for r in run("ops", "cases/B11_same_op_reentered.json", "--json").json()["rows"]}
        self.assertEqual((rows["aten::mm"]["record_count"], rows["aten::mm"]["inclusive_ns"]), (2, 80 * US))
        self.assertEqual(rows["aten::mm"]["cpu_time_total"], 130)
        rows = {r["key"]: r for r in run("ops", "cases/B02_nested_ops.json", "--json").json()["rows"]}
        self.assertEqual(rows["aten::cudnn_convolution"]["self_cpu_time_total"], 90)
        self.assertEqual([rows[k]["device_time_total"] for k in
                          ("aten::conv2d", "aten::convolution", "aten::_convolution", "aten::cudnn_convolution")], [400] * 4)
        modules = {r["key"]: r for r in run("ops", "cases/B05_backward_thread.json", "--by", "module", "--json").json()["rows"]}
        self.assertTrue(modules)


if __name__ == "__main__":
    unittest.main()
