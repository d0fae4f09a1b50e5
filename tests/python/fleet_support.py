"""A file system of fsspec's that behaves badly, found by every process as any plugin is: by an entry point.

    bad://FOLDER/NAME   the local file; what its name says happens when it is read:
        ...deadly...    the process that reads it is killed
        ...once...      the first reading breaks in the middle
        ...broken...    every reading breaks in the middle
        ...slow...      each block takes a moment
"""

import os
import sys
import tempfile
from pathlib import Path

_PLUGIN = '''
import os, signal, time
from fsspec.implementations.local import LocalFileSystem

class Bad(LocalFileSystem):
    protocol = "bad"

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.removeprefix("bad://"))

    def unstrip_protocol(self, name):
        return "bad://" + self._strip_protocol(name)

    def _open(self, path, mode="rb", **kwargs):
        return File(open(path, mode), path)

class File:
    def __init__(self, file, path):
        self.file, self.path, self.name = file, path, os.path.basename(path)

    def read(self, count=-1):
        with open(os.environ["STEPSCOPE_TEST_LOG"], "a") as log:
            log.write(f"{self.name} {self.file.tell()} {os.getpid()}\\n")
        if "deadly" in self.name:
            os.kill(os.getpid(), signal.SIGKILL)
        if "slow" in self.name:
            time.sleep(0.2)
        is_broken = "broken" in self.name or ("once" in self.name and not os.path.exists(self.path + ".was"))
        if is_broken and self.file.tell() > 0:
            open(self.path + ".was", "w").close()
            raise ConnectionResetError(104, "Connection reset by peer")
        return self.file.read(min(count, 100_000))

    def seek(self, offset):
        return self.file.seek(offset)

    def close(self):
        self.file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
'''


class BadStore:
    """Makes the plugin known to this process and to those that it starts. `reads()` lists (name, offset, process)."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        root = Path(self.folder.name)
        (root / "stepscope_bad_store.py").write_text(_PLUGIN)
        about = root / "stepscope_bad_store-1.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: stepscope-bad-store\nVersion: 1\n")
        (about / "entry_points.txt").write_text("[fsspec.specs]\nbad = stepscope_bad_store:Bad\n")
        self.log = root / "log"
        sys.path.insert(0, str(root))
        os.environ["PYTHONPATH"] = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
        os.environ["STEPSCOPE_TEST_LOG"] = str(self.log)
        import fsspec

        fsspec.register_implementation("bad", "stepscope_bad_store.Bad", clobber=True)

    def reads(self) -> list[tuple[str, int, int]]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [(name, int(offset), int(process)) for name, offset, process in map(str.split, lines)]

    def close(self) -> None:
        sys.path.remove(self.folder.name)
        self.folder.cleanup()
