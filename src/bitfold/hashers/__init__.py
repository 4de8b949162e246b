"""Hashers: everything that learns codes."""

from bitfold import persistence as _persistence
from bitfold.hashers import _files
from bitfold.hashers._base import Hasher
from bitfold.hashers.imh import IMH, SupervisedIMH
from bitfold.hashers.itq import ITQ
from bitfold.hashers.lsh import LSH
from bitfold.hashers.pcah import PCAH

__all__ = ["IMH", "ITQ", "LSH", "PCAH", "Hasher", "SupervisedIMH", "load"]


def load(path: _persistence.PathLike, *, mmap: bool = False) -> Hasher:
    """Read a hasher that was saved.

    Parameters
    ----------
    path
        File written by ``hasher.save``.
    mmap
        Keep the learned arrays in the file instead of memory, shared between processes.
    """
    return _files.load(path, Hasher, mmap=mmap)
