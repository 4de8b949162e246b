"""Fit, encode and search vectors that are distributed over a Dask cluster.

Vectors are a Dask array (n, d), or one column of a Dask DataFrame whose values are lists or arrays
of d numbers. The cluster of the current ``distributed.Client`` does the work, or the threads of
this process if there is none. A worker may die at any time: its results are computed again.
"""

try:
    import dask.array as _dask_array  # noqa: F401

    import distributed as _distributed  # noqa: F401
except ImportError:
    raise ImportError('bitfold.distributed needs Dask: pip install "bitfold[dask]".') from None

from bitfold.distributed.api import collect, encode, fit, search
from bitfold.distributed.kmeans import DaskKMeansBase

__all__ = ["DaskKMeansBase", "collect", "encode", "fit", "search"]
