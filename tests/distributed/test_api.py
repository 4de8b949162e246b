"""fit, encode, collect and search on a cluster: the same answers as in memory."""

from __future__ import annotations

import subprocess
import sys
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
from bitfold.distributed._rows import RemoteMatrix
from bitfold.embedding import TSNE
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
def test_fit_and_encode_give_what_they_give_in_memory(
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


LABELED = [
    CCAITQ(random_state=0),
    LDAHash(random_state=0),
    bf.SupervisedIMH(base=bf.KMeansBase(40), random_state=0),
]


@pytest.mark.parametrize("hasher", LABELED, ids=lambda hasher: type(hasher).__name__)
def test_a_hasher_that_uses_labels_takes_them_in_memory_or_from_dask(
    hasher: Hasher, client: Client, X: FloatArray, remote: da.Array
) -> None:
    y = (X[:, 0] > 3).astype(int) + 2 * (X[:, 1] > 3)
    y[::7] = -1
    here = clone(hasher).fit(X, y)
    assert_same(here, distributed.fit(clone(hasher), remote, y))
    in_blocks = da.from_array(y, chunks=2000)
    assert_same(here, distributed.fit(clone(hasher), remote, in_blocks))


def test_what_looks_at_all_rows_does_so_on_the_workers(
    client: Client, remote: da.Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the client come samples, by row number, and results; never the rows one after another."""

    def fetch(self: RemoteMatrix, start: int, stop: int) -> FloatArray:
        raise AssertionError(f"rows {start} to {stop} were fetched")

    monkeypatch.setattr(RemoteMatrix, "_run", fetch)
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
def test_the_threads_of_blas_change_no_bit(length: int, X: FloatArray, remote: da.Array) -> None:
    """Without a cluster the passes run in this process, whose BLAS has all its threads."""
    here = PCAH(20).fit(X[:length])
    with dask.config.set(scheduler="synchronous"):
        assert_same(here, distributed.fit(PCAH(20), remote[:length]))


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float64])
def test_numbers_of_any_type_give_the_bytes_of_memory(
    dtype: type, client: Client, X: FloatArray
) -> None:
    numbers: NDArray[Any] = (X * 5 + 100).clip(0, 255).astype(dtype)
    remote = da.from_array(numbers, chunks=(1999, 24))
    hasher = distributed.fit(ITQ(20, random_state=0), remote)
    assert_same(ITQ(20, random_state=0).fit(numbers), hasher)
    codes = distributed.encode(hasher, remote)
    assert np.array_equal(codes.compute(), hasher.encode(numbers).packed)


def test_everything_works_without_a_cluster(X: FloatArray, remote: da.Array, itq: ITQ) -> None:
    seen: list[tuple[str, int, int]] = []
    hasher = distributed.fit(
        ITQ(20, random_state=0), remote, progress=lambda *told: seen.append(told)
    )
    assert_same(itq, hasher)
    assert ("mean", 6000, 6000) in seen
    assert ("rows", 6000, 6000) in seen  # a pass over all of them, for the covariance
    codes = distributed.encode(hasher, remote)
    assert distributed.collect(codes, 20) == itq.encode(X)
    queries = itq.encode(X[:3])
    found = distributed.search(codes, queries, 5, progress=lambda *told: seen.append(told))
    assert np.array_equal(found.ids, to_index(itq, X).search(queries, 5).ids)
    assert seen[-1] == ("search", 5, 5)


def test_encoding_reads_nothing_before_it_is_computed(itq: ITQ) -> None:
    def read(block: FloatArray) -> FloatArray:
        raise AssertionError("read")

    remote = da.zeros((100, 24), chunks=(10, 24), dtype=np.float32).map_blocks(
        read, dtype=np.float32, meta=np.empty((0, 0), np.float32)
    )
    codes = distributed.encode(itq, remote)
    with pytest.raises(AssertionError, match="read"):
        codes.compute(scheduler="synchronous")


def test_the_model_is_sent_to_a_worker_once(client: Client, remote: da.Array, itq: ITQ) -> None:
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
    # Once from the graph, on one worker, which hands it to the other.
    assert sum(client.run(arrivals).values()) <= 3


def test_collecting_tells_how_far_it_is(
    client: Client, X: FloatArray, remote: da.Array, itq: ITQ
) -> None:
    seen: list[tuple[str, int, int]] = []
    codes = distributed.encode(itq, remote)
    collected = distributed.collect(codes, 20, progress=lambda *told: seen.append(told))
    assert collected == itq.encode(X)
    assert [done for _, done, _ in seen] == [1100, 2000, 2000, 4500, 4501, 6000]
    assert {(stage, total) for stage, _, total in seen} == {("encode", 6000)}


def to_index(hasher: Hasher, X: FloatArray) -> bf.HammingIndex:
    index = bf.HammingIndex(hasher.n_bits_)
    index.add(hasher.encode(X))
    return index


@pytest.mark.parametrize("k", [1, 10, 300, 6000])
def test_searching_blocks_is_searching_all(
    k: int, client: Client, X: FloatArray, remote: da.Array
) -> None:
    # 5 bits for 6,000 rows: nearly every answer is a tie across blocks.
    hasher = LSH(5, random_state=0).fit(X)
    codes = distributed.encode(hasher, remote)
    queries = hasher.encode(X[:50])
    seen: list[tuple[str, int, int]] = []
    found = distributed.search(codes, queries, k, progress=lambda *told: seen.append(told))
    expected = to_index(hasher, X).search(queries, k)
    assert np.array_equal(found.ids, expected.ids)
    assert np.array_equal(found.distances, expected.distances)
    assert found.ids.dtype == expected.ids.dtype
    assert found.distances.dtype == expected.distances.dtype
    assert seen[-1] == ("search", 5, 5)


def test_searching_many_blocks_merges_in_a_tree(client: Client, X: FloatArray) -> None:
    hasher = LSH(12, random_state=0).fit(X)
    codes = da.from_array(hasher.encode(X).packed, chunks=(70, 2))
    queries = hasher.encode(X[:9])
    found = distributed.search(codes, queries, 90)
    expected = to_index(hasher, X).search(queries, 90)
    assert np.array_equal(found.ids, expected.ids)
    assert np.array_equal(found.distances, expected.distances)


def test_unknown_lengths_are_counted_and_the_input_stays_as_it_was(
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


def test_a_fit_forgets_the_column_names_of_a_former_one(client: Client, remote: da.Array) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.random.default_rng(0).random((50, 24)))
    frame.columns = [f"c{i}" for i in range(24)]
    hasher = ITQ(20, random_state=0).fit(frame)
    assert not hasattr(distributed.fit(hasher, remote), "feature_names_in_")


def spoiled(array: da.Array, row: int, value: float) -> da.Array:
    numbers = da.arange(array.shape[0], chunks=array.chunks[0])[:, None]
    return da.where(numbers == row, np.float32(value), array)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_not_finite_is_named_by_its_row(
    value: float, client: Client, remote: da.Array, itq: ITQ
) -> None:
    what = "NaN" if np.isnan(value) else "infinity or a value too large for float32"
    sentence = f"^X of ITQ must be finite, got {what} in row 4711\\.$"
    bad = spoiled(remote, 4711, value)
    with pytest.raises(ValueError, match=sentence):
        distributed.fit(ITQ(20), bad)
    with pytest.raises(ValueError, match=sentence):
        distributed.encode(itq, bad).compute()
    with pytest.raises(ValueError, match=sentence):
        distributed.collect(distributed.encode(itq, bad), 20)


def test_where_lengths_are_unknown_the_row_is_named_in_its_block(
    client: Client, remote: da.Array, itq: ITQ
) -> None:
    bad = spoiled(remote, 4711, np.nan)
    bad = bad[bad[:, 0] != 0]
    sentence = r"^Block 5 of X of ITQ must be finite, got NaN in row 210\.$"
    with pytest.raises(ValueError, match=sentence):
        distributed.encode(itq, bad).compute()


def test_distances_beyond_float32_are_refused(client: Client, remote: da.Array) -> None:
    with pytest.raises(ValueError, match=r"^X of ITQ must be within .* got 1e\+30 in row 5\.$"):
        distributed.fit(ITQ(20), spoiled(remote, 5, 1e30))


def bytes_of(*shape: int, chunks: Any = "auto") -> da.Array:
    return da.zeros(shape, dtype=np.uint8, chunks=chunks)


def untyped(value: Any) -> Any:
    return value


QUERY = bf.Codes(np.zeros((1, 2), np.uint8), 16)


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (
            lambda h, X: distributed.encode(h, X[:, :23]),
            ValueError,
            "X has 23 features, but ITQ is expecting 24 features as input.",
        ),
        (
            lambda h, X: distributed.fit(ITQ(30), X),
            ValueError,
            "n_bits of ITQ must be at most n_features=24, got 30.",
        ),
        (
            lambda h, X: distributed.fit(ITQ(), X[:1]),
            ValueError,
            "X of ITQ has 1 sample(s) (shape=(1, 24)) while a minimum of 2 is required.",
        ),
        (
            lambda h, X: distributed.fit(ITQ(), X[X[:, 0] > 1e9]),
            ValueError,
            "X of ITQ has 0 sample(s) (shape=(0, 24)) while a minimum of 2 is required.",
        ),
        (
            lambda h, X: distributed.fit(ITQ(), X[:, 0]),
            ValueError,
            "X of ITQ must be 2-dimensional (rows, features), got shape (6000,). "
            "Reshape your data with X.reshape(1, -1) if it is one row.",
        ),
        (
            lambda h, X: distributed.fit(ITQ(), X.astype(complex)),
            ValueError,
            "Complex data not supported: X of ITQ must be real, got dtype complex128.",
        ),
        (
            lambda h, X: distributed.fit(ITQ(), X.astype(object)),
            TypeError,
            "X of ITQ must hold numbers, got dtype object.",
        ),
        (
            lambda h, X: distributed.fit(ITQ(), X.map_blocks(csr_array, meta=csr_array((0, 0)))),
            TypeError,
            "X of ITQ must have blocks of numpy arrays, got csr_array.",
        ),
        (
            lambda h, X: distributed.fit(ITQ(), X[:, X[0] > 3]),
            ValueError,
            "X of ITQ must be of a known number of features, got an unknown one.",
        ),
        (
            lambda h, X: distributed.fit(ITQ(), np.zeros((5, 3))),
            TypeError,
            "X of ITQ must be a Dask array or a column of a Dask DataFrame, got numpy.ndarray.",
        ),
        (
            lambda h, X: distributed.fit(untyped("itq"), X),
            TypeError,
            "hasher must be a hasher of bitfold, got str.",
        ),
        (
            lambda h, X: distributed.search(bytes_of(9, 2), QUERY, 10),
            ValueError,
            "k of search must be at most the 9 codes, got 10.",
        ),
        (
            lambda h, X: distributed.search(bytes_of(0, 2), QUERY, 1),
            ValueError,
            "k of search must be at most the 0 codes, got 1.",
        ),
        (
            lambda h, X: distributed.search(bytes_of(9, 3), QUERY, 1),
            ValueError,
            "codes of search must be uint8 of shape (n, 2), got uint8 of shape (9, 3).",
        ),
        (
            lambda h, X: distributed.search(QUERY, QUERY, 1),
            TypeError,
            "codes of search must be a Dask array, got Codes.",
        ),
        (
            lambda h, X: distributed.search(bytes_of(9, 2), untyped(QUERY.packed), 1),
            TypeError,
            "queries must be bitfold.Codes, got ndarray.",
        ),
        (
            lambda h, X: distributed.collect(X, 20),
            ValueError,
            "codes of collect must be uint8 of shape (n, 3), got float32 of shape (6000, 24).",
        ),
        (
            lambda h, X: distributed.collect(bytes_of(9, 2, chunks=(9, 1)) + 1, 15),
            ValueError,
            "packed of Codes must be zero beyond bit 15, got a padding bit set.",
        ),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(
    call: Any, error: type[Exception], sentence: str, remote: da.Array, itq: ITQ
) -> None:
    with pytest.raises(error) as caught, dask.config.set(scheduler="synchronous"):
        call(itq, remote)
    assert str(caught.value) == sentence


def test_a_hasher_that_was_not_fitted_cannot_encode(remote: da.Array) -> None:
    with pytest.raises(NotFittedError):
        distributed.encode(ITQ(20), remote)


def test_without_queries_there_are_no_hits(client: Client, remote: da.Array, itq: ITQ) -> None:
    nothing = itq.encode(np.zeros((1, 24)))[:0]
    hits = distributed.search(distributed.encode(itq, remote), nothing, 3)
    assert hits.ids.shape == hits.distances.shape == (0, 3)


def test_without_dask_the_error_says_what_to_install() -> None:
    code = "import sys; sys.modules['dask'] = None; import bitfold.distributed"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    sentence = 'ImportError: bitfold.distributed needs Dask: pip install "bitfold[dask]".'
    assert done.stderr.splitlines()[-1] == sentence
