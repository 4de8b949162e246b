"""The HDF5 files of ann-benchmarks."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from bitfold import _validation
from bitfold._types import AnyArray, Float32Array, ProgressCallback
from bitfold.datasets.dataset import Dataset, slice_queries
from bitfold.errors import FormatError, ParameterError
from bitfold.io.cache import cache_rows, hash_files, make_cache_folder
from bitfold.io.download import RemoteFile, find_or_download
from bitfold.io.formats.hdf5 import import_h5py
from bitfold.io.formats.request import READ_ERRORS, translate_errors
from bitfold.io.unit_length import scale_to_unit_length
from bitfold.io.vectors import read_vectors

_URL = "https://ann-benchmarks.com/"
_SHA256 = {
    "deep-image-96-angular": "a0a44dfe80c58e63860862eeea2d34e62cff958dc3aec14fd65263d1d3c751f8",
    "glove-100-angular": "544af1d5e84e112cd4749571dcfd8ca109818a572f850af75a3a09e093a953c4",
    "sift-128-euclidean": "dd6f0a6ed6b7ebb8934680f861a33ed01ff33991eaee4fd60914d854a0ca5984",
}
_DISTANCES = ("angular", "euclidean", "hamming")
_ROWS_PER_BLOCK = 1 << 16


def ann_benchmarks(
    name: str,
    n_queries: int | None = None,
    *,
    download: bool = True,
    progress: ProgressCallback | None = None,
) -> Dataset:
    """Load a data set of ann-benchmarks, with the known nearest neighbors.

    A file contains ``train`` (the database), ``test`` (the queries), their ``neighbors``, and the
    name of the distance. Vectors that are compared by angle are scaled to unit length, so that ℓ2
    gives the same order. Those of Hamming data sets are bits, one byte per bit, as
    :meth:`bitfold.Codes.from_bits` expects them. ``ann-benchmarks/<name>.hdf5`` is read from
    ``BITFOLD_DATA`` or the cache, and downloaded into the cache if it is in neither; contiguous
    arrays are memory-mapped. Needs ``bitfold[hdf5]``.

    Parameters
    ----------
    name
        Such as ``"glove-100-angular"``, ``"sift-128-euclidean"`` or ``"sift-256-hamming"``.
    n_queries
        Number of queries, the first ones; None for all.
    download
        Whether to download the file if it is missing.
    progress
        Called with (stage, done, total).

    Returns
    -------
    The data set, with the known nearest neighbors.

    Raises
    ------
    FormatError
        If the file is damaged, or uses another distance.
    ImportError
        If h5py is not installed.
    MissingDataError
        If the file is missing and cannot, or may not, be downloaded.
    ParameterError
        If the name is not a file name, or ``n_queries`` is larger than the number of queries.

    References
    ----------
    M. Aumüller, E. Bernhardsson and A. Faithfull, *ANN-Benchmarks: a benchmarking tool for
    approximate nearest neighbor algorithms*, Information Systems 2020.

    Examples
    --------
    >>> ann_benchmarks("glove-100-angular")  # doctest: +SKIP
    Dataset(glove-100-angular: 1183514 x 100, 10000 queries)
    """
    if not re.fullmatch(r"\w[\w.-]*", name, re.ASCII):
        requirement = "a name such as 'glove-100-angular'"
        _validation.raise_invalid("name", "ann_benchmarks", requirement, repr(name))
    import_h5py()
    remote = RemoteFile(f"{_URL}{name}.hdf5", _SHA256.get(name))
    path = find_or_download("ann-benchmarks", remote, download=download, progress=progress)
    distance = _read_distance(path)
    base, queries, neighbors = _read_arrays(path)
    first = slice_queries(n_queries, len(queries), name)
    queries, neighbors = queries[first], neighbors[first]
    if distance == "angular":
        base, queries = _cache_unit_rows(path, base, progress), _to_unit_rows(queries)
    elif distance == "hamming":
        base, queries = _view_bits(path, base), _view_bits(path, queries)
    return Dataset(base, queries, name=name, neighbors=neighbors)


def _read_distance(path: Path) -> str:
    """Return the name of the distance that the neighbors were computed with."""
    errors = (*READ_ERRORS, AttributeError)
    with (
        translate_errors(path, "an HDF5 file of ann-benchmarks", *errors),
        import_h5py().File(path) as file,
    ):
        distance = file.attrs["distance"]
        kind = str(file.attrs.get("type", "dense"))
    distance = distance.decode() if isinstance(distance, bytes) else str(distance)
    if distance not in _DISTANCES or kind != "dense":
        raise FormatError(
            f"{path} contains {kind} vectors with {distance} distance; "
            f"supported are dense vectors with {', '.join(_DISTANCES)} distance."
        )
    return distance


def _read_arrays(path: Path) -> list[AnyArray]:
    """Return base, queries and neighbors."""
    expected = "an HDF5 file of ann-benchmarks"
    try:
        with translate_errors(path, expected, *READ_ERRORS):
            arrays = [read_vectors(path, key) for key in ("train", "test", "neighbors")]
    except ParameterError as error:  # an array of this name is missing
        raise FormatError(f"{path} is not {expected}: {error}") from error
    base, queries, neighbors = arrays
    shapes = [array.shape for array in arrays]
    if base.shape[1] != queries.shape[1] or len(queries) != len(neighbors):
        raise FormatError(f"The arrays train, test, neighbors of {path} do not match: {shapes}.")
    if neighbors.dtype.kind not in "iu" or int(neighbors.max()) >= len(base):
        raise FormatError(f"The neighbors in {path} must be ids below {len(base)}.")
    return arrays


def _view_bits(path: Path, vectors: AnyArray) -> AnyArray:
    if vectors.dtype.itemsize != 1:
        raise FormatError(f"{path} must contain bits, one byte per bit, got {vectors.dtype}.")
    return vectors.view(np.uint8)


def _cache_unit_rows(path: Path, base: AnyArray, progress: ProgressCallback | None) -> AnyArray:
    """Return rows scaled to unit length, from the cache if possible."""
    return cache_rows(
        make_cache_folder("ann-benchmarks") / f"{path.stem}-{hash_files([path])}.npy",
        base.shape,
        np.float32,
        lambda rows: _to_unit_rows(base[rows]),
        step=_ROWS_PER_BLOCK,
        stage="unit vectors",
        progress=progress,
    )


def _to_unit_rows(vectors: AnyArray) -> Float32Array:
    return scale_to_unit_length(vectors, "ann_benchmarks").astype(np.float32)
