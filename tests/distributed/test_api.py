"""fit, encode, collect and search on a cluster: the same results as in memory."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import bitfold as bf
from bitfold import distributed
from bitfold.distributed._dask_rows import RemoteMatrix
from bitfold.embedding import TSNE
from bitfold.errors import DataError, ParameterError, ParameterTypeError
from bitfold.hashers import AGH, CCAITQ, ITQ, LSH, MDSH, PCAH, SH, SKLSH, Hasher, LDAHash, SpH
from distributed import Client

FloatArray = NDArray[np.float32]

HASHERS = [
    PCAH(20),
    ITQ(20, random_state=0),
    LSH(12, random_state=0),
    SH(16),
    MDSH(16),
    SpH(9, random_state=0),
    SKLSH(16, random_state=0),
    AGH(12, base=bf.KMeansBase(40), random_state=0),
    bf.IMH(16, base=bf.KMeansBase(40), random_state=0),
    bf.IMH(8, base=bf.RandomBase(40), embedding="le", random_state=0),
    ITQ(20, normalize=True, random_state=0),
    bf.IMH(16, base=bf.KMeansBase(40), normalize=True, random_state=0),
]


def learned(hasher: Hasher) -> dict[str, Any]:
    return {key: getattr(hasher, key) for key in (*hasher._fitted_arrays, *hasher._fitted_scalars)}


def assert_same(one: Hasher, other: Hasher) -> None:
    for key, value in learned(one).items():
        assert np.array_equal(value, learned(other)[key]), key


@pytest.fixture(scope="module")
def itq(X: FloatArray) -> ITQ:
    return ITQ(20, random_state=0).fit(X)


@pytest.mark.parametrize("hasher", HASHERS, ids=lambda hasher: type(hasher).__name__)
def test_fit_and_encode_match_memory(
    hasher: Hasher, client: Client, X: FloatArray, remote: da.Array
) -> None:
    here = clone(hasher).fit(X)
    there = distributed.fit(clone(hasher), remote)
    assert_same(here, there)
    codes = distributed.encode(there, remote)
    assert codes.shape == (len(X), -(-here.n_bits_ // 8))
    assert codes.dtype == np.uint8
    assert codes.chunks[0] == remote.chunks[0]
    assert np.array_equal(codes.compute(), here.encode(X).packed)


def test_base_set_of_normalized_rows(client: Client, X: FloatArray, remote: da.Array) -> None:
    """k-means on the workers sees rows of unit length; a power of 2 changes no digit of them."""
    lengths = np.exp2(np.arange(len(X)) % 9).astype(np.float32)[:, None]
    base = distributed.DaskKMeansBase(30, max_iter=2)
    hasher = bf.IMH(8, base=base, embedding="le", normalize=True, random_state=0)
    here = distributed.fit(clone(hasher), remote)
    longer = da.from_array(X * lengths, chunks=remote.chunks)
    there = distributed.fit(clone(hasher), longer)
    assert_same(here, there)
    assert np.linalg.norm(here.base_points_, axis=1).max() < 1 + 1e-6
    codes = distributed.encode(there, longer)
    assert np.array_equal(codes.compute(), here.encode(X).packed)


LABELED = [
    CCAITQ(random_state=0),
    LDAHash(random_state=0),
    bf.SupervisedIMH(base=bf.KMeansBase(40), random_state=0),
]


@pytest.mark.parametrize("hasher", LABELED, ids=lambda hasher: type(hasher).__name__)
def test_labels_in_memory_or_in_dask(
    hasher: Hasher, client: Client, X: FloatArray, remote: da.Array
) -> None:
    y = (X[:, 0] > 3).astype(int) + 2 * (X[:, 1] > 3)
    y[::7] = -1
    here = clone(hasher).fit(X, y)
    assert_same(here, distributed.fit(clone(hasher), remote, y))
    in_blocks = da.from_array(y, chunks=2000)
    assert_same(here, distributed.fit(clone(hasher), remote, in_blocks))


def test_all_rows_are_only_read_on_the_workers(
    client: Client, remote: da.Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client fetches samples by row number and results, but never ranges of rows."""

    def fetch(self: RemoteMatrix, start: int, stop: int) -> FloatArray:
        raise AssertionError(f"rows {start} to {stop} were fetched")

    monkeypatch.setattr(RemoteMatrix, "_fetch_range", fetch)
    base = distributed.DaskKMeansBase(30, max_iter=2)
    for hasher in (
        PCAH(20),
        SH(16),
        MDSH(16),
        AGH(12, base=bf.KMeansBase(40), random_state=0),
        bf.IMH(8, base=base, embedding=TSNE(max_iter=20), random_state=0),
        bf.IMH(8, base=base, embedding="le", random_state=0),
    ):
        distributed.fit(hasher, remote)


@pytest.mark.parametrize("length", [900, 6000])
def test_blas_threads_do_not_change_bits(length: int, X: FloatArray, remote: da.Array) -> None:
    """Without a cluster the work is done in this process, whose BLAS uses all threads."""
    here = PCAH(20).fit(X[:length])
    with dask.config.set(scheduler="synchronous"):
        assert_same(here, distributed.fit(PCAH(20), remote[:length]))


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float64])
def test_integer_and_float64_vectors_match_memory(
    dtype: type, client: Client, X: FloatArray
) -> None:
    numbers: NDArray[Any] = (X * 5 + 100).clip(0, 255).astype(dtype)
    remote = da.from_array(numbers, chunks=(1999, 24))
    hasher = distributed.fit(ITQ(20, random_state=0), remote)
    assert_same(ITQ(20, random_state=0).fit(numbers), hasher)
    codes = distributed.encode(hasher, remote)
    assert np.array_equal(codes.compute(), hasher.encode(numbers).packed)


def test_without_a_cluster(X: FloatArray, remote: da.Array, itq: ITQ) -> None:
    seen: list[tuple[str, int, int]] = []
    hasher = distributed.fit(
        ITQ(20, random_state=0), remote, progress=lambda *step: seen.append(step)
    )
    assert_same(itq, hasher)
    assert ("mean", 6000, 6000) in seen
    assert ("rows", 6000, 6000) in seen  # for the covariance
    codes = distributed.encode(hasher, remote)
    assert distributed.collect(codes, 20) == itq.encode(X)
    queries = itq.encode(X[:3])
    found = distributed.search(codes, queries, 5, progress=lambda *step: seen.append(step))
    assert np.array_equal(found.ids, to_index(itq, X).search(queries, 5).ids)
    assert seen[-1] == ("search", 5, 5)


def test_encode_is_lazy(itq: ITQ) -> None:
    def read(block: FloatArray) -> FloatArray:
        raise AssertionError("read")

    remote = da.zeros((100, 24), chunks=(10, 24), dtype=np.float32).map_blocks(
        read, dtype=np.float32, meta=np.empty((0, 0), np.float32)
    )
    codes = distributed.encode(itq, remote)
    with pytest.raises(AssertionError, match="read"):
        codes.compute(scheduler="synchronous")


def test_model_is_sent_to_a_worker_once(client: Client, remote: da.Array, itq: ITQ) -> None:
    def count_arrivals() -> None:
        def arrive(self: Hasher, state: dict[str, Any]) -> None:
            Hasher.arrivals = getattr(Hasher, "arrivals", 0) + 1
            self.__dict__.update(state)

        Hasher.__setstate__ = arrive

    def arrivals() -> int:
        del Hasher.__setstate__
        return int(Hasher.arrivals)

    client.run(count_arrivals)
    finely = remote.rechunk((100, 24))
    assert finely.numblocks[0] == 60
    distributed.encode(itq, finely).compute()
    # Once from the graph to one worker, which passes it to the other.
    assert sum(client.run(arrivals).values()) <= 3


def test_collect_reports_progress(
    client: Client, X: FloatArray, remote: da.Array, itq: ITQ
) -> None:
    seen: list[tuple[str, int, int]] = []
    codes = distributed.encode(itq, remote)
    collected = distributed.collect(codes, 20, progress=lambda *step: seen.append(step))
    assert collected == itq.encode(X)
    assert [done for _, done, _ in seen] == [1100, 2000, 2000, 4500, 4501, 6000]
    assert {(stage, total) for stage, _, total in seen} == {("encode", 6000)}


def to_index(hasher: Hasher, X: FloatArray) -> bf.HammingIndex:
    index = bf.HammingIndex(hasher.n_bits_)
    index.add(hasher.encode(X))
    return index


@pytest.mark.parametrize("k", [1, 10, 300, 6000])
def test_search_in_blocks_matches_memory(
    k: int, client: Client, X: FloatArray, remote: da.Array
) -> None:
    # 5 bits for 6,000 rows: nearly every hit is a tie across blocks.
    hasher = LSH(5, random_state=0).fit(X)
    codes = distributed.encode(hasher, remote)
    queries = hasher.encode(X[:50])
    seen: list[tuple[str, int, int]] = []
    found = distributed.search(codes, queries, k, progress=lambda *step: seen.append(step))
    expected = to_index(hasher, X).search(queries, k)
    assert np.array_equal(found.ids, expected.ids)
    assert np.array_equal(found.distances, expected.distances)
    assert found.ids.dtype == expected.ids.dtype
    assert found.distances.dtype == expected.distances.dtype
    assert seen[-1] == ("search", 5, 5)


def test_search_in_many_blocks_matches_memory(client: Client, X: FloatArray) -> None:
    hasher = LSH(12, random_state=0).fit(X)
    codes = da.from_array(hasher.encode(X).packed, chunks=(70, 2))
    queries = hasher.encode(X[:9])
    found = distributed.search(codes, queries, 90)
    expected = to_index(hasher, X).search(queries, 90)
    assert np.array_equal(found.ids, expected.ids)
    assert np.array_equal(found.distances, expected.distances)


def test_unknown_lengths_are_counted(
    client: Client, X: FloatArray, remote: da.Array, itq: ITQ
) -> None:
    unknown = remote[remote[:, 0] > 3]
    rows = X[X[:, 0] > 3]
    hasher = distributed.fit(ITQ(20, random_state=0), unknown)
    assert_same(ITQ(20, random_state=0).fit(rows), hasher)
    codes = distributed.encode(hasher, unknown)
    assert distributed.collect(codes, 20) == hasher.encode(rows)
    queries = hasher.encode(rows[:4])
    expected = to_index(hasher, rows).search(queries, 7)
    assert np.array_equal(distributed.search(codes, queries, 7).ids, expected.ids)
    assert np.isnan(unknown.shape[0])
    assert np.isnan(codes.shape[0])


def test_fit_removes_old_feature_names(client: Client, remote: da.Array) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.random.default_rng(0).random((50, 24)))
    frame.columns = [f"c{i}" for i in range(24)]
    hasher = ITQ(20, random_state=0).fit(frame)
    assert not hasattr(distributed.fit(hasher, remote), "feature_names_in_")


def with_value(array: da.Array, row: int, value: float) -> da.Array:
    numbers = da.arange(array.shape[0], chunks=array.chunks[0])[:, None]
    return da.where(numbers == row, np.float32(value), array)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_error_names_the_row_of_a_value_that_is_not_finite(
    value: float, client: Client, remote: da.Array, itq: ITQ
) -> None:
    what = "NaN" if np.isnan(value) else "infinity or a value too large for float32"
    message = f"X of ITQ .* {what} in row 4711"
    bad = with_value(remote, 4711, value)
    with pytest.raises(DataError, match=message):
        distributed.fit(ITQ(20), bad)
    with pytest.raises(DataError, match=message):
        distributed.encode(itq, bad).compute()
    with pytest.raises(DataError, match=message):
        distributed.collect(distributed.encode(itq, bad), 20)


def test_error_names_the_block_if_lengths_are_unknown(
    client: Client, remote: da.Array, itq: ITQ
) -> None:
    bad = with_value(remote, 4711, np.nan)
    bad = bad[bad[:, 0] != 0]
    message = "Block 5 of X of ITQ .* NaN in row 210"
    with pytest.raises(DataError, match=message):
        distributed.encode(itq, bad).compute()


def test_distances_beyond_float32_raise(client: Client, remote: da.Array) -> None:
    with pytest.raises(DataError, match=r"X of ITQ .* 1e\+30 in row 5"):
        distributed.fit(ITQ(20), with_value(remote, 5, 1e30))


def zero_codes(*shape: int, chunks: Any = "auto") -> da.Array:
    return da.zeros(shape, dtype=np.uint8, chunks=chunks)


def untyped(value: Any) -> Any:
    return value


QUERY = bf.Codes(np.zeros((1, 2), np.uint8), 16)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda h, X: distributed.encode(h, X[:, :23]), DataError, "23 features, .* 24 features"),
        (lambda h, X: distributed.fit(ITQ(30), X), ParameterError, "n_bits of ITQ .* got 30"),
        (lambda h, X: distributed.fit(ITQ(), X[:1]), DataError, r"1 sample.* minimum of 2"),
        (lambda h, X: distributed.fit(ITQ(), X[X[:, 0] > 1e9]), DataError, "0 sample.* minimum"),
        (lambda h, X: distributed.fit(ITQ(), X[:, 0]), DataError, r"2-dimensional.*\(6000,\)"),
        (lambda h, X: distributed.fit(ITQ(), X.astype(complex)), DataError, "complex128"),
        (lambda h, X: distributed.fit(ITQ(), X.astype(object)), ParameterTypeError, "object"),
        (
            lambda h, X: distributed.fit(ITQ(), X.map_blocks(csr_array, meta=csr_array((0, 0)))),
            ParameterTypeError,
            "X of ITQ .* got csr_array",
        ),
        (
            lambda h, X: distributed.fit(ITQ(), X[:, X[0] > 3]),
            DataError,
            "X of ITQ .* number of features",
        ),
        (
            lambda h, X: distributed.fit(ITQ(), np.zeros((5, 3))),
            ParameterTypeError,
            "X of ITQ .* Dask array .* got numpy.ndarray",
        ),
        (lambda h, X: distributed.fit(untyped("itq"), X), ParameterTypeError, "hasher .* got str"),
        (
            lambda h, X: distributed.search(zero_codes(9, 2), QUERY, 0),
            ParameterError,
            "k of search .* got 0",
        ),
        (
            lambda h, X: distributed.search(zero_codes(9, 3), QUERY, 1),
            ParameterError,
            r"codes of search .* \(n, 2\), got uint8 of shape \(9, 3\)",
        ),
        (
            lambda h, X: distributed.search(QUERY, QUERY, 1),
            ParameterTypeError,
            "codes of search .* got Codes",
        ),
        (
            lambda h, X: distributed.search(zero_codes(9, 2), untyped(QUERY.packed), 1),
            ParameterTypeError,
            "queries of search .* got ndarray",
        ),
        (
            lambda h, X: distributed.collect(X, 20),
            ParameterError,
            r"codes of collect .* \(n, 3\), got float32 of shape \(6000, 24\)",
        ),
        (
            lambda h, X: distributed.collect(zero_codes(9, 2, chunks=(9, 1)) + 1, 15),
            ParameterError,
            "packed of Codes .* bit 15",
        ),
    ],
)
def test_invalid_input_raises(
    call: Any, error: type[Exception], message: str, remote: da.Array, itq: ITQ
) -> None:
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(error, match=message) as caught,
    ):
        call(itq, remote)
    assert "\n" not in str(caught.value)


def test_large_k_returns_all() -> None:
    with dask.config.set(scheduler="synchronous"):
        hits = distributed.search(zero_codes(9, 2, chunks=(4, 2)), QUERY, 10)
        assert hits.ids.tolist() == [list(range(9))]
        assert distributed.search(zero_codes(0, 2), QUERY, 1).ids.shape == (1, 0)


def test_collect_keeps_the_model_digest(X: FloatArray, remote: da.Array, itq: ITQ) -> None:
    with dask.config.set(scheduler="synchronous"):
        codes = distributed.encode(itq, remote[:100])
        collected = distributed.collect(codes, 20, model_digest=itq.model_digest)
    assert collected.model_digest == itq.encode(X[:1]).model_digest


def test_encode_needs_a_fitted_hasher(remote: da.Array) -> None:
    with pytest.raises(NotFittedError):
        distributed.encode(ITQ(20), remote)


def test_search_without_queries(client: Client, remote: da.Array, itq: ITQ) -> None:
    nothing = itq.encode(np.zeros((1, 24)))[:0]
    hits = distributed.search(distributed.encode(itq, remote), nothing, 3)
    assert hits.ids.shape == hits.distances.shape == (0, 3)


def test_missing_dask_raises() -> None:
    code = "import sys; sys.modules['dask'] = None; import bitfold.distributed"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert 'pip install "bitfold[dask]"' in done.stderr.splitlines()[-1]


Kill = Callable[[], threading.Thread]


class Killer:
    """A progress callback that kills a worker as soon as a stage has done some steps."""

    def __init__(self, kill: Kill, stage: str, done: int) -> None:
        self.kill, self.stage, self.done = kill, stage, done
        self.thread: threading.Thread | None = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage == self.stage and done >= self.done and self.thread is None:
            self.thread = self.kill()

    def assert_killed(self) -> None:
        assert self.thread is not None
        self.thread.join(timeout=60)
        assert not self.thread.is_alive()


def test_fit_survives_the_death_of_a_worker(
    client: Client, slow: da.Array, kill_busy_worker: Kill
) -> None:
    """Rows, seeding states and half a pass are lost."""
    base = distributed.DaskKMeansBase(30, max_iter=8)
    hasher = bf.IMH(8, base=base, embedding="pca", random_state=0)
    with dask.config.set(scheduler="synchronous"):
        expected = distributed.fit(clone(hasher), slow)
    killer = Killer(kill_busy_worker, "base set", 3)
    found = distributed.fit(hasher, slow.persist(), progress=killer)
    killer.assert_killed()
    for key in expected._fitted_arrays:
        assert np.array_equal(getattr(expected, key), getattr(found, key)), key


def test_pass_over_the_rows_survives_the_death_of_a_worker(
    client: Client, X: FloatArray, slow: da.Array, kill_busy_worker: Kill
) -> None:
    """Parts of the covariance are lost."""
    killer = Killer(kill_busy_worker, "mean", 6000)
    found = distributed.fit(PCAH(20), slow, progress=killer)
    killer.assert_killed()
    assert np.array_equal(found.directions_, PCAH(20).fit(X).directions_)


def test_collect_survives_the_death_of_a_worker(
    client: Client, X: FloatArray, slow: da.Array, kill_busy_worker: Kill
) -> None:
    hasher = ITQ(20, random_state=0).fit(X)
    codes = distributed.encode(hasher, slow)
    killer = kill_busy_worker()
    assert distributed.collect(codes, 20) == hasher.encode(X)
    killer.join(timeout=60)
    assert not killer.is_alive()
    client.cluster.scale(2)  # on a busy machine, Dask may close the worker that it restarts
    client.wait_for_workers(2, timeout=60)
    assert np.array_equal(codes.compute(), hasher.encode(X).packed)
