"""Named data sets, split into database and queries.

Files are looked for in the folder that ``BITFOLD_DATA`` names, then in the cache folder
(``BITFOLD_CACHE``, by default ``~/.cache/bitfold``). Missing files are downloaded into the cache
unless ``BITFOLD_OFFLINE=1`` is set.
"""

from bitfold.datasets.ann_benchmarks import ann_benchmarks
from bitfold.datasets.cifar10 import cifar10
from bitfold.datasets.dataset import Dataset, QuerySplit, draw_queries, split_dataset
from bitfold.datasets.digits import digits
from bitfold.datasets.image_dataset import image_dataset
from bitfold.datasets.images import ImageSplit, images
from bitfold.datasets.manifold import manifold
from bitfold.datasets.mnist import mnist
from bitfold.datasets.texmex import gist1m, sift1m

__all__ = [
    "Dataset",
    "ImageSplit",
    "QuerySplit",
    "ann_benchmarks",
    "cifar10",
    "digits",
    "draw_queries",
    "gist1m",
    "image_dataset",
    "images",
    "manifold",
    "mnist",
    "sift1m",
    "split_dataset",
]
