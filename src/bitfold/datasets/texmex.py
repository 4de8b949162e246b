"""SIFT1M and GIST1M of the texmex corpus."""

from __future__ import annotations

from pathlib import Path

from bitfold import _validation
from bitfold._types import AnyArray, ProgressCallback
from bitfold.datasets import _tar
from bitfold.datasets._base import Dataset
from bitfold.io import cache
from bitfold.io.data_files import downloaded, existing
from bitfold.io.download import Remote
from bitfold.io.vectors import read_vectors

_PLACE = "ftp://ftp.irisa.fr/local/texmex/corpus/"
_PARTS = ("base.fvecs", "query.fvecs", "groundtruth.ivecs")


def sift1m(
    n_queries: int | None = None, *, download: bool = True, progress: ProgressCallback | None = None
) -> Dataset:
    """A million SIFT descriptors of 128 dimensions, and 10,000 queries (Sec. 4 of the paper).

    Looked for below the folder that ``BITFOLD_DATA`` names and in the cache folder, unpacked
    (``sift/sift_base.fvecs`` and so on) or as ``sift.tar.gz``; downloaded otherwise. The vectors
    are mapped into memory. As in the paper, the database is also what to train on.

    Parameters
    ----------
    n_queries
        How many of the queries to take, from the first on; None for all.
    download
        Whether to download what is missing; ``BITFOLD_OFFLINE=1`` forbids it everywhere.
    progress
        Called with (file, bytes done, bytes in all); None shows a bar on a terminal.

    References
    ----------
    H. Jégou, M. Douze and C. Schmid, *Product quantization for nearest neighbor search*, TPAMI
    2011.
    """
    return _load("sift", "SIFT1M", n_queries, download, progress)


def gist1m(
    n_queries: int | None = None, *, download: bool = True, progress: ProgressCallback | None = None
) -> Dataset:
    """A million color GIST descriptors of 960 dimensions, and 1,000 queries (Sec. 4).

    Looked for, read and trained on like :func:`sift1m`: ``gist/gist_base.fvecs`` and so on, or
    ``gist.tar.gz``.

    Parameters
    ----------
    n_queries
        How many of the queries to take, from the first on; None for all.
    download
        Whether to download what is missing; ``BITFOLD_OFFLINE=1`` forbids it everywhere.
    progress
        Called with (file, bytes done, bytes in all); None shows a bar on a terminal.

    References
    ----------
    H. Jégou, M. Douze and C. Schmid, *Product quantization for nearest neighbor search*, TPAMI
    2011.
    """
    return _load("gist", "GIST1M", n_queries, download, progress)


def _load(
    stem: str, name: str, n_queries: int | None, download: bool, progress: ProgressCallback | None
) -> Dataset:
    names = [f"{stem}_{part}" for part in _PARTS]
    folder = _unpacked(stem, names, download, progress)
    base, queries, neighbors = (read_vectors(folder / name) for name in names)
    first = first_queries(queries, n_queries, name)
    return Dataset(base, queries[first], name=name, neighbors=neighbors[first])


def first_queries(queries: AnyArray, n_queries: int | None, owner: str) -> slice:
    """Return the slice of so many queries, all for None."""
    if n_queries is None:
        return slice(len(queries))
    return slice(_validation.check_integer(n_queries, "n_queries", owner, low=1, high=len(queries)))


def _unpacked(
    stem: str, names: list[str], download: bool, progress: ProgressCallback | None
) -> Path:
    """Return the folder with the unpacked files."""
    found = existing([stem, f"{stem}1m", ""], [names[0]])
    if found:
        return found.parent
    archive = existing([stem, f"{stem}1m", ""], [f"{stem}.tar.gz"])
    folder = cache.folder(stem)
    if archive:
        _tar.unpack(archive, names, folder)
        return folder
    remote = Remote(f"{_PLACE}{stem}.tar.gz")
    archive = downloaded(stem, remote, download=download, progress=progress)
    _tar.unpack(archive, names, folder)
    # What was unpacked is what is read from now on.
    archive.unlink()
    return folder
