"""Every hasher and every check. A new hasher is one line in the table."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from bitfold import hashers
from bitfold.base_set import KMeansBase, RandomBase
from bitfold.embedding import TSNE, LaplacianEigenmaps
from bitfold.hashers import (
    AGH,
    BRE,
    CCAITQ,
    FSDH,
    IMH,
    ITQ,
    KLSH,
    KSH,
    LLH,
    LSH,
    MDSH,
    PCAH,
    RMMH,
    SDH,
    SH,
    SKLSH,
    SSH,
    STH,
    DualHasher,
    Hasher,
    LDAHash,
    MahalanobisLSH,
    PStableLSH,
    SpH,
    SupervisedIMH,
)
from bitfold.hashers.base import Rows, check_integer, make_generator
from bitfold.testing import HASHER_CHECKS, check_hasher

HASHERS: list[Hasher] = [
    IMH(12, base=KMeansBase(40, max_iter=3), embedding=TSNE(max_iter=60), random_state=0),
    IMH(5, base=RandomBase(30), embedding=LaplacianEigenmaps(), rotation=None, random_state=0),
    SupervisedIMH(
        base=KMeansBase(60, max_iter=3),
        embedding=TSNE(max_iter=60),
        n_components=16,
        random_state=0,
    ),
    SupervisedIMH(
        12,
        base=KMeansBase(60, max_iter=3),
        embedding=TSNE(max_iter=60),
        n_components=16,
        subspace=NeighborhoodComponentsAnalysis(max_iter=5),
        n_samples=120,
        random_state=0,
    ),
    ITQ(12, max_iter=5, random_state=0),
    LSH(40, random_state=0),
    PCAH(12),
    SKLSH(40, random_state=0),
    RMMH(24, random_state=0),
    SH(40),
    PStableLSH(40, random_state=0),
    KSH(12, n_anchors=60, n_samples=120, random_state=0),
    SDH(12, n_anchors=60, random_state=0),
    FSDH(12, n_anchors=60, n_samples=200, random_state=0),
    MDSH(40),
    CCAITQ(12, max_iter=5, random_state=0),
    AGH(13, base=KMeansBase(40, max_iter=3), random_state=0),
    LDAHash(12, n_pairs=500, random_state=0),
    LDAHash(12, variant="dif", n_pairs=500, random_state=0),
    BRE(16, n_samples=60, n_anchors=15, max_iter=2, random_state=0),
    SpH(24, max_iter=20, random_state=0),
    KLSH(24, n_anchors=60, n_subset=10, random_state=0),
    STH(12, n_samples=150, n_neighbors=12, random_state=0),
    LLH(12, base=KMeansBase(40, max_iter=3), n_neighbors=5, max_iter=5, random_state=0),
    SSH(12, n_samples=100, random_state=0),
    SSH(12, variant="nonorthogonal", n_samples=100, random_state=0),
    RMMH(24, kernel="rbf", n_samples=20, n_anchors=80, random_state=0),
    BRE(16, kernel="rbf", n_samples=60, n_anchors=15, max_iter=2, random_state=0),
    MahalanobisLSH(40, random_state=0),
    MahalanobisLSH(40, metric="covariance", random_state=0),
    DualHasher(
        24,
        coarse=IMH(base=KMeansBase(40, max_iter=3), embedding=TSNE(max_iter=60)),
        n_coarse_bits=11,
        random_state=0,
    ),
    DualHasher(40, coarse=SKLSH(), fine=LSH(), normalize=True, random_state=0),
    DualHasher(
        16,
        coarse=SupervisedIMH(
            base=KMeansBase(60, max_iter=3), embedding=TSNE(max_iter=60), n_components=16
        ),
        fine=LSH(),
        random_state=0,
    ),
    ITQ(12, max_iter=5, normalize=True, random_state=0),
    IMH(
        12,
        base=KMeansBase(40, max_iter=3),
        embedding=TSNE(max_iter=60),
        normalize=True,
        random_state=0,
    ),
]
"""Small hashers, because most checks fit them."""


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Use one thread: on small problems, threads that wait for each other take ten times longer."""
    with threadpool_limits(1):
        yield


def hasher_id(hasher: Hasher) -> str:
    """Return the name of a case in the report of pytest."""
    return f"{type(hasher).__name__}-{HASHERS.index(hasher)}"


def without_n_bits() -> list[Hasher]:
    """Return hashers for the data of scikit-learn, whose few features limit the code length."""
    are_limited = [type(hasher)().n_bits is None for hasher in HASHERS]
    return [
        clone(hasher).set_params(n_bits=None) if is_limited else hasher
        for hasher, is_limited in zip(HASHERS, are_limited, strict=True)
    ]


@pytest.mark.parametrize("check", HASHER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("hasher", HASHERS, ids=hasher_id)
def test_check(hasher: Hasher, check: Callable[[Hasher], None]) -> None:
    check(hasher)


def expected_failures(estimator: Hasher) -> dict[str, str]:
    """Return the checks of scikit-learn that cannot pass, with the reason."""
    if estimator.normalize and isinstance(estimator, IMH):
        return {"check_fit2d_1feature": "all rows of one positive feature have one direction"}
    return {}


# The data sets of scikit-learn are smaller than the default parameters require.
@pytest.mark.filterwarnings("ignore:.* base points were requested:UserWarning")
@pytest.mark.filterwarnings("ignore:ITQ has at most n_features:UserWarning")
@pytest.mark.filterwarnings("ignore:perplexity .* cannot be reached:UserWarning")
@parametrize_with_checks(
    [*(kind() for kind in dict.fromkeys(map(type, HASHERS))), *without_n_bits()],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


def test_every_hasher_is_in_the_table() -> None:
    public = {getattr(hashers, name) for name in hashers.__all__}
    kinds = {kind for kind in public if inspect.isclass(kind) and not inspect.isabstract(kind)}
    assert kinds == set(map(type, HASHERS))


def test_every_hasher_can_normalize() -> None:
    assert all("normalize" in hasher.get_params() for hasher in HASHERS)


def test_every_check_is_listed() -> None:
    modules = {sys.modules[check.__module__] for check in HASHER_CHECKS}
    defined = {
        value
        for module in modules
        for name, value in vars(module).items()
        if name.startswith("check_")
    }
    assert len(HASHER_CHECKS) == len(set(HASHER_CHECKS))
    assert defined == set(HASHER_CHECKS)
    assert all((check.__doc__ or "").startswith("Check that ") for check in HASHER_CHECKS)


def test_pytest_is_not_imported() -> None:
    code = "import sys; sys.modules['pytest'] = None; import bitfold.testing"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_pandas_is_optional() -> None:
    code = """
import sys
sys.modules["pandas"] = None
from bitfold.testing import HASHER_CHECKS, check_hasher
assert "check_codes_differ" in [check.__name__ for check in HASHER_CHECKS]
assert "check_column_names" not in [check.__name__ for check in HASHER_CHECKS]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


class PairHash(Hasher):
    """A hasher as a third party writes it: a bit says which of two random features is larger."""

    _fitted_arrays: ClassVar[dict[str, tuple[str, ...]]] = {
        **Hasher._fitted_arrays,
        "features_": ("two", "n_bits_"),
    }

    features_: NDArray[np.float32]

    def __init__(self, n_bits: int = 64, *, random_state: int | None = None) -> None:
        self.n_bits = n_bits
        self.random_state = random_state

    def _learn(
        self, rows: Rows, y: Any, progress: Callable[[str, int, int], None]
    ) -> dict[str, Any]:
        n_bits = check_integer(self.n_bits, "n_bits", rows.owner, low=1)
        rng = make_generator(self.random_state)
        features = rng.integers(rows.n_features, size=(2, n_bits))
        return {"n_bits_": n_bits, "features_": features.astype(np.float32)}

    def _embed_block(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        first, second = self.features_.astype(np.intp)
        difference: NDArray[np.float32] = values[:, first] - values[:, second]
        return difference


class BatchDependent(PairHash):
    """A mistake: bits depend on the other rows of the batch."""

    def _embed_block(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        reals = super()._embed_block(values)
        medians: NDArray[np.float32] = np.median(reals, axis=0).astype(np.float32)
        return reals - medians


class Unseeded(PairHash):
    """A mistake: ``random_state`` is ignored."""

    def _learn(
        self, rows: Rows, y: Any, progress: Callable[[str, int, int], None]
    ) -> dict[str, Any]:
        features = np.random.default_rng().integers(rows.n_features, size=(2, self.n_bits))
        return {"n_bits_": self.n_bits, "features_": features.astype(np.float32)}


class Unvalidated(PairHash):
    """A mistake: the parameters are not checked."""

    def _learn(
        self, rows: Rows, y: Any, progress: Callable[[str, int, int], None]
    ) -> dict[str, Any]:
        rng = make_generator(self.random_state)
        features = rng.integers(rows.n_features, size=(2, self.n_bits))
        return {"n_bits_": self.n_bits, "features_": features.astype(np.float32)}


def test_third_party_hasher_passes() -> None:
    check_hasher(PairHash(32, random_state=0))


@pytest.mark.parametrize(
    ("hasher", "check"),
    [
        (BatchDependent(32, random_state=0), "check_codes_depend_on_row_alone"),
        (Unseeded(32, random_state=0), "check_clone"),
        (Unvalidated(32, random_state=0), "check_invalid_n_bits"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_broken_hasher_fails(hasher: Hasher, check: str) -> None:
    with pytest.raises(AssertionError, match=f"{check} failed"):
        check_hasher(hasher)
