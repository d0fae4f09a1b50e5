"""The engine `ray` on clusters of two nodes on this host: lost nodes, deadly files, files on each node."""

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import fleet_support
import support
from stepscope import fleet

# Small: no object here is larger than a run's summary.
STORE_BYTES = 80 << 20
# A dead node is noticed within seconds; by itself Ray asks for 20.
NOTICE = {"health_check_period_ms": 1000, "health_check_timeout_ms": 3000, "health_check_failure_threshold": 3}


def is_below(process, ancestor):
    while process > 1 and process != ancestor:
        try:
            process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return process == ancestor


@support.needs("ray")
class Ray(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
        # Started processes take these over; a proxy for the machine's own addresses helps nobody.
        for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "RAY_ADDRESS"):
            os.environ.pop(name, None)
        cls.store = fleet_support.BadStore()
        cls.addClassCleanup(cls.store.close)
        from ray.cluster_utils import Cluster

        cls.cluster = Cluster(
            initialize_head=True,
            head_node_args={
                "num_cpus": 1,
                "object_store_memory": STORE_BYTES,
                "include_dashboard": False,
                "_system_config": NOTICE,
            },
        )
        cls.addClassCleanup(cls.cluster.shutdown)
        cls.second = cls.cluster.add_node(num_cpus=1, object_store_memory=STORE_BYTES)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)

    def ranks(self, name, count, kind=""):
        where = self.folder / name
        where.mkdir()
        for number in range(count):
            shutil.copy(support.RANKS[number % 2], where / f"run_{kind}{number}.pt.trace.json.gz")
        return where

    def by_ray(self, what, **how):
        return fleet.report(what, engine="ray", address=self.cluster.address, **{"progress": False, **how})

    def wait_until_it_reads(self, node):
        """Until a process of the node has begun a file, whose next block is a fifth of a second away."""
        raylet = node.all_processes["raylet"][0].process.pid
        seen = len(self.store.reads())
        for _ in range(3000):
            reads = self.store.reads()
            if any(offset == 0 and is_below(process, raylet) for _, offset, process in reads[seen:]):
                return
            seen = len(reads)
            time.sleep(0.01)
        self.fail("the second node reads nothing")

    # The tests are named in order: the last loses the second node.

    def test_1_a_cluster_answers_as_one_machine(self):
        where = self.ranks("many", 70)  # two full groups of the tree and a part of one
        (where / "none.json").write_bytes(b"")
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            told = self.by_ray(where)
        self.assertEqual(told.summary, fleet.report(where, progress=False).summary)
        self.assertEqual(len(told), 70)
        self.assertEqual([source for source, _ in told.unreadable], [str(where / "none.json")])
        self.assertEqual((out.getvalue(), err.getvalue()), ("", ""))

    def test_2_a_file_that_kills_its_reader_is_given_up(self):
        where = self.ranks("deadly", 3)
        shutil.copy(where / "run_0.pt.trace.json.gz", where / "deadly.json.gz")
        told = self.by_ray(f"bad://{where}", tries=2)
        self.assertEqual(len(told), 3)
        readers = [process for name, _, process in self.store.reads() if name == "deadly.json.gz"]
        self.assertEqual(len(readers), 2)
        # In the words of the other engine.
        self.assertEqual(told.summary, fleet.report(f"bad://{where}", tries=2, progress=False).summary)

    def test_3_files_on_each_nodes_own_disk(self):
        # The nodes share this host's disk: every file is seen twice, and read once.
        where = self.ranks("own", 4)
        told = self.by_ray(f"{where}/*.gz", per_node=True)
        self.assertEqual(told.summary, fleet.report(where, progress=False).summary)
        with self.assertRaises(FileNotFoundError):
            self.by_ray(f"{where}/*.parquet", per_node=True)

    def test_4_the_command(self):
        where = self.ranks("command", 2)
        saved = self.folder / "run.sss"
        command = [sys.executable, "-m", "stepscope", "report", "--engine", "ray", "--address", self.cluster.address]
        done = subprocess.run(
            [*command, str(where), "--save", str(saved), "--width", "100"], capture_output=True, text=True
        )
        here = fleet.report(where, progress=False)
        self.assertEqual(done.stdout, here.text(width=100), done.stderr)
        self.assertEqual(done.stderr, "")
        self.assertEqual(fleet.load(saved), here)
        done = subprocess.run([*command, str(self.folder / "none")], capture_output=True, text=True)
        self.assertEqual(done.returncode, 3)
        self.assertNotIn("Traceback", done.stderr)

    def test_5_a_connection_of_the_caller_is_used_and_kept(self):
        import ray

        where = self.ranks("kept", 2)
        ray.init(address=self.cluster.address, log_to_driver=False, logging_level="ERROR")
        try:
            told = fleet.report(where, engine="ray", progress=False)
            self.assertTrue(ray.is_initialized())
        finally:
            ray.shutdown()
        self.assertEqual(told.summary, fleet.report(where, progress=False).summary)

    def test_6_a_node_that_is_lost_in_mid_run_changes_nothing(self):
        where = self.ranks("lost", 24, kind="slow")
        lost_at = []

        def lose(now):
            if now.done_count >= 6 and not lost_at:
                lost_at.append(now.done_count)
                self.wait_until_it_reads(self.second)
                self.cluster.remove_node(self.second, allow_graceful=False)

        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            told = self.by_ray(f"bad://{where}", progress=lose)
        self.assertEqual(out.getvalue(), "")
        self.assertGreaterEqual(lost_at[0], 6)
        self.assertLess(lost_at[0], 20)
        self.assertEqual(told.unreadable, [])
        self.assertEqual(told.summary, fleet.report(f"bad://{where}", progress=False).summary)
        reads = [name for name, offset, _ in self.store.reads() if "slow" in name and offset == 0]
        # All by each engine; beyond that, what was lost with the node and read again.
        self.assertGreater(len(reads), 48)


class Missing(unittest.TestCase):
    def test_without_ray_the_line_to_type_is_named(self):
        code = (
            "import sys\nsys.modules['ray'] = None\nimport stepscope.fleet as fleet\n"
            f"try:\n    fleet.report({str(support.RANKS[0])!r}, engine='ray')\n"
            "except fleet.RayUnavailable as error:\n    print(error)\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertIn("pip install 'stepscope[ray]'", done.stdout)

    @support.needs("ray")
    def test_a_cluster_that_is_not_there(self):
        with self.assertRaisesRegex(fleet.RayUnavailable, "no Ray cluster at 127.0.0.1:1"):
            fleet.report(support.RANKS, engine="ray", address="127.0.0.1:1", progress=False)


if __name__ == "__main__":
    support.main()
