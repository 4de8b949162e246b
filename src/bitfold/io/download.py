"""Downloads that can be broken off and resumed, are verified, and appear whole or not at all."""

from __future__ import annotations

import ftplib
import hashlib
import http.client
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

from bitfold._types import ProgressCallback
from bitfold.errors import DownloadError, FormatError

TIMEOUT = 5.0
"""Seconds without a byte after which a connection counts as broken."""

_AGENT = {"User-Agent": "bitfold"}
_TRIES = 5
_CHUNK = 1 << 18


class Remote(NamedTuple):
    """A file of a data set at its canonical place, and its sha256 where that is known."""

    url: str
    sha256: str | None = None

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.url.rsplit("/", 1)[1]


class _Stream(NamedTuple):
    """A file as it comes in: from where on, its whole size and version if told, a reader."""

    start: int
    total: int | None
    version: str
    read: Callable[[int], bytes]


def fetch(remote: Remote, path: Path, progress: ProgressCallback) -> None:
    """Download a file; what is there already of it, in ``.part``, is not asked for again.

    A sha256 that is known is verified. One that is not is recorded beside the file, in
    ``.sha256``, with a warning that says so, and verified from then on.

    Parameters
    ----------
    remote
        Where it is.
    path
        Where it goes.
    progress
        Called with (name, bytes done, bytes in all), where the server tells how many there are.
    """
    part = path.with_name(path.name + ".part")
    with _alone(part) as file:
        if path.is_file():  # Another process was quicker.
            part.unlink(missing_ok=True)
            return
        version = part.with_name(part.name + ".version")
        try:
            _fill(remote, file, version, progress)
        except DownloadError:
            if not file.tell():
                part.unlink()
                version.unlink(missing_ok=True)
            raise
        file.flush()
        os.fsync(file.fileno())
        _verify(remote, part, path)
        part.replace(path)


@contextmanager
def _alone(part: Path) -> Iterator[BinaryIO]:
    """Open an unfinished file to append to, as the only process that does."""
    while True:
        with part.open("ab") as file:
            _lock(file)
            # Who waited for the lock may hold a file that was finished or removed meanwhile.
            if part.exists() and os.fstat(file.fileno()).st_ino == part.stat().st_ino:
                yield file
                return


def _lock(file: BinaryIO) -> None:
    """Wait until no other process has the file; the lock goes with the file's closing."""
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)


def _fill(remote: Remote, file: BinaryIO, version: Path, progress: ProgressCallback) -> None:
    """Append what is missing, over as many connections as it takes while each brings some."""
    for _ in range(_TRIES):
        before = file.seek(0, os.SEEK_END)
        try:
            if _receive(remote, file, version, progress):
                version.unlink(missing_ok=True)
                return
            reason = "the connection broke off"
        except DownloadError as error:
            reason = str(error)
        if file.tell() == before:
            break
    raise DownloadError(f"{reason}; {file.tell()} bytes are kept" if file.tell() else reason)


def _receive(remote: Remote, file: BinaryIO, version: Path, progress: ProgressCallback) -> bool:
    """Append what one connection brings; return whether the file is whole."""
    known = version.read_text(encoding="utf-8") if version.is_file() else ""
    # What is there is of use only if it is certain to be of the same file.
    start = file.tell() if known or remote.sha256 else 0
    with _opened(remote.url, start, known) as stream:
        if stream.start != file.tell():
            file.truncate(stream.start)
            file.seek(0, os.SEEK_END)
        version.write_text(stream.version, encoding="utf-8")
        for chunk in _chunks(stream.read):
            file.write(chunk)
            if stream.total:
                progress(remote.name, file.tell(), stream.total)
        return stream.total is None or file.tell() == stream.total


def _chunks(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield what comes in; a connection that breaks is the end."""
    while True:
        try:
            chunk = read(_CHUNK)
        except (OSError, EOFError, http.client.HTTPException):
            return
        if not chunk:
            return
        yield chunk


@contextmanager
def _opened(url: str, start: int, version: str) -> Iterator[_Stream]:
    """Ask for a file from ``start`` on; why that fails is said in words."""
    protocol = _ftp if urlsplit(url).scheme == "ftp" else _http
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(protocol(url, start, version))
        except HTTPError as error:
            error.close()
            raise DownloadError(f"the server answers {error.code} {error.reason}") from None
        except URLError as error:
            raise DownloadError(_sentence(error.reason)) from None
        except (OSError, EOFError, ftplib.Error, http.client.HTTPException) as error:
            raise DownloadError(_sentence(error)) from None
        yield stream


def _sentence(error: object) -> str:
    return str(error).strip() or type(error).__name__


@contextmanager
def _http(url: str, start: int, version: str) -> Iterator[_Stream]:
    headers = dict(_AGENT)
    if start:
        headers["Range"] = f"bytes={start}-"
    if start and version:
        headers["If-Range"] = version
    try:
        response = urlopen(Request(url, headers=headers), timeout=TIMEOUT)
    except HTTPError as error:
        if error.code != 416:
            raise
        error.close()
        if error.headers.get("Content-Range") == f"bytes */{start}":
            yield _Stream(start, start, version, lambda size: b"")
            return
        # There is more here than there: it must be of another file.
        response = urlopen(Request(url, headers=_AGENT), timeout=TIMEOUT)
    with response:
        begins, total = _place(response)
        if begins > start:
            raise DownloadError("the server sends another part than was asked for")
        yield _Stream(begins, total, _version(response.headers), response.read)


def _place(response: http.client.HTTPResponse) -> tuple[int, int | None]:
    """Return where what a server sends begins, and the size of the whole if it tells."""
    if response.status != 206:
        length = response.headers.get("Content-Length", "")
        return 0, int(length) if length.isdecimal() else None
    found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
    if not found:
        raise DownloadError("the server does not tell which part it sends")
    return int(found[1]), None if found[2] == "*" else int(found[2])


def _version(headers: http.client.HTTPMessage) -> str:
    """Return what the server calls this state of the file, in a form it takes back."""
    tag: str = headers.get("ETag", "")
    # A weak tag does not promise the same bytes.
    return tag if tag and not tag.startswith("W/") else headers.get("Last-Modified", "")


@contextmanager
def _ftp(url: str, start: int, version: str) -> Iterator[_Stream]:
    place = urlsplit(url)
    server = ftplib.FTP(timeout=TIMEOUT)
    try:
        server.connect(place.hostname or "", place.port or ftplib.FTP_PORT)
        server.login()
        server.voidcmd("TYPE I")
        path = unquote(place.path)
        # Its size is all that such a server tells of a file's version.
        total = server.size(path)
        begins = start if version == f"size {total}" else 0
        with server.transfercmd(f"RETR {path}", rest=begins or None) as connection:
            yield _Stream(begins, total, f"size {total}", connection.recv)
    finally:
        server.close()


def _verify(remote: Remote, part: Path, path: Path) -> None:
    with part.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    record = path.with_name(path.name + ".sha256")
    known = remote.sha256
    if known is None and record.is_file():
        known = record.read_text(encoding="utf-8").split(maxsplit=1)[0]
    if known is None:
        record.write_text(f"{digest}  {path.name}\n", encoding="utf-8")
        seen = f"the sha256 of {remote.url} is not known beforehand; what came is in {record}."
        warnings.warn(seen, stacklevel=2)
    elif digest != known:
        part.unlink()
        raise FormatError(
            f"{remote.url} must have the sha256 {known}, got {digest}; the file was removed."
        )
