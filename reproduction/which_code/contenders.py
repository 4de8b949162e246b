"""The codes that are compared: hashers of bitfold, sign bits, and quantizers of faiss."""

from __future__ import annotations

from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from bitfold import Codes, hashers
from reproduction.records import Case
from reproduction.shared_types import AnyArray, Float32Array

MEASURE = "which-code"
"""Name of the measurement in cases."""

DATA = ("text", "cifar10", "mnist")
"""Data sets of the page."""

N_SEEDS = 3
"""Number of seeds that the means of random methods are over."""

SIGNS = "sign bits"
EXACT = "Flat"
"""Method names of the signs of the vectors, and of the vectors themselves."""


class Contender(NamedTuple):
    """A code: ``method`` is a hasher of bitfold, ``SIGNS``, or a factory string of faiss.

    ``n_bits`` is 0 where the method alone determines the size.
    """

    method: str
    n_bits: int = 0
    uses_labels: bool = False

    @property
    def title(self) -> str:
        """Name in tables."""
        if self.is_hasher:
            return f"{self.method}({self.n_bits})"
        if self.method == EXACT:
            return "exact vectors"
        return self.method if self.method == SIGNS else f"faiss {self.method}"

    @property
    def is_hasher(self) -> bool:
        """Whether it is a hasher of bitfold; these are random, and run with several seeds."""
        return self.n_bits > 0

    @property
    def is_available(self) -> bool:
        """Whether this version of bitfold has it."""
        return not self.is_hasher or hasattr(hashers, self.method)


CONTENDERS = (
    Contender(EXACT),
    Contender("DualHasher", 128),
    Contender("DualHasher", 64),
    Contender("IMH", 64),
    Contender("ITQ", 64),
    Contender("ITQ", 128),
    Contender("LSH", 128),
    Contender(SIGNS),
    Contender("PQ16x8"),
    Contender("PCA64,RaBitQ"),
    Contender("RaBitQ"),
    Contender("CCAITQ", 64, uses_labels=True),
    Contender("KSH", 64, uses_labels=True),
)
"""The codes of the page, in the order of its tables."""


def list_cases(data: tuple[str, ...] = DATA, n_seeds: int = N_SEEDS) -> list[Case]:
    """Return the cases of the page, those of each data set together."""
    return [
        Case(name, contender.method, contender.n_bits, seed, measure=MEASURE)
        for name in data
        for contender in CONTENDERS
        if contender.is_available
        for seed in range(n_seeds if contender.is_hasher else 1)
    ]


def find_contender(case: Case) -> Contender:
    """Return the code of a case."""
    return next(c for c in CONTENDERS if (c.method, c.n_bits) == (case.method, case.n_bits))


class BinaryEncoder(Protocol):
    """What the measurements need of a hasher."""

    def fit(self, X: AnyArray, y: ArrayLike | None = None) -> Self:
        """Learn from vectors."""

    def encode(self, X: AnyArray) -> Codes:
        """Return the codes of vectors."""

    def embed(self, X: AnyArray) -> AnyArray:
        """Return the reals whose signs are the bits."""


class SignBits:
    """The signs of the vectors, as sentence-transformers computes ``ubinary`` embeddings.

    Parameters
    ----------
    center
        Whether to subtract the mean first, which vectors without negative values need.
    """

    def __init__(self, *, center: bool) -> None:
        self.center = center
        self._mean: Float32Array = np.zeros(0, np.float32)

    def fit(self, X: AnyArray, y: ArrayLike | None = None) -> Self:
        """Learn the mean, or the number of features if there is none to subtract."""
        mean = X.mean(axis=0, dtype=np.float64) if self.center else np.zeros(X.shape[1])
        self._mean = mean.astype(np.float32)
        return self

    def embed(self, X: AnyArray) -> Float32Array:
        """Return the vectors, less the mean."""
        return np.asarray(X, np.float32) - self._mean

    def encode(self, X: AnyArray) -> Codes:
        """Return one bit per feature."""
        return Codes.from_bits(self.embed(X) > 0)


def make_encoder(case: Case) -> BinaryEncoder:
    """Return the unfitted hasher of a case, or its sign bits."""
    if case.method == SIGNS:
        return SignBits(center=case.data != "text")
    kind = getattr(hashers, case.method)
    encoder: BinaryEncoder = kind(case.n_bits, random_state=case.seed)
    return encoder
