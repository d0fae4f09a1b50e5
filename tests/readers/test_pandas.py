"""pandas reads the CSV tables: types, joins, and nothing lost."""
import os
import tempfile
import unittest

import files

try:
    import pandas
except ImportError:
    files.skip("pandas is not installed")


class Pandas(unittest.TestCase):
    def test_tables_join(self):
        with tempfile.TemporaryDirectory() as folder:
            files.convert("golden/enc", os.path.join(folder, ""))
            tables = {name: pandas.read_csv(os.path.join(folder, f"{name}.csv")) for name in ("ops", "gpu_events", "kernels", "steps", "memory_events")}
        events, ops = tables["gpu_events"], tables["ops"]
        self.assertEqual(list(ops["row"]), list(range(len(ops))))
        joined = events.merge(ops, left_on="op", right_on="row", suffixes=("", "_op"))
        self.assertGreater(len(joined), 400)
        matmuls = joined[joined["name_op"] == "aten::addmm"]
        self.assertGreater(len(matmuls), 0)
        self.assertTrue((events["end_ns"] >= events["start_ns"]).all())
        self.assertEqual(tables["kernels"]["count"].sum(), len(events))
        self.assertEqual(len(tables["memory_events"]), 1100)
        self.assertEqual(len(tables["steps"]), 2)


if __name__ == "__main__":
    unittest.main()
