"""Where the files of a data set are looked for: ``BITFOLD_DATA``, the cache, the network."""

from __future__ import annotations

import os
from pathlib import Path

from bitfold._progress import show_progress
from bitfold._types import ProgressCallback
from bitfold.errors import DownloadError, MissingDataError
from bitfold.io import cache
from bitfold.io.download import Remote, fetch


def existing(folders: list[str], names: list[str]) -> Path | None:
    """Return the first of these that is there: the user's data before the cache."""
    data = os.environ.get("BITFOLD_DATA")
    roots = [Path(data)] if data else []
    for root in [*roots, cache.root()]:
        for name in names:
            for folder in folders:
                if (root / folder / name).exists():
                    return root / folder / name
    return None


def located(
    folder: str, remote: Remote, *, download: bool = True, progress: ProgressCallback | None = None
) -> Path:
    """Return a file of a data set, downloaded into the cache if need be and allowed."""
    found = existing([folder], [remote.name])
    return found or downloaded(folder, remote, download=download, progress=progress)


def downloaded(
    folder: str, remote: Remote, *, download: bool, progress: ProgressCallback | None
) -> Path:
    """Download a file into a folder of the cache, if that is allowed."""
    if not download:
        raise missing(folder, remote.name, remote.url, "download=False")
    if os.environ.get("BITFOLD_OFFLINE", "0") not in ("", "0"):
        raise missing(folder, remote.name, remote.url, "BITFOLD_OFFLINE is set")
    path = cache.folder(folder) / remote.name
    try:
        with show_progress(progress) as report:
            fetch(remote, path, report)
    except DownloadError as error:
        raise missing(folder, remote.name, remote.url, str(error)) from None
    return path


def missing(folder: str, name: str, url: str = "", why: str = "") -> MissingDataError:
    """Say what is needed, where it is looked for, and why it was not downloaded."""
    data = os.environ.get("BITFOLD_DATA") or "not set"
    places = f"below the folder that BITFOLD_DATA names ({data}) or in the cache {cache.root()}"
    download = f", and was not downloaded from {url} ({why})" if url else ""
    return MissingDataError(
        f"the data set {folder} needs {folder}/{name}, which is neither {places}{download}."
    )
