"""Collections: create, open, search, add, remove, rebuild, compact."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.collection.conftest import create, exact_distances, make_metadata, make_vectors
from tests.platforms import posix_only
from tests.search.disk.conftest import fork, wait_for

import bitfold as bf
from bitfold.errors import DataError, FormatError, LockedError, ParameterError
from bitfold.hashers import ITQ, LSH, SupervisedIMH


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize(
    ("keep", "tolerance"), [("float32", 1e-5), ("float16", 2e-3), ("int8", 0.05)]
)
def test_distances_are_those_to_the_kept_vectors(
    tmp_path: Path, metric: str, keep: str, tolerance: float
) -> None:
    X, Q = make_vectors(60), make_vectors(5, seed=1)
    with create(tmp_path / "c", keep_vectors=keep, metric=metric) as c:
        hits = c.search(Q, k=60, n_candidates=60)
        exact = exact_distances(Q, X, metric)
        assert np.allclose(hits.distances, np.take_along_axis(exact, hits.ids, 1), atol=tolerance)
        # Exact for the vectors as they are kept, and in their order.
        kept = exact_distances(Q, c.vectors(), metric)
        assert np.allclose(hits.distances, np.sort(kept, axis=1), atol=1e-5)
        assert hits.distances.dtype == np.float32


def test_codes_find_candidates_and_vectors_order_them(tmp_path: Path) -> None:
    X = make_vectors(500)
    with bf.Collection.create(tmp_path / "c", X, hasher=LSH(64, random_state=0)) as c:
        hits = c.search(X[:50], k=5, n_candidates=40)
        assert hits.ids[:, 0].tolist() == list(range(50))
        exact = np.argsort(exact_distances(X[:50], X, "euclidean"), axis=1)[:, :5]
        found = [len(set(a) & set(b)) for a, b in zip(hits.ids, exact, strict=True)]
        assert 3 < np.mean(found) < 5
        everything = c.search(X[:50], k=5, n_candidates=500)
        assert (everything.ids == exact).all()


def test_without_vectors_distances_are_asymmetric(tmp_path: Path) -> None:
    X, hasher = make_vectors(60), LSH(32, random_state=0).fit(make_vectors(60))
    with create(tmp_path / "c", keep_vectors=False, hasher=hasher) as c:
        index = bf.HammingIndex(32)
        index.add(hasher.encode(X))
        expected = index.search(hasher.encode(X[:4]), 7, query_embedding=hasher.embed(X[:4]))
        hits = c.search(X[:4], 7)
        assert (hits.ids == expected.ids).all()
        assert (hits.distances == expected.distances).all()
        assert not list((tmp_path / "c").glob("vectors*"))
        with pytest.raises(DataError, match="keeps no vectors"):
            c.rebuild()


@pytest.mark.parametrize("n", [15, 60])
def test_searching_among_some_ids(tmp_path: Path, n: int) -> None:
    X, names = make_vectors(n), [f"item {i}" for i in range(n)]
    with create(tmp_path / "c", n, ids=names, keep_vectors="float32") as c:
        c.remove(names[:2])
        some = names[-1:1:-3]
        hits = c.search(X[:4], k=n, among=some)
        exact = exact_distances(X[:4], X[[names.index(item) for item in some]], "euclidean")
        assert (hits.ids == np.array(some, object)[np.argsort(exact, axis=1)]).all()
        late = c.ids("year >= 2005").tolist()
        both = c.search(X[:1], k=n, among=some, where="year >= 2005")
        assert set(both.ids[0]) == set(some) & set(late) != set()
        assert c.search(X[:1], among=[]).ids.shape == (1, 0)
        with pytest.raises(DataError, match="item 0"):
            c.search(X[:1], among=["item 0"])
        with pytest.raises(DataError, match=r"among of search.*item 5"):
            c.search(X[:1], among=["item 5", "item 6", "item 5"])
        with pytest.raises(ParameterError, match="among of search"):
            c.search(X[:1], among=[1.5])


def test_ids_that_meet_a_condition(tmp_path: Path) -> None:
    with create(tmp_path / "c") as c:
        c.remove([3])
        years = make_metadata(60)["year"]
        expected = [i for i in range(60) if (years[i] or 0) >= 2020 and i != 3]
        assert c.ids("year >= 2020").tolist() == expected
        assert c.ids([("year", "=", 1)]).tolist() == []
        assert len(c.ids()) == 59


def test_a_collection_grows_from_nothing(tmp_path: Path) -> None:
    X = make_vectors(60)
    with bf.Collection.create(tmp_path / "c", keep_vectors=False, hasher=LSH(16)) as c:
        assert (len(c), c.n_bits, c.search(X[:2]).ids.shape) == (0, None, (2, 0))
        c.add(X[:10])
        assert "no codes yet" in repr(c)
        assert c.search(X[:2], k=1).ids.tolist() == [[0], [1]]
        c.remove([4])
        c.add(X[10:])
        assert (len(c), c.n_bits) == (59, 16)
        assert not list((tmp_path / "c").glob("vectors*"))
        c.add(X[:1])
        assert c.search(X[:1], k=2).ids.tolist() == [[0, 60]]
    with bf.Collection.open(tmp_path / "c") as c:
        assert c.search(X[:1], k=2).ids.tolist() == [[0, 60]]


def test_an_empty_collection_declares_its_columns(tmp_path: Path) -> None:
    with bf.Collection.create(tmp_path / "c", n_features=6, metadata={"year": int}) as c:
        with pytest.raises(DataError, match="features"):
            c.add(make_vectors(2, 5))
        with pytest.raises(ParameterError, match="'yeer'"):
            c.add(make_vectors(2), metadata={"yeer": [1, 2]})
        c.add(make_vectors(2), metadata={"year": [1, 2]})
        assert c.metadata([1, 0]) == {"year": [2, 1]}
    with pytest.raises(DataError, match="Without X"):
        bf.Collection.create(tmp_path / "d", metadata={"year": [1]})


@pytest.mark.parametrize("kind", ["rows", "integers", "strings"])
def test_ids(tmp_path: Path, kind: str) -> None:
    X = make_vectors(40)
    ids: Any = {
        "rows": list(range(40)),
        "integers": [7 * i - 50 for i in range(40)],
        "strings": [f"ä{i}" for i in range(40)],
    }[kind]
    with create(tmp_path / "c", 40, ids=None if kind == "rows" else ids) as c:
        assert c.ids().tolist() == ids
        assert c.search(X, k=1).ids[:, 0].tolist() == ids
        c.remove([ids[5], ids[30]])
        with pytest.raises(DataError, match=str(ids[5])):
            c.remove([ids[6], ids[5]])
        left = [item for item in ids if item not in (ids[5], ids[30])]
        c.compact()
        assert c.ids().tolist() == left
        c.add(X[5:6], ids=[ids[5]])
        assert c.search(X[5:6], k=1).ids.tolist() == [[ids[5]]]
        assert c.metadata([ids[6]])["kind"] == [make_metadata(40)["kind"][6]]
        assert c.vectors([ids[6]]).shape == (1, 6)
    with bf.Collection.open(tmp_path / "c") as c:
        assert c.ids().tolist() == [*left, ids[5]]
        c.verify()


def test_rows_as_ids_are_not_stored(tmp_path: Path) -> None:
    X = make_vectors(60)
    with bf.Collection.create(tmp_path / "c", X[:40], ids=range(40), hasher=LSH(8)) as c:
        c.add(X[40:50])
        assert not list((tmp_path / "c").glob("ids*"))
        c.add(X[50:], ids=range(100, 110))
        assert (tmp_path / "c" / "ids-2.bin").stat().st_size == 80
        c.add(X[:1])
        assert c.ids().tolist() == [*range(50), *range(100, 111)]
        with pytest.raises(DataError, match="duplicate: 3"):
            c.add(X[:1], ids=[3])
        c.remove([3])
        c.add(X[3:4], ids=[3])
        assert c.search(X[3:4], k=1).ids.tolist() == [[3]]


def test_wrong_ids_change_nothing(tmp_path: Path) -> None:
    X = make_vectors(60)
    with create(
        tmp_path / "c", ids=list("abcdefghij" * 6)[:10] + [f"x{i}" for i in range(50)]
    ) as c:
        for ids, reason in (
            (["new", "new"], "duplicate: new"),
            (["new", "a"], "duplicate: a"),
            ([1, 2], "strings"),
            (None, "strings"),
            (["only one"], "one per row"),
            (["one", "two", "three"], "one per row"),
            (["one", 2.5], "ids"),
            (["", "b\0"], "ids"),
        ):
            with pytest.raises((DataError, ParameterError), match=reason):
                c.add(X[:2], ids=ids)
            assert len(c) == 60
        c.add(X[:2], ids=["new", "newer"])
        assert c.metadata(["newer"])["year"] == [None]


def test_wrong_metadata_and_vectors_change_nothing(tmp_path: Path) -> None:
    X = make_vectors(60)
    with create(tmp_path / "c") as c:
        size = c.verify().n_bytes
        wrong: list[tuple[Any, Any, str]] = [
            (X[:2], {"year": ["a", "b"]}, "'year'.*int"),
            (X[:2], {"unknown": [1, 2]}, "'unknown'"),
            (X[:2], {"year": [1]}, "one value for each"),
            (X[:2], {"year": [1, 2, 3]}, "more rows"),
            (X[:2, :3], None, "features"),
            (np.full((1, 6), np.nan), None, "NaN"),
            (np.full((1, 6), 1e30), None, "float32"),
            (np.full((1, 6), 1e6), None, "float16"),
            (X[0], None, "2-dimensional"),
        ]
        for vectors, metadata, reason in wrong:
            with pytest.raises((DataError, ParameterError), match=reason):
                c.add(vectors, metadata=metadata)
        assert (len(c), c.verify().n_bytes) == (60, size)
        with pytest.raises(DataError, match="features"):
            c.search(X[:1, :3])
        with pytest.raises(ParameterError, match="k of search"):
            c.search(X[:1], k=0)


def test_settings(tmp_path: Path) -> None:
    X = make_vectors(60)
    with bf.Collection.create(tmp_path / "a", X, hasher=LSH(8, normalize=True)) as c:
        assert c.metric == "cosine"
    hasher = LSH(8)
    with bf.Collection.create(tmp_path / "b", X, hasher=hasher, metric="cosine") as c:
        assert c.hasher is not None
        assert c.hasher.normalize_
        assert not hasattr(hasher, "n_bits_")
    for options, reason in (
        ({"hasher": LSH(8, normalize=True), "metric": "euclidean"}, "metric.*normalize"),
        ({"hasher": LSH(8).fit(X), "metric": "cosine"}, "normalize=True"),
        ({"hasher": SupervisedIMH()}, "labels"),
        ({"hasher": "itq"}, "hasher"),
        ({"metric": "manhattan"}, "metric"),
        ({"keep_vectors": True}, "keep_vectors"),
        ({"n_features": 7}, "n_features"),
        ({"hasher": ITQ(64)}, "n_bits of ITQ"),
    ):
        with pytest.raises(ParameterError, match=reason):
            bf.Collection.create(tmp_path / "new", X, **options)
        assert not (tmp_path / "new").exists()


def test_rebuild_and_compact(tmp_path: Path) -> None:
    X = make_vectors(60)
    with create(tmp_path / "c", keep_vectors="float32") as c:
        c.remove(range(0, 60, 3))
        before = c.search(X, k=60)
        size = c.verify().n_bytes
        c.rebuild(ITQ(4, random_state=0))
        assert "4 bits" in repr(c)
        c.compact()
        after = c.search(X, k=60)
        assert (before.ids == after.ids).all()
        assert (before.distances == after.distances).all()
        assert c.verify().n_bytes < size
        c.rebuild(LSH(16, random_state=1).fit(X))
        assert "16 bits" in repr(c)
        with pytest.raises(ParameterError, match="normalize"):
            c.rebuild(LSH(8, normalize=True).fit(X))
        c.remove(c.ids()[:30])
        c.rebuild()
        assert (c.n_bits, len(c)) == (None, 10)
        assert (c.search(X[:3], k=3).ids == c.search(X[:3], k=10).ids[:, :3]).all()
    with bf.Collection.open(tmp_path / "c", "a") as c:
        c.add(X)
        assert c.n_bits == 16


@pytest.mark.parametrize("width", [None, 6])
def test_an_empty_collection_with_a_fitted_hasher(tmp_path: Path, width: int | None) -> None:
    X = make_vectors(60)
    hasher = LSH(16, random_state=0).fit(X)
    bf.Collection.create(tmp_path / "c", hasher=hasher, n_features=width).close()
    with bf.Collection.open(tmp_path / "c", "a") as c:
        assert (c.n_features, c.n_bits, c.search(X[:2]).ids.shape) == (6, 16, (2, 0))
        c.add(X[:3])
        assert c.search(X[:1], k=1).ids.tolist() == [[0]]


def test_a_fitted_hasher_must_have_the_width_of_the_vectors(tmp_path: Path) -> None:
    hasher = LSH(16).fit(make_vectors(60))
    with pytest.raises(ParameterError, match=r"hasher.*7 features.*6"):
        bf.Collection.create(tmp_path / "c", hasher=hasher, n_features=7)
    assert not (tmp_path / "c").exists()
    with bf.Collection.create(tmp_path / "c", n_features=7) as c:
        with pytest.raises(ParameterError, match=r"hasher.*7 features.*6"):
            c.rebuild(hasher)
        assert c.n_bits is None


def test_rebuild_after_everything_was_removed(tmp_path: Path) -> None:
    X = make_vectors(60)
    with create(tmp_path / "c", keep_vectors=False) as c:
        c.remove(range(60))
        c.rebuild()
        assert (len(c), c.n_bits) == (0, None)
        c.add(X[:3])
        assert c.ids().tolist() == [60, 61, 62]
        c.verify()
    with bf.Collection.open(tmp_path / "c") as c:
        assert c.search(X[:1], k=1).ids.tolist() == [[60]]


def test_replace(tmp_path: Path) -> None:
    X = make_vectors(60)
    create(tmp_path / "c").close()
    with pytest.raises(FileExistsError, match="replace=True"):
        create(tmp_path / "c")
    with pytest.raises(DataError, match="NaN"):
        bf.Collection.create(tmp_path / "c", X * np.nan, replace=True)
    reader = bf.Collection.open(tmp_path / "c")
    with bf.Collection.create(tmp_path / "c", X[:30], replace=True, hasher=LSH(8)) as c:
        assert (len(c), c.columns) == (30, {})
        assert len(list((tmp_path / "c").glob("*.bin"))) == 2
    assert len(reader) == 60
    assert reader.search(X[:1], k=1).ids.tolist() == [[0]]
    reader.refresh()
    assert len(reader) == 30


def test_a_reader_survives_compaction_by_another(tmp_path: Path) -> None:
    writer = create(tmp_path / "c", ids=[f"i{i}" for i in range(60)])
    reader = bf.Collection.open(tmp_path / "c")
    writer.remove(["i0"])
    assert reader.search(make_vectors(1), k=1, where="year >= 2000").ids.tolist() == [["i0"]]
    assert len(reader) == 60
    writer.compact()
    assert reader.search(make_vectors(1), k=1, where="year >= 2000").ids.tolist() != [["i0"]]
    assert len(reader) == 59
    writer.close()


def test_one_writer(tmp_path: Path) -> None:
    with create(tmp_path / "c") as c:
        with pytest.raises(LockedError, match="open for writing"):
            bf.Collection.open(tmp_path / "c", "a")
        with pytest.raises(LockedError):
            create(tmp_path / "c", replace=True)
        reader = bf.Collection.open(tmp_path / "c")
        with pytest.raises(PermissionError, match="mode 'a'"):
            reader.add(make_vectors(1))
        c.add(make_vectors(1))
    with pytest.raises(ValueError, match="closed"):
        c.add(make_vectors(1))
    c.close()
    bf.Collection.open(tmp_path / "c", "a").close()


@posix_only("forks")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_child_can_only_read(tmp_path: Path) -> None:
    with create(tmp_path / "c") as c:

        def write_in_child() -> None:
            assert c.search(make_vectors(1), k=1, where="year > 0").ids.tolist() == [[0]]
            with pytest.raises(LockedError, match="another process"):
                c.add(make_vectors(1))

        assert wait_for(fork(write_in_child)) == 0
        c.add(make_vectors(1))


def test_threads_search_while_others_write(tmp_path: Path) -> None:
    X, problems = make_vectors(300), list[BaseException]()
    c = create(tmp_path / "c", 60, ids=[f"i{i}" for i in range(60)])

    def search() -> None:
        try:
            for _ in range(30):
                hits = c.search(X[:20], k=5, where="kind = 'news'")
                assert hits.ids.shape == (20, 5)
                names = set(hits.to_arrow(["kind"])["kind"].to_pylist())
                assert names <= {"news", None}
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for start in range(60, 300, 30):
        ids = [f"i{i}" for i in range(start, start + 30)]
        c.add(X[start : start + 30], ids=ids, metadata={"kind": ["news"] * 30})
        c.remove(ids[:10])
        if start % 60:
            c.compact()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(c) == 60 + 8 * 20
    c.verify()
    c.close()


def test_tables_of_hits(tmp_path: Path) -> None:
    frame = pd.DataFrame({"rank": [3, 4], "when": pd.to_datetime(["2020-01-01", None])})
    with bf.Collection.create(tmp_path / "c", make_vectors(2), metadata=frame) as c:
        hits = c.search(make_vectors(1), k=2)
        table = hits.to_pandas()
        assert table.columns.tolist() == ["query", "rank", "id", "distance"]
        assert hits.to_pandas(["rank"])["metadata_rank"].tolist() == [3, 4]
        arrow = hits.to_arrow(metadata=True)
        assert isinstance(arrow, pa.Table)
        assert arrow["when"].to_pylist()[1] is None
        assert str(arrow["when"].to_pylist()[0]) == "2020-01-01 00:00:00+00:00"
        with pytest.raises(ParameterError, match="'other'"):
            hits.to_arrow(["other"])
        c.remove([1])
        assert hits.to_arrow(["rank"])["metadata_rank"].to_pylist() == [3, None]
        assert len(hits) == 1


def test_streams_and_iterators(tmp_path: Path) -> None:
    X = make_vectors(60)
    blocks = [X[i : i + 7] for i in range(0, 60, 7)]
    with bf.Collection.create(tmp_path / "a", iter(blocks), hasher=LSH(16, random_state=0)) as c:
        assert (len(c), c.n_bits) == (60, 16)
        assert c.search(X[:3], k=1).ids.ravel().tolist() == [0, 1, 2]
        c.add(iter(blocks))
        assert len(c) == 120
        with pytest.raises(DataError, match="one per row"):
            c.add(iter(blocks), ids=range(1000, 1059))
        assert len(c) == 120


def test_what_is_not_a_collection(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        bf.Collection.open(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match=r"no collection\.sqlite"):
        bf.Collection.open(tmp_path / "empty")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    with pytest.raises(FileExistsError, match=r"thesis\.tex"):
        create(tmp_path / "full")
    with pytest.raises(FileNotFoundError, match="cannot be created"):
        create(tmp_path / "none" / "c")
    assert [file.name for file in (tmp_path / "full").iterdir()] == ["thesis.tex"]
    with create(tmp_path / "empty") as c:
        assert len(c) == 60
