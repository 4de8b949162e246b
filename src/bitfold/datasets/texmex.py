"""SIFT1M and GIST1M of the texmex corpus."""

from __future__ import annotations

from pathlib import Path

from bitfold._types import ProgressCallback
from bitfold.datasets.dataset import Dataset, slice_queries
from bitfold.io import file_system
from bitfold.io.archive import extract_files
from bitfold.io.cache import make_cache_folder
from bitfold.io.download import RemoteFile, download_file, find_file, find_folder
from bitfold.io.vectors import read_vectors

_URL = "ftp://ftp.irisa.fr/local/texmex/corpus/"
_PARTS = ("base.fvecs", "query.fvecs", "groundtruth.ivecs")


def sift1m(
    n_queries: int | None = None, *, download: bool = True, progress: ProgressCallback | None = None
) -> Dataset:
    """Load a million SIFT descriptors of 128 dimensions and 10,000 queries (Sec. IV of the paper).

    The files are read from ``BITFOLD_DATA`` or the cache, unpacked (``sift/sift_base.fvecs`` and so
    on) or as ``sift.tar.gz``, and downloaded into the cache if they are in neither. The vectors are
    memory-mapped. As in the paper, hashers learn from the database.

    Parameters
    ----------
    n_queries
        Number of queries, the first ones; None for all.
    download
        Whether to download missing files.
    progress
        Called with (file name, bytes done, all bytes).

    Returns
    -------
    The data set, with the known nearest neighbors.

    Raises
    ------
    FormatError
        If a file is damaged.
    MissingDataError
        If the files are missing and cannot, or may not, be downloaded.
    ParameterError
        If ``n_queries`` is larger than the number of queries.

    References
    ----------
    H. Jégou, M. Douze and C. Schmid, *Product quantization for nearest neighbor search*, TPAMI
    2011.

    Examples
    --------
    >>> sift1m()  # doctest: +SKIP
    Dataset(SIFT1M: 1000000 x 128, 10000 queries)
    """
    return _load("sift", "SIFT1M", n_queries, download, progress)


def gist1m(
    n_queries: int | None = None, *, download: bool = True, progress: ProgressCallback | None = None
) -> Dataset:
    """Load a million color GIST descriptors of 960 dimensions and 1,000 queries (Sec. IV).

    The files are found in the same way as those of :func:`sift1m`: ``gist/gist_base.fvecs`` and so
    on, or ``gist.tar.gz``.

    Parameters
    ----------
    n_queries
        Number of queries, the first ones; None for all.
    download
        Whether to download missing files.
    progress
        Called with (file name, bytes done, all bytes).

    Returns
    -------
    The data set, with the known nearest neighbors.

    Raises
    ------
    FormatError
        If a file is damaged.
    MissingDataError
        If the files are missing and cannot, or may not, be downloaded.
    ParameterError
        If ``n_queries`` is larger than the number of queries.

    References
    ----------
    H. Jégou, M. Douze and C. Schmid, *Product quantization for nearest neighbor search*, TPAMI
    2011.

    Examples
    --------
    >>> gist1m()  # doctest: +SKIP
    Dataset(GIST1M: 1000000 x 960, 1000 queries)
    """
    return _load("gist", "GIST1M", n_queries, download, progress)


def _load(
    stem: str, name: str, n_queries: int | None, download: bool, progress: ProgressCallback | None
) -> Dataset:
    names = [f"{stem}_{part}" for part in _PARTS]
    folder = _find_or_unpack(stem, names, download, progress)
    base, queries, neighbors = (read_vectors(folder / name) for name in names)
    first = slice_queries(n_queries, len(queries), name)
    return Dataset(base, queries[first], name=name, neighbors=neighbors[first])


def _find_or_unpack(
    stem: str, names: list[str], download: bool, progress: ProgressCallback | None
) -> Path:
    """Return the folder with the unpacked files."""
    folders = [stem, f"{stem}1m", ""]
    unpacked = find_folder(folders, names)
    if unpacked:
        return unpacked
    folder = make_cache_folder(stem)
    remote = RemoteFile(f"{_URL}{stem}.tar.gz")
    found = find_file(folders, [remote.name])
    archive = found or download_file(stem, remote, download=download, progress=progress)
    extract_files(archive, names, folder)
    if not found:
        file_system.remove_file(archive)
    return folder
