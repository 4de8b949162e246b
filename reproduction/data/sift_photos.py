"""SIFT-1M-photos: a stand-in for SIFT1M."""

from __future__ import annotations

import lzma
import shutil
from pathlib import Path

import numpy as np

from bitfold.datasets import Dataset
from bitfold.errors import ParameterError
from bitfold.io import read_vectors
from bitfold.io.atomic import replace_atomically
from bitfold.io.cache import hash_files, make_cache_folder
from bitfold.io.download import find_file, missing_error
from bitfold.io.formats.request import translate_errors


def load_sift_photos(n_queries: int | None = None) -> Dataset:
    """Load a million SIFT descriptors of 1,370 photographs, and 10,000 of other photographs.

    A stand-in with the size and shape of SIFT1M, harder because no query has a counterpart from the
    same scene; never to be reported as SIFT1M. ``sift/base.npy.xz`` and ``sift/query.npy`` are read
    from ``BITFOLD_DATA``; the first is decompressed into the cache folder once and memory-mapped.

    Parameters
    ----------
    n_queries
        Number of queries, the first ones; None for all.
    """
    base, query = (_find_required(name) for name in ("base.npy.xz", "query.npy"))
    queries = np.asarray(read_vectors(query))
    if n_queries is not None and not 1 <= n_queries <= len(queries):
        raise ParameterError(
            "n_queries", "load_sift_photos", f"from 1 to {len(queries)}", n_queries
        )
    database = read_vectors(_decompress(base))
    return Dataset(database, queries[:n_queries], name="SIFT-1M-photos")


def _find_required(name: str) -> Path:
    path = find_file(["sift"], [name])
    if path is None:
        raise missing_error("sift", name)
    return path


def _decompress(packed: Path) -> Path:
    """Return the decompressed file, from the cache if possible."""
    path = make_cache_folder("sift") / f"base-{hash_files([packed])}.npy"
    if not path.is_file():
        with (
            translate_errors(packed, "an .xz file", lzma.LZMAError, EOFError),
            lzma.open(packed) as source,
            replace_atomically(path) as file,
        ):
            shutil.copyfileobj(source, file, 1 << 22)
    return path
