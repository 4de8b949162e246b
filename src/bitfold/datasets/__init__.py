"""Data sets split into database and queries, with the labels that make items relevant."""

from bitfold.datasets._base import Dataset, MissingData
from bitfold.datasets.cifar10 import cifar10
from bitfold.datasets.digits import digits
from bitfold.datasets.mnist import mnist

__all__ = ["Dataset", "MissingData", "cifar10", "digits", "mnist"]
