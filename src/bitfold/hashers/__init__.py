"""Hashers: estimators that learn binary codes, one file per method."""

from bitfold._types import PathLike
from bitfold.hashers import _persistence
from bitfold.hashers.agh import AGH
from bitfold.hashers.base.hasher import Hasher
from bitfold.hashers.bre import BRE
from bitfold.hashers.ccaitq import CCAITQ
from bitfold.hashers.dual import DualHasher
from bitfold.hashers.fsdh import FSDH
from bitfold.hashers.imh import IMH
from bitfold.hashers.itq import ITQ
from bitfold.hashers.klsh import KLSH
from bitfold.hashers.ksh import KSH
from bitfold.hashers.ldahash import LDAHash
from bitfold.hashers.llh import LLH
from bitfold.hashers.lsh import LSH
from bitfold.hashers.mahalanobis import MahalanobisLSH
from bitfold.hashers.mdsh import MDSH
from bitfold.hashers.pcah import PCAH
from bitfold.hashers.pstable import PStableLSH
from bitfold.hashers.rmmh import RMMH
from bitfold.hashers.sdh import SDH
from bitfold.hashers.sh import SH
from bitfold.hashers.sklsh import SKLSH
from bitfold.hashers.sph import SpH
from bitfold.hashers.ssh import SSH
from bitfold.hashers.sth import STH
from bitfold.hashers.supervised_imh import SupervisedIMH

__all__ = [
    "AGH",
    "BRE",
    "CCAITQ",
    "FSDH",
    "IMH",
    "ITQ",
    "KLSH",
    "KSH",
    "LLH",
    "LSH",
    "MDSH",
    "PCAH",
    "RMMH",
    "SDH",
    "SH",
    "SKLSH",
    "SSH",
    "STH",
    "DualHasher",
    "Hasher",
    "LDAHash",
    "MahalanobisLSH",
    "PStableLSH",
    "SpH",
    "SupervisedIMH",
    "load",
]


def load(path: PathLike, *, mmap: bool = False) -> Hasher:
    """Read a hasher from a file.

    Parameters
    ----------
    path
        File written by ``hasher.save``.
    mmap
        Whether to map the fitted arrays into memory instead of reading them, so that several
        processes can share them.

    Returns
    -------
    A fitted hasher of the class that was saved.

    Raises
    ------
    FormatError
        If the file is damaged, not a model, or of an unknown class.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_digits
    >>> from bitfold.hashers import PCAH, load
    >>> X = load_digits().data
    >>> hasher = PCAH(n_bits=16).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.bitfold")
    ...     hasher.save(path)
    ...     load(path).encode(X) == hasher.encode(X)
    True
    """
    return _persistence.load_hasher(path, Hasher, mmap=mmap)
