"""The HDF5 files of ann-benchmarks."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from bitfold import _validation
from bitfold._progress import show_progress
from bitfold._types import AnyArray, Float32Array, ProgressCallback
from bitfold.datasets._base import Dataset
from bitfold.datasets.texmex import first_queries
from bitfold.errors import FormatError
from bitfold.io import cache
from bitfold.io.data_files import located
from bitfold.io.download import Remote
from bitfold.io.formats.errors import read_as
from bitfold.io.formats.hdf5 import import_h5py, mapped

_PLACE = "https://ann-benchmarks.com/"
_SHA256 = {
    "deep-image-96-angular": "a0a44dfe80c58e63860862eeea2d34e62cff958dc3aec14fd65263d1d3c751f8",
    "glove-100-angular": "544af1d5e84e112cd4749571dcfd8ca109818a572f850af75a3a09e093a953c4",
    "sift-128-euclidean": "dd6f0a6ed6b7ebb8934680f861a33ed01ff33991eaee4fd60914d854a0ca5984",
}
_DISTANCES = ("angular", "euclidean", "hamming")
_ROWS = 1 << 16


def ann_benchmarks(
    name: str,
    n_queries: int | None = None,
    *,
    download: bool = True,
    progress: ProgressCallback | None = None,
) -> Dataset:
    """A data set of ann-benchmarks, with its true neighbors.

    Such a file holds ``train`` (the database), ``test`` (the queries) and their ``neighbors``, and
    says which distance is meant. Vectors compared by angle are scaled to length 1, so that ℓ2 ranks
    as the angle does; those of Hamming sets are bits, 0 or 1 a column, as
    :meth:`bitfold.Codes.from_bits` takes them. ``ann-benchmarks/<name>.hdf5`` is looked for below
    the folder that ``BITFOLD_DATA`` names and in the cache folder, and downloaded otherwise; what
    lies in it in one piece is mapped into memory. Needs ``bitfold[hdf5]``.

    Parameters
    ----------
    name
        Such as ``"glove-100-angular"``, ``"sift-128-euclidean"`` or ``"sift-256-hamming"``.
    n_queries
        How many of the queries to take, from the first on; None for all.
    download
        Whether to download a file that is missing; ``BITFOLD_OFFLINE=1`` forbids it everywhere.
    progress
        Called with (stage, done, total) as the work goes on; None shows a bar on a terminal.

    References
    ----------
    M. Aumüller, E. Bernhardsson and A. Faithfull, *ANN-Benchmarks: a benchmarking tool for
    approximate nearest neighbor algorithms*, Information Systems 2020.
    """
    if not re.fullmatch(r"\w[\w.-]*", name, re.ASCII):
        demand = "a name such as 'glove-100-angular'"
        _validation.raise_invalid("name", "ann_benchmarks", demand, repr(name))
    import_h5py()
    remote = Remote(f"{_PLACE}{name}.hdf5", _SHA256.get(name))
    path = located("ann-benchmarks", remote, download=download, progress=progress)
    base, queries, neighbors, distance = _read(path)
    first = first_queries(queries, n_queries, name)
    queries, neighbors = queries[first], neighbors[first]
    if distance == "angular":
        base, queries = _kept_units(path, base, progress), _units(queries)
    elif distance == "hamming":
        base, queries = base.view(np.uint8), queries.view(np.uint8)
    return Dataset(base, queries, name=name, neighbors=neighbors)


def _read(path: Path) -> tuple[AnyArray, AnyArray, AnyArray, str]:
    """Return base, queries, neighbors and the distance that is meant."""
    wrong = (OSError, KeyError, ValueError, TypeError, RuntimeError, AttributeError)
    with read_as("an HDF5 file of ann-benchmarks", path, *wrong), import_h5py().File(path) as file:
        distance = file.attrs["distance"]
        distance = distance.decode() if isinstance(distance, bytes) else str(distance)
        kind = str(file.attrs.get("type", "dense"))
        if distance not in _DISTANCES or kind != "dense":
            demand = f"vectors compared by {', '.join(_DISTANCES)} distance"
            raise FormatError(f"{path} must hold {demand}, got {kind} {distance} ones.")
        base, queries, neighbors = (
            mapped(path, file[key]) for key in ("train", "test", "neighbors")
        )
    _check_shapes(path, base, queries, neighbors)
    if distance == "hamming" and base.dtype.itemsize * queries.dtype.itemsize != 1:
        raise FormatError(f"{path} must hold bits, a byte each, got {base.dtype}.")
    return base, queries, neighbors, distance


def _check_shapes(path: Path, base: AnyArray, queries: AnyArray, neighbors: AnyArray) -> None:
    shapes = [array.shape for array in (base, queries, neighbors)]
    fit = all(len(shape) == 2 and 0 not in shape for shape in shapes)
    fit = fit and shapes[0][1] == shapes[1][1] and shapes[1][0] == shapes[2][0]
    if not fit or neighbors.dtype.kind not in "iu" or int(neighbors.max()) >= len(base):
        listed = ", ".join(map(str, shapes))
        raise FormatError(
            f"{path} must hold vectors, queries and their neighbors, got shapes {listed} "
            f"that do not fit, or ids beyond them."
        )


def _kept_units(path: Path, base: AnyArray, progress: ProgressCallback | None) -> AnyArray:
    """Vectors scaled to length 1, once and for all."""
    kept = cache.folder("ann-benchmarks") / f"{path.stem}-{cache.digest_of_files([path])}.npy"
    with show_progress(progress) as report:
        return cache.kept_rows(
            kept,
            base.shape,
            np.float32,
            lambda rows: _units(base[rows]),
            step=_ROWS,
            report=lambda done, total: report("unit vectors", done, total),
        )


def _units(vectors: AnyArray) -> Float32Array:
    """Scale to length 1 what has a length."""
    wide = vectors.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    return (wide / np.where(lengths > 0, lengths, 1)).astype(np.float32)
