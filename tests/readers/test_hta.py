"""Holistic Trace Analysis finds in our files what it finds in PyTorch's, and in a session's what was put there."""
import logging
import unittest

import files

try:
    import pandas.testing
    from hta.trace_analysis import TraceAnalysis
except ImportError as missing:
    files.skip(f"{missing}: tools/setup_python.sh installs it")

RECORDINGS = ("h200/ddp_rank0", "h200/resnet_healthy")


def analysis(path):
    logging.disable(logging.INFO)
    return TraceAnalysis(trace_files={0: path}, trace_dir="/", include_last_profiler_step=True)


class HolisticTraceAnalysis(unittest.TestCase):
    def assert_same(self, ours, theirs, what):
        self.assertFalse(theirs.empty, what)
        # Not bit by bit: sums of floating-point numbers depend on the order of rows, and with it on the file's.
        pandas.testing.assert_frame_equal(ours, theirs, rtol=1e-9, atol=0, obj=what)

    def test_recordings_give_the_same_breakdowns(self):
        for name in RECORDINGS:
            with self.subTest(name):
                ours, theirs = analysis(files.rewritten(name)), analysis(files.original(name))
                self.assert_same(ours.get_temporal_breakdown(visualize=False), theirs.get_temporal_breakdown(visualize=False), "temporal")
                for ours_part, theirs_part in zip(ours.get_gpu_kernel_breakdown(visualize=False), theirs.get_gpu_kernel_breakdown(visualize=False)):
                    self.assert_same(ours_part, theirs_part, "kernels")
                self.assert_same(ours.get_idle_time_breakdown(visualize=False)[0], theirs.get_idle_time_breakdown(visualize=False)[0], "idle")

    def test_communication_overlap_is_the_same(self):
        name = RECORDINGS[0]
        ours, theirs = analysis(files.rewritten(name)), analysis(files.original(name))
        self.assert_same(ours.get_comm_comp_overlap(visualize=False), theirs.get_comm_comp_overlap(visualize=False), "overlap")

    def test_launches_are_the_same(self):
        name = RECORDINGS[0]
        ours, theirs = analysis(files.rewritten(name)), analysis(files.original(name))
        columns = ["cpu_duration", "gpu_duration", "launch_delay"]
        by_rank = [a.get_cuda_kernel_launch_stats(visualize=False)[0][columns] for a in (ours, theirs)]
        self.assertGreater(len(by_rank[1]), 1000)
        self.assertEqual(*[sorted(rows.itertuples(index=False, name=None)) for rows in by_rank])

    def test_a_session_has_what_was_put_there(self):
        found = analysis(files.session_like())
        row = found.get_temporal_breakdown(visualize=False).iloc[0]
        # From the first kernel's start to the last one's end: 2 * 1000 + 500 us, of which 3 * 500 compute.
        self.assertEqual((row["kernel_time(us)"], row["idle_time(us)"], row["compute_time(us)"]), (2500, 1000, 1500))
        kernels = found.get_gpu_kernel_breakdown(visualize=False)[1]
        by_name = {r["name"]: r["sum (us)"] for r in kernels.to_dict("records")}
        self.assertEqual(by_name["void gemm<float, 128>(float const*, float*)"], 1500)
        self.assertEqual(by_name["Memcpy HtoD (Pinned -> Device)"], 300)
        launches = found.get_cuda_kernel_launch_stats(visualize=False)[0]
        # A call of 10 us begins 40 us before its kernel: 30 us behind its end.
        self.assertEqual(sorted(set(launches["launch_delay"])), [30])


if __name__ == "__main__":
    unittest.main(warnings="ignore")  # pandas' to HTA
