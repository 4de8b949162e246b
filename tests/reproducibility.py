"""Fit the same models in processes of all kinds, and compare every byte of what they learned.

``python -m tests.reproducibility`` runs the thorough version: all hashers with default and large
settings, on a cold and a warm kernel cache, on one core and on several, with other numbers of
threads, and from arrays and streams of several types. The test suite fits small models in two
processes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

N_CORES = int(os.environ.get("BITFOLD_TEST_CORES", "0"))
if N_CORES:  # another number of cores than the machine has, before anything counts them
    os.sched_getaffinity = lambda process_id: set(range(N_CORES))

import numpy as np  # noqa: E402
from sklearn.datasets import load_digits  # noqa: E402
from tests.testing.test_hashers import HASHERS  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

from bitfold.base_set import KMeansBase, KMedoidsBase, RandomBase  # noqa: E402
from bitfold.embedding import SNE, TSNE  # noqa: E402
from bitfold.hashers import AGH, IMH, DualHasher, Hasher  # noqa: E402
from bitfold.hashers.strategies import EMBEDDINGS  # noqa: E402

Digests = dict[str, str]
"""The digest of everything that a model has learned, by the name of the model."""


class Case(NamedTuple):
    """A hasher and its training data."""

    name: str
    hasher: Hasher
    X: Any
    y: Any


class Surroundings(NamedTuple):
    """Environment variables of a process, and the form in which it fits the data."""

    variables: dict[str, str]
    form: str = "array"
    one_core: bool = False


class Blocks:
    """Vectors that are read as blocks, as often as needed."""

    def __init__(self, X: Any) -> None:
        self._X = X

    def __iter__(self) -> Iterator[Any]:
        return iter(np.array_split(self._X, 7))


FORMS: dict[str, Callable[[Any], Any]] = {
    "array": lambda X: X,
    "double": lambda X: X.astype(np.float64),
    "fortran": np.asfortranarray,
    "fortran double": lambda X: np.asfortranarray(X, np.float64),
    "list": lambda X: np.array_split(X, 5),
    "stream": Blocks,
}
"""The forms of the same values."""

SMALL = {
    "one core": Surroundings({"OPENBLAS_NUM_THREADS": "1"}, one_core=True),
    "seven threads": Surroundings(
        {"OMP_NUM_THREADS": "7", "BITFOLD_TEST_CORES": "7"}, "fortran double"
    ),
}
"""Two processes that differ in most respects."""

THOROUGH = {
    "cold cache": Surroundings({}),  # the first, because its cache is empty
    "warm cache": Surroundings({}),
    "one core": Surroundings({}, one_core=True),
    "seven cores": Surroundings({"OMP_NUM_THREADS": "7", "BITFOLD_TEST_CORES": "7"}),
    "one BLAS thread": Surroundings({"OPENBLAS_NUM_THREADS": "1"}),
    "one OpenMP thread": Surroundings({"OMP_NUM_THREADS": "1"}),
    **{form: Surroundings({}, form) for form in list(FORMS)[1:]},
}


def make_clusters(n: int, n_features: int) -> tuple[Any, Any]:
    """Return float32 vectors on ten curved sheets, and their labels."""
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=n)
    centers, sides = rng.standard_normal((10, n_features)), rng.standard_normal((10, 6, n_features))
    X = 1.5 * centers[y] + np.einsum("nk,nkd->nd", rng.standard_normal((n, 6)), sides[y])
    return (X + 0.3 * rng.standard_normal(X.shape)).astype(np.float32), y


def small_cases() -> Iterator[Case]:
    """Yield small hashers of all kinds, and some with large settings but few iterations."""
    X, y = load_digits(return_X_y=True)
    for index, hasher in enumerate(HASHERS):
        yield Case(f"{type(hasher).__name__} {index}", hasher, X[:240].astype(np.float32), y[:240])
    base, wide = KMeansBase(1100, max_iter=3), make_clusters(2300, 140)
    large = [
        IMH(16, base=base, embedding=TSNE(max_iter=30), random_state=0),
        IMH(16, base=RandomBase(2100), embedding="pca", n_directions=None, random_state=0),
        IMH(16, base=KMedoidsBase(200, max_iter=3), embedding="dm", random_state=0),
        AGH(16, base=base, random_state=0),
    ]
    for index, hasher in enumerate(large):
        yield Case(f"large {type(hasher).__name__} {index}", hasher, *wide)


def thorough_cases() -> Iterator[Case]:
    """Yield all hashers with their default settings, and with large ones."""
    X, y = load_digits(return_X_y=True)
    narrow, wide, many = (
        (X.astype(np.float32), y),
        make_clusters(3000, 150),
        make_clusters(12000, 150),
    )
    kinds = dict.fromkeys(map(type, HASHERS))
    for kind in kinds:
        yield Case(f"{kind.__name__}, 64 features", seed(kind()), *narrow)
        yield Case(f"{kind.__name__}, 150 features", seed(kind()), *wide)
        if "base" in kind().get_params():
            hasher = seed(kind(base=KMeansBase(1100)))
            yield Case(f"{kind.__name__}, 1,100 base points", hasher, *wide)
    for name in EMBEDDINGS:
        for m in (300, 1100):
            hasher = IMH(32, base=KMeansBase(m), embedding=name, random_state=0)
            yield Case(f"IMH, {name}, {m} base points", hasher, *wide)
    large = [
        IMH(64),
        IMH(64, normalize=True, n_directions=None),
        IMH(64, base=KMeansBase(3000, max_iter=4), embedding=TSNE(max_iter=60)),
        IMH(16, base=RandomBase(4500), embedding=TSNE(max_iter=60)),
        IMH(16, base=RandomBase(4500), embedding=SNE(max_iter=40)),
        IMH(32, base=KMedoidsBase(300), embedding=TSNE(perplexity=20)),
        AGH(64, base=KMeansBase(2200, max_iter=4)),
        DualHasher(128),
        IMH.as_published(64),
        IMH.as_published(64, embedding="le"),
        AGH.as_published(64),
    ]
    for index, hasher in enumerate(large):
        yield Case(f"12,000 rows, {type(hasher).__name__} {index}", seed(hasher), *many)


def seed(hasher: Hasher) -> Hasher:
    """Set the random state of a hasher that has one."""
    has_state = "random_state" in hasher.get_params(deep=False)
    return hasher.set_params(random_state=0) if has_state else hasher


def compute_digest(hasher: Hasher) -> str:
    """Return a digest of all fitted attributes."""
    digest = hashlib.sha256(getattr(hasher, "model_digest", "").encode())
    for name, value in sorted(vars(hasher).items()):
        if isinstance(value, Hasher) and name.endswith("_"):
            digest.update(compute_digest(value).encode())
        elif name.endswith("_"):
            digest.update(f"{name} {getattr(value, 'dtype', '')} {np.shape(value)}".encode())
            is_array = isinstance(value, np.ndarray)
            digest.update(value.tobytes() if is_array else repr(value).encode())
    return digest.hexdigest()[:16]


def fit_cases(cases: Iterator[Case], form: str) -> Digests:
    """Fit the models in this process."""
    found = {}
    with warnings.catch_warnings(), threadpool_limits(N_CORES or None):
        warnings.simplefilter("ignore")
        for name, hasher, X, y in cases:
            found[name] = compute_digest(hasher.fit(FORMS[form](X), y))
    return found


def fit_in_process(surroundings: Surroundings, cache: Path | None, *, thorough: bool) -> Digests:
    """Fit the models in a process of their own."""
    variables = {**os.environ, **surroundings.variables}
    if cache:
        variables["NUMBA_CACHE_DIR"] = str(cache)
    command = [sys.executable, "-m", "tests.reproducibility", "--form", surroundings.form]
    run = subprocess.run(
        [*command, *(["--thorough"] if thorough else [])],
        env=variables,
        check=True,
        stdout=subprocess.PIPE,
        preexec_fn=_use_one_core if surroundings.one_core else None,
        cwd=Path(__file__).parents[1],
    )
    digests: Digests = json.loads(run.stdout)
    return digests


def _use_one_core() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def find_differences(found: Digests, expected: Digests) -> list[str]:
    """Return the names of the models that are not the same."""
    assert found.keys() == expected.keys()
    return [name for name in expected if found[name] != expected[name]]


def compare_thoroughly() -> int:
    """Fit all models in all surroundings, print what differs, and return the number."""
    n_different, expected = 0, Digests()
    with tempfile.TemporaryDirectory() as cache:
        for name, surroundings in THOROUGH.items():
            start = time.monotonic()
            found = fit_in_process(surroundings, Path(cache), thorough=True)
            expected = expected or found
            different = find_differences(found, expected)
            n_different += len(different)
            seconds = time.monotonic() - start
            print(
                f"{name}: {len(found)} models, {len(different)} differ, {seconds:.0f} s", flush=True
            )
            for model in different:
                print(f"  {model}", flush=True)
    return n_different


def main() -> int:
    """Compare all surroundings, or fit the models in this process if a form is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--form", choices=FORMS)
    parser.add_argument("--thorough", action="store_true")
    arguments = parser.parse_args()
    if arguments.form is None:
        return min(compare_thoroughly(), 1)
    cases = thorough_cases() if arguments.thorough else small_cases()
    print(json.dumps(fit_cases(cases, arguments.form)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
