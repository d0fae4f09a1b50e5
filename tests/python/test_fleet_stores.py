"""Runs that lie in object stores: S3 as moto serves it, fsspec's memory, and the web."""

import gzip
import http.server
import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import support
from stepscope import _program, fleet


@support.needs("fsspec", "s3fs", "moto", "flask", "boto3")
class S3(unittest.TestCase):
    """A server that speaks S3, asked by this process, by the pool's and by the command."""

    @classmethod
    def setUpClass(cls):
        from moto.server import ThreadedMotoServer

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        cls.server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        cls.server.start()
        cls.addClassCleanup(cls.server.stop)
        _, port = cls.server.get_host_and_port()
        cls.saved = dict(os.environ)
        os.environ.update(
            AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}", AWS_ACCESS_KEY_ID="AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY="hunter22secret",
            AWS_DEFAULT_REGION="us-east-1",
        )  # fmt: skip
        for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
            os.environ.pop(name, None)
        import fsspec

        cls.fs = fsspec.filesystem("s3")
        cls.fs.mkdir("bucket")
        for rank, path in enumerate(support.RANKS):
            # One as it was recorded, one plain: content decides, not the name.
            content = path.read_bytes() if rank == 0 else gzip.decompress(path.read_bytes())
            cls.fs.pipe(f"bucket/run1/rank {rank}.pt.trace.json.gz", content)
        cls.fs.pipe("bucket/run1/notes.txt", b"not a trace")
        cls.fs.pipe("bucket/run1/settings.json", b'{"world": 2}')
        cls.fs.pipe("bucket/broken/none.json", b"hello" * 20_000)

    @classmethod
    def tearDownClass(cls):
        os.environ.clear()
        os.environ.update(cls.saved)

    def local(self):
        return fleet.report(support.RANKS, progress=False)

    def test_a_folder_of_a_bucket(self):
        told = fleet.report("s3://bucket/run1/", jobs=2, progress=False)
        self.assertEqual(len(told), 2)
        self.assertEqual(told.unreadable, [])
        self.assertEqual(told.verdict, self.local().verdict)
        sources = told.table().to_pandas()["source"]
        self.assertEqual(list(sources), [f"s3://bucket/run1/rank {rank}.pt.trace.json.gz" for rank in (0, 1)])
        # Whoever reads it, and however it is named, the answer is the same.
        for what in ("s3://bucket/run1", "s3://bucket/run1/*.gz", [f"s3://bucket/run1/rank {rank}.pt.trace.json.gz" for rank in (1, 0)]):
            self.assertEqual(fleet.report(what, jobs=1, progress=False), told)

    def test_sizes_are_known_so_that_time_left_is(self):
        told = []
        fleet.report("s3://bucket/run1/", progress=told.append)
        self.assertEqual(told[-1].done_bytes, sum(self.fs.sizes(self.fs.glob("bucket/run1/*.gz"))))

    def test_summaries_are_kept_there(self):
        told = fleet.report("s3://bucket/run1/", progress=False)
        told.save("s3://bucket/sums/run1.sss")
        self.assertEqual(fleet.load("s3://bucket/sums/run1.sss"), told)
        self.assertEqual(fleet.report("s3://bucket/sums/", progress=False), told)

    def test_what_is_not_there(self):
        with self.assertRaises(FileNotFoundError):
            fleet.report("s3://bucket/none/", progress=False)
        told = fleet.report(["s3://bucket/run1/", "s3://bucket/run1/rank 7.json"], progress=False)
        self.assertEqual(told.unreadable, [("s3://bucket/run1/rank 7.json", "no such file")])
        with self.assertRaises(FileNotFoundError):
            fleet.report("s3://bucket/run1/*.parquet", progress=False)
        told = fleet.report("s3://bucket/broken/", progress=False)
        self.assertEqual(len(told.unreadable), 1)
        self.assertNotIn("/dev/fd", told.unreadable[0][1])

    def test_credentials_that_are_missing_or_refused_are_told_in_words(self):
        code = (
            "import stepscope.fleet as fleet\n"
            "try:\n    fleet.report('s3://bucket/run1/', progress=False)\n"
            "except fleet.StoreError as error:\n    print(error.filename, error.strerror)\n"
        )
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        environment.update(
            AWS_ENDPOINT_URL=os.environ["AWS_ENDPOINT_URL"], AWS_EC2_METADATA_DISABLED="true", AWS_DEFAULT_REGION="us-east-1",
            HOME="/nonexistent",
        )  # fmt: skip
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        self.assertIn("s3://bucket/run1/ no credentials: set AWS_PROFILE", done.stdout, done.stderr)

    # The command.

    def command(self, *arguments, **how):
        return subprocess.run([sys.executable, "-m", "stepscope", *arguments], capture_output=True, text=True, **how)

    def test_the_command_reports_a_run(self):
        done = self.command("report", "s3://bucket/run1/", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        self.assertEqual(json.loads(done.stdout)["verdict"], self.local().verdict)
        done = self.command("report", "s3://bucket/run1/", "--engine", "local", "--jobs=1", "--width", "100")
        self.assertEqual(done.stdout, fleet.report("s3://bucket/run1/", progress=False).text(width=100))

    def test_the_command_reports_one_trace_whole(self):
        done = self.command("report", "s3://bucket/run1/rank 1.pt.trace.json.gz", "--json", "--top", "3")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        path = str(support.RANKS[1])
        here = json.loads(subprocess.run([_program.path(), "report", path, "--json", "--top", "3"], capture_output=True).stdout)
        for key in ("verdict", "findings", "step", "kernels"):
            self.assertEqual(told.get(key), here.get(key), key)
        done = self.command("report", "s3://bucket/broken/none.json")
        self.assertEqual(done.returncode, 3)
        done = self.command("report", "s3://bucket/run1/rank 9.json")
        self.assertEqual(done.returncode, 3)
        self.assertIn("stepscope: s3://bucket/run1/rank 9.json: no such file", done.stderr)
        done = self.command("report", "s3://bucket/run1/rank 1.pt.trace.json.gz", "--top", "x")
        self.assertEqual(done.returncode, 2)

    def test_the_command_summarizes_and_merges(self):
        with tempfile.TemporaryDirectory() as folder:
            for rank in (0, 1):
                done = self.command("summarize", f"s3://bucket/run1/rank {rank}.pt.trace.json.gz", "-o", f"s3://bucket/parts/{rank}.sss")
                self.assertEqual(done.returncode, 0, done.stderr)
            done = self.command("merge", "s3://bucket/parts/*.sss", "-o", f"{folder}/run.sss")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(fleet.load(f"{folder}/run.sss"), fleet.report("s3://bucket/run1/", progress=False))

    def test_the_command_says_what_is_wrong(self):
        done = self.command("report", "s3://bucket/none/")
        self.assertEqual(done.returncode, 3)
        self.assertTrue(done.stderr.startswith("stepscope: s3://bucket/none/"), done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        done = self.command("report", "s3://bucket/run1/", "--jobs", "none")
        self.assertEqual(done.returncode, 2)
        done = self.command("report", "nosuch://bucket/run1/")
        self.assertEqual(done.returncode, 3)
        self.assertIn("nosuch", done.stderr)
        done = self.command("report", "s3://bucket/run1/", "--address", "a:1")
        self.assertEqual(done.returncode, 2)

    def test_nothing_says_a_secret(self):
        for arguments in (["s3://bucket/none/"], ["https://me:hunter22secret@127.0.0.1:1/x.json?token=hunter22secret"]):
            done = self.command("report", *arguments)
            self.assertNotIn("hunter22secret", done.stdout + done.stderr)
            self.assertEqual(done.returncode, 3)


@support.needs("fsspec")
class Memory(unittest.TestCase):
    def test_what_only_this_process_sees_is_read_here(self):
        import fsspec

        fs = fsspec.filesystem("memory")
        for rank, path in enumerate(support.RANKS):
            fs.pipe(f"/run/{rank}.json.gz", path.read_bytes())
        told = fleet.report("memory://run", progress=False)
        self.assertEqual(told.verdict, fleet.report(support.RANKS, progress=False).verdict)
        self.assertEqual(list(told.table().to_pandas()["source"]), ["memory:///run/0.json.gz", "memory:///run/1.json.gz"])


@support.needs("fsspec", "aiohttp")
class Web(unittest.TestCase):
    def test_a_link_with_a_signature(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_HEAD(self):
                self.answer(b"")

            def do_GET(self):
                if "sig=hunter22secret" not in self.path:
                    self.send_error(403)
                    return
                self.answer(support.RANKS[0].read_bytes())

            def answer(self, content):
                self.send_response(200)
                self.send_header("Content-Length", str(len(support.RANKS[0].read_bytes())))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/rank0.json.gz"
        told = fleet.report([f"{url}?sig=hunter22secret"], progress=False)
        self.assertEqual(told.unreadable, [])
        self.assertEqual(list(told.table().to_pandas()["source"]), [url])
        self.assertNotIn(b"hunter22secret", told.summary)
        told = fleet.report([f"{url}?sig=wrongsecret", support.RANKS[1]], progress=False)
        self.assertEqual([source for source, _ in told.unreadable], [url])
        self.assertNotIn("wrongsecret", told.unreadable[0][1])


if __name__ == "__main__":
    support.main()
