"""TensorBoard's PyTorch plugin shows of our files what it shows of PyTorch's: steps, operators, kernels, memory, modules."""
import tempfile
import unittest

import files

try:
    from torch_tb_profiler.profiler.data import RunProfileData
    from torch_tb_profiler.profiler.run_generator import RunGenerator
except ImportError as missing:
    files.skip(f"{missing}: tools/setup_python.sh installs it")

# Kernels and communication; Python frames, modules and memory.
RECORDINGS = ("h200/ddp_rank0", "h200/solid4_stack")


def profile(path):
    with tempfile.TemporaryDirectory() as cache:
        data = RunProfileData.parse("worker0", None, path, cache)
    return data, RunGenerator("worker0", None, data).generate_run_profile()


class TensorBoardPlugin(unittest.TestCase):
    maxDiff = 2000

    def assert_close(self, ours, theirs, what):
        """Numbers to nine digits, since sums depend on the order of rows in the file; all else as it is."""
        if isinstance(theirs, dict):
            self.assertEqual(list(ours), list(theirs), what)
            for key in theirs:
                self.assert_close(ours[key], theirs[key], f"{what}.{key}")
        elif isinstance(theirs, (list, tuple)):
            self.assertEqual(len(ours), len(theirs), what)
            for i, (a, b) in enumerate(zip(ours, theirs)):
                self.assert_close(a, b, f"{what}[{i}]")
        elif isinstance(theirs, float):
            self.assertAlmostEqual(ours, theirs, delta=1e-9 * max(1, abs(theirs)), msg=what)
        else:
            self.assertEqual(ours, theirs, what)

    def test_recordings_give_the_same_views(self):
        for name in RECORDINGS:
            (our_data, ours), (their_data, theirs) = profile(files.rewritten(name)), profile(files.original(name))
            with self.subTest(name):
                self.assertEqual([v.name for v in ours.views], [v.name for v in theirs.views])
                self.assertIn("kernel", [v.name for v in theirs.views])
                self.assertEqual(our_data.steps_names, their_data.steps_names)
                self.assertGreaterEqual(len(their_data.steps_names), 3)
                self.assert_close([c.costs for c in our_data.steps_costs], [c.costs for c in their_data.steps_costs], "steps")
                for table in ("overview", "operation_table_by_name", "operation_table_by_name_input", "kernel_op_table", "kernel_table",
                              "tc_pie", "gpu_summary"):
                    self.assert_close(getattr(ours, table), getattr(theirs, table), table)
                self.assertEqual(ours.gpu_metrics is None, theirs.gpu_metrics is None)

    def test_modules_and_memory_are_the_same(self):
        name = RECORDINGS[1]
        ours, theirs = profile(files.rewritten(name))[1], profile(files.original(name))[1]
        self.assertEqual(theirs.module_stats[0].name, "GPT_0")
        self.assert_close(ours.module_stats, theirs.module_stats, "modules")
        self.assertIn("GPU0", theirs.get_memory_curve("ms", "MB")["metadata"]["devices"])
        self.assert_close(ours.get_memory_curve("ms", "MB"), theirs.get_memory_curve("ms", "MB"), "memory curve")
        self.assert_close(ours.get_memory_stats(memory_metric="KB"), theirs.get_memory_stats(memory_metric="KB"), "memory statistics")

    def test_a_session_has_what_was_put_there(self):
        data, found = profile(files.session_like())
        self.assertEqual(data.steps_names, ["3", "4", "5"])
        kernels = {row[0]: row for row in found.kernel_table["data"]["rows"]}
        gemm = kernels["void gemm<float, 128>(float const*, float*)"]
        columns = [column["name"] for column in found.kernel_table["data"]["columns"]]
        self.assertEqual(gemm[columns.index("Calls")], 3)
        self.assertEqual(gemm[columns.index("Total Duration (us)")], 1500)
        self.assertEqual(gemm[columns.index("Mean Blocks Per SM")], 2)  # 264 blocks on 132
        operators = {row["name"]: row for row in found.operation_table_by_name["data"]}
        self.assertEqual(operators["aten::linear"]["calls"], 3)
        self.assertEqual(operators["aten::linear"]["host_total_duration"], 300)
        self.assertIn({"title": "Name", "value": "NVIDIA H200"}, found.gpu_summary)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
