"""Data sets split into database and queries, and what makes items relevant.

Files are looked for below the folder that ``BITFOLD_DATA`` names, then in the cache folder
(``BITFOLD_CACHE``, by default ``~/.cache/bitfold``), and downloaded into the latter otherwise;
``BITFOLD_OFFLINE=1`` forbids downloads.
"""

from reproduction.sift_photos import sift_photos

from bitfold.datasets._base import Dataset
from bitfold.datasets.ann_benchmarks import ann_benchmarks
from bitfold.datasets.cifar10 import cifar10, cifar10_patches
from bitfold.datasets.digits import digits
from bitfold.datasets.images import Pictures, pictures
from bitfold.datasets.manifold import manifold
from bitfold.datasets.mnist import mnist
from bitfold.datasets.texmex import gist1m, sift1m
from bitfold.errors import FormatError, MissingDataError
from bitfold.io.vectors import open_vectors, read_labels, read_vectors

__all__ = [
    "Dataset",
    "FormatError",
    "MissingDataError",
    "Pictures",
    "ann_benchmarks",
    "cifar10",
    "cifar10_patches",
    "digits",
    "gist1m",
    "manifold",
    "mnist",
    "open_vectors",
    "pictures",
    "read_labels",
    "read_vectors",
    "sift1m",
    "sift_photos",
]
