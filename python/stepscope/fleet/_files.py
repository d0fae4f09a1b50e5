"""Which files make up a run, and how each is opened: folders, patterns, lists, and URLs through fsspec.

A name that goes into a summary, a report or an error never carries credentials: user names and passwords of URLs and
what stands behind a `?` (signatures, tokens) are left out. fsspec is imported only where a URL is given.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from .. import _core

PathLike = str | os.PathLike[str]
What = PathLike | Sequence[PathLike]

# What is taken from a folder, as the program takes it: traces and captures, or where there is none, summaries. A file
# that is named is read whatever it is called.
TRACE_ENDINGS = (".json", ".json.gz", ".stepscope")
SUMMARY_ENDINGS = (".sss",)
# Smaller files are looked into, since settings and logs are JSON too; of larger ones the name is believed.
_LOOKED_INTO_BYTES = 64 << 10

# The extra that brings a file system, by scheme.
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}
# Exceptions of the stores' libraries that mean "who are you?", by name, since the libraries may be missing.
_CREDENTIAL_ERRORS = (
    "NoCredentialsError",
    "PartialCredentialsError",
    "CredentialRetrievalError",
    "TokenRetrievalError",
    "UnauthorizedSSOTokenError",
    "SSOTokenLoadError",
    "ProfileNotFound",
    "DefaultCredentialsError",
    "RefreshError",
)
_CREDENTIAL_ADVICE = {
    "s3": "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; for a public bucket storage_options={'anon': True}",
    "gcs": "set GOOGLE_APPLICATION_CREDENTIALS, or type `gcloud auth application-default login`; for a public bucket "
    "storage_options={'token': 'anon'}",
}


@dataclass(frozen=True)
class Source:
    """A file of the run.

    `name` stands in summaries and messages; `url` and `path` open it (`path`: inside of the file system that `url`
    names, where a folder or pattern was given); `size_bytes` as stored, None if unknown; `modified_ns` since 1970 of a
    local file.
    """

    name: str
    url: str
    path: str | None = None
    size_bytes: int | None = None
    modified_ns: int | None = None
    is_missing: bool = False

    @property
    def is_local(self) -> bool:
        return not is_url(self.url)

    @property
    def is_of_this_process(self) -> bool:
        """In a file system that no other process sees."""
        return self.url.startswith("memory:")


class StoreError(OSError):
    """A store that cannot be asked, or refuses: in words, naming the URL without its credentials."""


def is_url(text: str) -> bool:
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) is not None and not text.startswith("file://")


def redact(text: str) -> str:
    """`text` with the credentials of every URL in it left out."""
    text = re.sub(r"(?<=://)[^/@\s'\"]*@", "", text)
    return re.sub(r"(://[^\s?'\"]*)\?[^\s'\"]*", r"\1", text)


def describe(error: BaseException, url: str) -> str:
    """What went wrong with a URL, without its credentials."""
    scheme = url.split("://", 1)[0].lower()
    advice = _CREDENTIAL_ADVICE.get(_EXTRAS.get(scheme, ""), "")
    if type(error).__name__ in _CREDENTIAL_ERRORS:
        return "no credentials" + (f": {advice}" if advice else f" ({type(error).__name__})")
    if isinstance(error, PermissionError):
        return "access refused: these credentials may not read it" + (f"; {advice}" if advice else "")
    if isinstance(error, FileNotFoundError):
        return "no such file"
    text = str(error) or type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        text = error.strerror
    # Secrets of the URL may stand in the text by themselves.
    for secret in _secrets(url):
        text = text.replace(secret, "***")
    return redact(" ".join(text.split()))


def _secrets(url: str) -> list[str]:
    found = re.search(r"://([^/@\s]+)@", url)
    secrets = [found.group(1), *found.group(1).split(":")] if found else []
    if "?" in url:
        query = url.split("?", 1)[1]
        secrets += [query, *(part.partition("=")[2] for part in query.split("&"))]
    # Shorter ones would tear words apart and guard nothing.
    return sorted({secret for secret in secrets if len(secret) >= 4}, key=len, reverse=True)


def expand(what: What, storage_options: Mapping[str, Any] | None = None) -> list[Source]:
    """Every file that `what` means, each once, in the order of the names.

    `what`: a file, a folder (its traces and captures, or where it has none its summaries; not the folders in it), a pattern
    (`*`, `?`, `[]`, `**`), `@LIST` (a file with one name a line), a URL of a file, folder or pattern, or a list of all
    these. A file that is named but missing stays in the list: its reading says so.

    Raises FileNotFoundError where no file is meant or none is there, StoreError where a store cannot be listed.
    """
    each = [what] if isinstance(what, (str, os.PathLike)) else list(what)
    found: dict[str, Source] = {}
    for item in each:
        text = os.fspath(item)
        if not isinstance(text, str):
            raise TypeError(f"a path is text, not {type(text).__name__}")
        for source in _expand_one(text, storage_options):
            found.setdefault(source.name, source)
    if not found:
        names = ", ".join(redact(os.fspath(item)) for item in each[:3])
        raise FileNotFoundError(errno.ENOENT, "no trace, capture or summary there" if each else "no files given", names)
    if all(source.is_missing for source in found.values()):
        raise FileNotFoundError(errno.ENOENT, "no such file", next(iter(found)))
    return [found[name] for name in sorted(found)]


def _expand_one(text: str, storage_options: Mapping[str, Any] | None) -> Iterator[Source]:
    if is_url(text):
        return _expand_url(text, storage_options)
    if text.startswith("@") and len(text) > 1 and not os.path.lexists(text):
        return _expand_list(text[1:], storage_options)
    return _expand_local(text.removeprefix("file://"))


def _expand_list(path: str, storage_options: Mapping[str, Any] | None) -> Iterator[Source]:
    with open(path, encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            name = line.rstrip("\r\n ")
            if name and not name.startswith("#"):
                inside = name if is_url(name) else os.path.join(os.path.dirname(path), name)
                yield from _expand_url(name, storage_options) if is_url(name) else [_local(inside)]


def _expand_local(path: str) -> Iterator[Source]:
    if os.path.isdir(path):
        with os.scandir(path) as entries:
            names = [entry.name for entry in entries if not entry.name.startswith(".") and not entry.is_dir()]
        inside = [_local(os.path.join(path, name)) for name in names]
        yield from _of_folder(inside, lambda source: _begin_of(source, None))
    elif os.path.lexists(path) or not glob.has_magic(path):
        yield _local(path)
    else:
        for each in glob.iglob(path, recursive=True):
            if not os.path.isdir(each):
                yield _local(each)


def _of_folder(inside: Sequence[Source], begin_of: Callable[[Source], bytes]) -> list[Source]:
    traces = []
    for source in inside:
        if source.name.endswith(TRACE_ENDINGS):
            size = source.size_bytes
            is_small = size is not None and 0 < size < _LOOKED_INTO_BYTES
            if not is_small or _core.looks_like_trace(begin_of(source)):
                traces.append(source)
    return traces or [source for source in inside if source.name.endswith(SUMMARY_ENDINGS)]


def _begin_of(source: Source, storage_options: Mapping[str, Any] | None) -> bytes:
    """The beginning of a small file, decompressed. One that cannot be read passes for a trace: reading it says why."""
    try:
        url = source.url
        if source.path is not None:
            fs, _ = file_system(url, storage_options)
            content = bytes(fs.cat_file(source.path))
        else:
            with open(url, "rb") as file:
                content = file.read(_LOOKED_INTO_BYTES)
        if content.startswith(b"\x1f\x8b"):
            content = zlib.decompressobj(wbits=31).decompress(content, _LOOKED_INTO_BYTES)
        return content
    except Exception:
        return b'{"traceEvents":[{'


def _local(path: str) -> Source:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return Source(path, path, is_missing=True)
    except OSError:
        return Source(path, path)  # there, but not for us: reading it says why
    return Source(path, path, None, status.st_size, status.st_mtime_ns)


def _expand_url(url: str, storage_options: Mapping[str, Any] | None) -> Iterator[Source]:
    scheme = url.split("://", 1)[0].lower()
    # The `?` of the web is no pattern: it begins a signature.
    is_pattern = any(letter in url for letter in ("*[" if scheme in ("http", "https") else "*?["))
    try:
        fs, path = file_system(url, storage_options)
        if is_pattern:
            found = fs.glob(path, detail=True)
        elif scheme not in ("http", "https") and fs.isdir(path):
            found = {about["name"]: about for about in fs.ls(path, detail=True)}
        else:
            yield Source(redact(url), url, None, _size(fs.info(path)))
            return
    except StoreError:
        raise
    except FileNotFoundError:
        if not is_pattern:
            yield Source(redact(url), url, is_missing=True)
        return
    except Exception as error:
        raise StoreError(errno.EIO, describe(error, url), redact(url)) from None
    inside = [
        Source(_name_in(fs, url, name), url, name, _size(about))
        for name, about in found.items()
        if about.get("type", "file") == "file" and not name.rsplit("/", 1)[-1].startswith(".")
    ]
    yield from inside if is_pattern else _of_folder(inside, lambda source: _begin_of(source, storage_options))


def _size(about: Mapping[str, Any]) -> int | None:
    size = about.get("size")
    return size if isinstance(size, int) else None


def _name_in(fs: Any, url: str, path: str) -> str:
    """The URL of a path in the file system of `url`, without credentials."""
    whole = str(fs.unstrip_protocol(path))
    host = re.match(r"[^:]+://(?:[^/@]*@)?([^/]*)", url)
    # Some file systems keep the host to themselves (ftp:///folder/file).
    if host is not None and re.match(r"[^:]+:///", whole) and not url.startswith("memory:"):
        whole = whole.replace(":///", f"://{host.group(1)}/", 1)
    return redact(whole)


def file_system(url: str, storage_options: Mapping[str, Any] | None) -> tuple[Any, str]:
    """fsspec's file system for `url`, and the path in it.

    Raises StoreError with the line to type where a package is missing.
    """
    scheme = url.split("://", 1)[0].lower()
    try:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped,unused-ignore]

        fs, path = url_to_fs(url, **dict(storage_options or {}))
    except ImportError as error:
        extra = _EXTRAS.get(scheme)
        line = f"pip install 'stepscope[{extra}]'" if extra else "pip install fsspec and what it needs for this scheme"
        raise StoreError(errno.ENOPKG, f"{line} ({error})", redact(url)) from None
    except ValueError as error:
        raise StoreError(errno.EPROTONOSUPPORT, describe(error, url), redact(url)) from None
    return fs, str(path)


def open_at(source: Source, storage_options: Mapping[str, Any] | None, offset: int, block_bytes: int) -> BinaryIO:
    """The file of a URL from byte `offset` on, without a cache: it is read once, forward, in blocks."""
    fs, path = file_system(source.url, storage_options)
    path = source.path or path
    try:
        file = fs.open(path, "rb", block_size=block_bytes, cache_type="none")
    except TypeError:  # a file system that knows no caches
        file = fs.open(path, "rb")
    if offset:
        file.seek(offset)
    opened: BinaryIO = file
    return opened


def read_whole(url: str, storage_options: Mapping[str, Any] | None, most_bytes: int) -> bytes:
    """A small file of any kind (a summary)."""
    if not is_url(url):
        with open(url.removeprefix("file://"), "rb") as file:
            return file.read(most_bytes + 1)
    try:
        fs, path = file_system(url, storage_options)
        with fs.open(path, "rb") as file:
            return bytes(file.read(most_bytes + 1))
    except StoreError:
        raise
    except Exception as error:
        raise StoreError(errno.EIO, describe(error, url), redact(url)) from None


# Of a file, to tell a summary.
_FIRST_BYTES = 64


def refuse_output(
    output: PathLike, inputs: Iterable[str], storage_options: Mapping[str, Any] | None = None, is_summary: bool = True
) -> None:
    """Raises FileExistsError where `output` is one of `inputs` (names of sources), by whatever name; and where it is there
    and is no summary, though one is to be written. What is empty, or no plain file (/dev/null), loses nothing."""
    text = os.fspath(output)
    if is_url(text):
        is_input = redact(text) in inputs
        begin = _begin_of_url(text, storage_options) if is_summary and not is_input else b""
    else:
        text = text.removeprefix("file://")
        is_input = any(_is_same_file(text, name) for name in inputs if not is_url(name))
        begin = _begin_of_file(text) if is_summary else b""
    if is_input:
        raise FileExistsError(errno.EEXIST, "is a file to be read; name another", redact(text))
    if begin and not _core.is_summary(begin):
        raise FileExistsError(errno.EEXIST, "is there and is no summary; name another", redact(text))


def _is_same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other.removeprefix("file://"))
    except OSError:
        return False


def _begin_of_file(path: str) -> bytes:
    if not os.path.isfile(path):
        return b""
    try:
        with open(path, "rb") as file:
            return file.read(_FIRST_BYTES)
    except OSError:
        return b""  # writing it says why not


def _begin_of_url(url: str, storage_options: Mapping[str, Any] | None) -> bytes:
    try:
        fs, path = file_system(url, storage_options)
        return bytes(fs.cat_file(path, start=0, end=_FIRST_BYTES))
    except Exception:
        return b""  # not there; or writing it says why not


def names_here(what: What) -> list[str]:
    """Names of the files that `what` means, as far as this machine knows them without asking a store."""
    names: list[str] = []
    for item in [what] if isinstance(what, (str, os.PathLike)) else what:
        text = os.fspath(item)
        try:
            names += [redact(text)] if is_url(text) else [source.name for source in expand(text)]
        except OSError:
            pass  # on other nodes
    return names


def write_whole(url: PathLike, content: bytes, storage_options: Mapping[str, Any] | None = None) -> None:
    """Writes a file, local or of a store. A local one appears whole or not at all."""
    text = os.fspath(url)
    if not is_url(text):
        path = text.removeprefix("file://")
        part = f"{path}.{os.getpid()}.part"
        try:
            with open(part, "wb") as file:
                file.write(content)
            os.replace(part, path)
        except BaseException:
            _remove(part)
            raise
        return
    try:
        fs, path = file_system(text, storage_options)
        fs.pipe_file(path, content)
    except StoreError:
        raise
    except Exception as error:
        raise StoreError(errno.EIO, describe(error, text), redact(text)) from None


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        pass


def names_of(sources: Iterable[Source]) -> list[str]:
    return [source.name for source in sources]
