"""Files of data sets: found in ``BITFOLD_DATA`` or the cache, or downloaded into the cache."""

from __future__ import annotations

import ftplib
import io
import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bitfold._progress import show_progress
from bitfold._types import ProgressCallback, StepCallback
from bitfold.errors import DownloadError, FormatError, MissingDataError
from bitfold.io import file_system
from bitfold.io.cache import cache_root, make_cache_folder

TIMEOUT_SECONDS = 10.0
"""Seconds without data after which a connection is considered broken."""

N_RETRIES = 2
"""Further attempts after a broken connection or a wrong checksum."""

_CHUNK_BYTES = 1 << 18


class RemoteFile(NamedTuple):
    """A file of a data set on the network, and its sha256 if known."""

    url: str
    sha256: str | None = None

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.url.rsplit("/", 1)[1]


def find_file(folders: Sequence[str], names: Sequence[str]) -> Path | None:
    """Look for a file in the folder that ``BITFOLD_DATA`` names, then in the cache.

    Parameters
    ----------
    folders
        Names of subfolders that may contain it; ``""`` is the folder itself.
    names
        Names that it may have, the preferred one first.

    Returns
    -------
    The first file or folder that exists.
    """
    for root in _data_roots():
        for name in names:
            for folder in folders:
                if (root / folder / name).exists():
                    return root / folder / name
    return None


def find_folder(folders: Sequence[str], names: Sequence[str]) -> Path | None:
    """Look for a folder with certain files in ``BITFOLD_DATA``, then in the cache.

    Parameters
    ----------
    folders
        Names of subfolders; ``""`` is the folder itself.
    names
        Names of the files, all of which must be there.

    Returns
    -------
    The first folder that contains all files, or None.
    """
    for root in _data_roots():
        for folder in folders:
            if all((root / folder / name).is_file() for name in names):
                return root / folder
    return None


def _data_roots() -> list[Path]:
    data = os.environ.get("BITFOLD_DATA")
    return [Path(data), cache_root()] if data else [cache_root()]


def find_or_download(
    folder: str,
    remote: RemoteFile,
    *,
    download: bool = True,
    progress: ProgressCallback | None = None,
) -> Path:
    """Return a file of a data set; download it into the cache if necessary.

    Parameters
    ----------
    folder
        Name of the data set, and of its folder.
    remote
        The file.
    download
        Whether a download is allowed.
    progress
        Called with (file name, bytes done, all bytes).

    Returns
    -------
    The file.

    Raises
    ------
    MissingDataError
        If the file is not there and cannot, or may not, be downloaded.
    FormatError
        If the downloaded file has the wrong checksum.
    """
    path = find_file([folder], [remote.name])
    return path or download_file(folder, remote, download=download, progress=progress)


def download_file(
    folder: str,
    remote: RemoteFile,
    *,
    download: bool = True,
    progress: ProgressCallback | None = None,
) -> Path:
    """Download a file into a folder of the cache.

    Parameters
    ----------
    folder
        Name of the data set, and of its folder.
    remote
        The file.
    download
        Whether a download is allowed; ``BITFOLD_OFFLINE=1`` forbids it everywhere.
    progress
        Called with (file name, bytes done, all bytes).

    Returns
    -------
    The file.

    Raises
    ------
    MissingDataError
        If the file cannot, or may not, be downloaded.
    FormatError
        If the downloaded file has the wrong checksum.
    """
    if not download:
        raise missing_error(folder, remote.name, remote.url, "download=False")
    if os.environ.get("BITFOLD_OFFLINE", "0") not in ("", "0"):
        raise missing_error(folder, remote.name, remote.url, "BITFOLD_OFFLINE is set")
    path = make_cache_folder(folder) / remote.name
    try:
        with show_progress(progress) as report:
            fetch(remote, path, report)
    except DownloadError as error:
        raise missing_error(folder, remote.name, remote.url, str(error)) from error
    return path


def missing_error(folder: str, name: str, url: str = "", reason: str = "") -> MissingDataError:
    """Return the error of a missing file, which says where to put it.

    Parameters
    ----------
    folder, name
        The file.
    url
        Address that it can be downloaded from, if any.
    reason
        Why it was not downloaded.

    Returns
    -------
    The error, to be raised by the caller.
    """
    data = os.environ.get("BITFOLD_DATA") or "not set"
    message = (
        f"The data set {folder} needs the file {folder}/{name}, which is neither in BITFOLD_DATA "
        f"({data}) nor in the cache ({cache_root()})."
    )
    if url:
        message += f" It was not downloaded from {url} ({reason}). Download it to one of them."
    return MissingDataError(message)


def fetch(remote: RemoteFile, path: Path, progress: ProgressCallback) -> None:
    """Download a file with pooch; it appears only when it is complete and verified.

    Parameters
    ----------
    remote
        The file. Without a sha256 a warning says that it was not verified.
    path
        Where to write it.
    progress
        Called with (file name, bytes done, all bytes); 0 if the size is not known.

    Raises
    ------
    DownloadError
        If the server cannot be reached, or the connection breaks.
    FormatError
        If the file has the wrong checksum.
    """
    # Imported here because requests, which pooch uses, takes long to import.
    import pooch

    registry = pooch.create(
        path.parent,
        base_url="",
        registry={path.name: remote.sha256},
        urls={path.name: remote.url},
        retry_if_failed=N_RETRIES,
    )
    try:
        with _quiet_pooch():
            registry.fetch(path.name, downloader=partial(_download, partial(progress, path.name)))
        file_system.sync_directory(path.parent)
    except ValueError as error:
        raise FormatError(f"{remote.url} is damaged or has changed. {error}") from error
    except (OSError, EOFError, ftplib.Error) as error:
        raise DownloadError(str(error) or type(error).__name__) from error
    if remote.sha256 is None:
        warnings.warn(f"{remote.url} was not verified: its sha256 is unknown.", stacklevel=2)


def _download(report: StepCallback, url: str, path: str, registry: Any) -> None:
    """Download over HTTP or FTP with pooch, and report the progress."""
    import pooch

    options = {"timeout": TIMEOUT_SECONDS, "chunk_size": _CHUNK_BYTES}
    with _ReportingFile(path, report) as target:
        if url.startswith("ftp:"):
            download: Any = pooch.FTPDownloader(**options)
        else:
            # Compressed transfer would unpack .gz files on the way.
            headers = {"User-Agent": "bitfold", "Accept-Encoding": "identity"}
            download = pooch.HTTPDownloader(progressbar=target, headers=headers, **options)
        download(url, target, registry)


class _ReportingFile(io.BufferedWriter):
    """A file that reports how much was written; for pooch it is the progress bar as well."""

    total = 0  # set by pooch over HTTP

    def __init__(self, path: str, report: StepCallback) -> None:
        super().__init__(io.FileIO(path, "wb"))
        self._report = report

    def write(self, chunk: Any) -> int:
        """Write a chunk, and report the position after it."""
        n_bytes = super().write(chunk)
        self._report(self.tell(), self.total)
        return n_bytes

    def close(self) -> None:
        """Sync and close the file; pooch closes it before it gives the file its name."""
        if not self.closed:
            file_system.sync_file(self)
        super().close()

    def update(self, n_bytes: int) -> None:
        """Ignore: progress is reported by ``write``."""

    def reset(self) -> None:
        """Ignore: progress is reported by ``write``."""


@contextmanager
def _quiet_pooch() -> Iterator[None]:
    """Keep pooch from logging to stderr."""
    import pooch

    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
