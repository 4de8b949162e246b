"""Codes of labeled rows that are learned as bits, not as reals: what SDH and FSDH share.

Both alternate between three steps: regress the codes on kernels, relate codes and labels, and
choose, for every row, the bits that fit both best. The last step treats each row on its own, so it
works block by block, and only the packed bits of all rows stay in memory.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from scipy.linalg import LinAlgError
from scipy.sparse import csr_array

from bitfold import _validation
from bitfold._types import (
    Float32Array,
    Float64Array,
    Int8Array,
    Int64Array,
    ProgressCallback,
    Seed,
    StepCallback,
    UInt8Array,
)
from bitfold.errors import ParameterError
from bitfold.hashers._iterations import IterativeMixin
from bitfold.hashers._kernel_regression import (
    Anchors,
    LinearFit,
    Ridge,
    choose_anchors,
    factor_ridge,
)
from bitfold.hashers._labels import LabeledRows, SupervisedMixin, find_labeled_rows
from bitfold.hashers.base.kernel import KernelHasher
from bitfold.io.rows import Rows, block_length

R = TypeVar("R")

_SIGNS = np.array([-1, 1], np.int8)

N_DRAWS = 200
"""Number of random sets of first codes; the best one is kept."""

_MAX_COMPARED_CLASSES = 256
"""Number of classes up to which all pairs of their codes are compared."""


class CodeSums(NamedTuple):
    """Sums over rows: of the codes ±1 of each class, of codes and codes, of kernels and codes."""

    classes: Float64Array
    codes: Float64Array
    kernels: Float64Array

    def add(self, other: CodeSums) -> None:
        """Add the sums of other rows in place."""
        for total, part in zip(self, other, strict=True):
            total += part


class ChooseCodes(Protocol):
    """Chooses better codes of some rows."""

    def __call__(
        self, codes: Int8Array, predicted: Float32Array, classes: Int64Array, /
    ) -> Int8Array:
        """Return codes ±1, given codes, what the kernels predict, and classes."""


class RelateLabels(Protocol):
    """Relates codes and labels."""

    def __call__(self, sums: CodeSums, sizes: Int64Array, /) -> ChooseCodes:
        """Return how codes are chosen, given the sums and the sizes of the classes."""


def sum_block(K: Float32Array, codes: Int8Array, classes: Int64Array, n_classes: int) -> CodeSums:
    """Return the sums of one block of rows."""
    signs = codes.astype(np.float32)
    shape = (n_classes, len(codes))
    members = csr_array((np.ones(len(codes)), (classes, np.arange(len(codes)))), shape=shape)
    sums = (members @ signs, signs.T @ signs, K.T @ signs)
    return CodeSums(*(part.astype(np.float64) for part in sums))


class LabeledKernels:
    """The kernels of labeled rows, visited block by block.

    Parameters
    ----------
    rows
        All rows.
    labeled
        The labeled rows to learn from.
    anchors
        The anchors.
    """

    def __init__(self, rows: Rows, labeled: LabeledRows, anchors: Anchors) -> None:
        self.rows = rows
        self.labeled = labeled
        self.anchors = anchors
        self.step = block_length(max(rows.n_features, len(anchors.points)))

    def map(
        self, work: Callable[[Float32Array, Int64Array, slice], R]
    ) -> Iterator[tuple[slice, R]]:
        """Yield the range of each block among the labeled rows, and work(K, classes, range)."""
        labeled, anchors, step = self.labeled, self.anchors, self.step

        def work_on_block(values: Float32Array, start: int) -> tuple[slice, R]:
            first, last = np.searchsorted(labeled.rows, (start, start + step))
            own = slice(int(first), int(last))
            K = anchors.compute_kernels(values[labeled.rows[own] - start])
            return own, work(K, labeled.classes[own], own)

        for _, result in self.rows.map(work_on_block, step):
            yield result


def draw_class_codes(n_classes: int, n_bits: int, rng: np.random.Generator) -> Int8Array:
    """Return random codes of classes, 1 or -1: the draw whose closest pair is farthest apart.

    With few bits, some classes of a single draw would share a code, and the rounds would not
    separate them.
    """
    best, least = rng.choice(_SIGNS, (n_classes, n_bits)), (np.inf, np.inf)
    if n_classes > _MAX_COMPARED_CLASSES:
        return best
    for _ in range(N_DRAWS):
        codes = rng.choice(_SIGNS, (n_classes, n_bits))
        products = codes.astype(np.float32) @ codes.T.astype(np.float32)
        others = products[np.triu_indices(n_classes, 1)]
        closeness = (float(others.max()), float((others**2).sum()))
        if closeness < least:
            best, least = codes, closeness
    return best


def sum_codes(
    kernels: LabeledKernels, packed: UInt8Array, n_bits: int, regularization: float
) -> tuple[Ridge, CodeSums]:
    """Return the regression on all kernels, and the sums of given codes, in one pass."""
    m, n_classes = len(kernels.anchors.points), kernels.labeled.n_classes
    gram, total, sums = np.zeros((m, m)), np.zeros(m), _start_sums(kernels, n_bits)

    def work(K: Float32Array, classes: Int64Array, own: slice) -> Any:
        part = sum_block(K, _unpack(packed[own], n_bits), classes, n_classes)
        return K.T @ K, K.sum(axis=0, dtype=np.float64), part

    for _, (squares, own_total, part) in kernels.map(work):
        gram += squares
        total += own_total
        sums.add(part)
    return factor_ridge(gram, total, len(kernels.labeled.rows), regularization), sums


def update_codes(
    kernels: LabeledKernels, packed: UInt8Array, fit: LinearFit, choose: ChooseCodes
) -> tuple[CodeSums, int]:
    """Choose better codes of all rows in place; return their sums, and how many bits changed."""
    n_bits, n_classes = fit.coefficients.shape[1], kernels.labeled.n_classes
    total, n_changed = _start_sums(kernels, n_bits), 0

    def work(K: Float32Array, classes: Int64Array, own: slice) -> tuple[UInt8Array, CodeSums, int]:
        before = _unpack(packed[own], n_bits)
        after = choose(before, fit.predict(K), classes)
        part = sum_block(K, after, classes, n_classes)
        return np.packbits(after > 0, axis=1), part, int((before != after).sum())

    for own, (chosen, part, n_own) in kernels.map(work):
        packed[own] = chosen
        total.add(part)
        n_changed += n_own
    return total, n_changed


def learn_codes(
    kernels: LabeledKernels,
    n_bits: int,
    relate: RelateLabels,
    *,
    regularization: float,
    max_iter: int,
    rng: np.random.Generator,
    on_step: StepCallback | None = None,
) -> LinearFit:
    """Alternate between the three steps, and return the final regression.

    The rounds start from one random code per class. The papers start from one per row; the first
    round turns these into random codes of classes, which may coincide.

    Parameters
    ----------
    kernels
        Kernels of labeled rows.
    n_bits
        Number of bits.
    relate
        The step that relates codes and labels.
    regularization
        Ridge of the regression, in units of the mean variance of the kernels.
    max_iter
        Maximum number of rounds; they end when no bit changes.
    rng
        Generator of the first codes.
    on_step
        Called with (done, total).

    Returns
    -------
    The regression of codes on kernels.
    """
    labeled = kernels.labeled
    sizes = np.bincount(labeled.classes, minlength=labeled.n_classes)
    first = draw_class_codes(labeled.n_classes, n_bits, rng)
    packed = np.packbits(first > 0, axis=1)[labeled.classes]
    ridge, sums = sum_codes(kernels, packed, n_bits, regularization)
    for done in range(max_iter):
        fit = ridge.solve(sums.kernels, sums.classes.sum(axis=0))
        sums, n_changed = update_codes(kernels, packed, fit, relate(sums, sizes))
        if on_step:
            on_step(done + 1 if n_changed else max_iter, max_iter)
        if not n_changed:
            break
    return ridge.solve(sums.kernels, sums.classes.sum(axis=0))


def _start_sums(kernels: LabeledKernels, n_bits: int) -> CodeSums:
    n_classes, m = kernels.labeled.n_classes, len(kernels.anchors.points)
    return CodeSums(*(np.zeros((size, n_bits)) for size in (n_classes, n_bits, m)))


def _unpack(packed: UInt8Array, n_bits: int) -> Int8Array:
    codes: Int8Array = _SIGNS[np.unpackbits(packed, axis=1, count=n_bits)]
    return codes


class DiscreteCodeHasher(SupervisedMixin, IterativeMixin, KernelHasher):
    """A kernel hasher whose codes are learned as bits; subclasses relate codes and labels."""

    def __init__(
        self,
        n_bits: int = 64,
        *,
        n_anchors: int = 1000,
        n_samples: int | None = None,
        bandwidth: float | None = None,
        fit_weight: float = 1e-5,
        regularization: float = 1e-4,
        max_iter: int = 5,
        normalize: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_anchors = n_anchors
        self.n_samples = n_samples
        self.bandwidth = bandwidth
        self.fit_weight = fit_weight
        self.regularization = regularization
        self.max_iter = max_iter
        self.normalize = normalize
        self.random_state = random_state

    @staticmethod
    @abstractmethod
    def _relate_labels(sums: CodeSums, sizes: Int64Array, fit_weight: float) -> ChooseCodes:
        """Return how codes are chosen, given the sums and the sizes of the classes."""

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        owner = rows.owner
        n_bits = _validation.check_integer(self.n_bits, "n_bits", owner, low=1)
        n_anchors = _validation.check_integer(self.n_anchors, "n_anchors", owner, low=1)
        max_iter = _validation.check_integer(self.max_iter, "max_iter", owner, low=1)
        ridge = _validation.check_positive(self.regularization, "regularization", owner)
        weight = _validation.check_positive(self.fit_weight, "fit_weight", owner)
        labeled = find_labeled_rows(y, len(rows), owner)
        anchor_rng, sample_rng, code_rng = _validation.spawn_generators(self.random_state, 3)
        if self.n_samples is not None:
            n_samples = _validation.check_integer(self.n_samples, "n_samples", owner, low=2)
            labeled = labeled.sample(n_samples, sample_rng)
        anchors = choose_anchors(rows, labeled, n_anchors, self.bandwidth, ridge, anchor_rng)
        progress("bandwidth", 1, 1)
        try:
            fit = learn_codes(
                LabeledKernels(rows, labeled, anchors),
                n_bits,
                partial(self._relate_labels, fit_weight=weight),
                regularization=ridge,
                max_iter=max_iter,
                rng=code_rng,
                on_step=partial(progress, "bits"),
            )
        except LinAlgError:
            requirement = "larger, because the kernels of these rows are almost dependent"
            raise ParameterError("regularization", owner, requirement, ridge) from None
        A = fit.coefficients.T
        thresholds = A @ anchors.mean - fit.intercepts
        return self._fitted_kernels(anchors.points, anchors.bandwidth, A, thresholds)
