"""SIFT-1M-photos: a stand-in for SIFT1M."""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np

from bitfold.datasets._base import Dataset
from bitfold.datasets.texmex import first_queries
from bitfold.io import cache
from bitfold.io.atomic import replace_atomically
from bitfold.io.data_files import existing, missing
from bitfold.io.formats.errors import read_as
from bitfold.io.vectors import read_vectors

_CHUNK = 1 << 22


def sift_photos(n_queries: int | None = None) -> Dataset:
    """A million SIFT descriptors of 1,370 photographs, and 10,000 of other photographs.

    A stand-in of SIFT1M's size and shape, harder because no query has a partner of the same scene;
    never to be reported as SIFT1M. ``sift/base.npy.xz`` and ``sift/query.npy`` are looked for below
    the folder that ``BITFOLD_DATA`` names; the first is decompressed into the cache folder once and
    mapped into memory from there.

    Parameters
    ----------
    n_queries
        How many of the queries to take, from the first on; None for all.
    """
    packed, asked = (_found(name) for name in ("base.npy.xz", "query.npy"))
    queries = np.asarray(read_vectors(asked))
    first = first_queries(queries, n_queries, "SIFT-1M-photos")
    return Dataset(read_vectors(_decompressed(packed)), queries[first], name="SIFT-1M-photos")


def _found(name: str) -> Path:
    path = existing(["sift"], [name])
    if path is None:
        raise missing("sift", name)
    return path


def _decompressed(packed: Path) -> Path:
    path = cache.folder("sift") / f"base-{cache.digest_of_files([packed])}.npy"
    if not path.is_file():
        with (
            read_as("an .xz file", packed, lzma.LZMAError, EOFError),
            lzma.open(packed) as source,
            replace_atomically(path) as file,
        ):
            while chunk := source.read(_CHUNK):
                file.write(chunk)
    return path
