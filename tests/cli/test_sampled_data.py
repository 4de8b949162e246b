"""Data on which methods are measured: samples of files and of named data sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import typer

from bitfold._progress import ignore_progress
from bitfold.cli._sampled_data import DataRequest, describe_sample
from bitfold.errors import DataError

X = np.random.default_rng(0).standard_normal((400, 3)).astype(np.float32)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, Path]:
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", np.arange(400) % 4 - 1)
    return str(tmp_path / "x.npy"), tmp_path / "y.npy"


def test_queries_are_held_out_of_a_file(files: tuple[str, Path]) -> None:
    request = DataRequest.create(files[0], None, None, 100, False)
    assert (request.n_queries, request.is_labeled, request.is_file) == (40, False, True)
    data, n_available, exact = request.load(ignore_progress)
    assert (len(data.database), len(data.queries), n_available) == (100, 40, 360)
    taken = {row.tobytes() for row in data.database} | {row.tobytes() for row in data.queries}
    assert len(taken) == 140
    assert taken <= {row.tobytes() for row in X}
    assert len(exact.ids) == 40
    again = request.load(ignore_progress).dataset
    assert np.array_equal(again.database, data.database)


def test_queries_have_labels(files: tuple[str, Path]) -> None:
    request = DataRequest.create(*files, 200, 0, False)
    data = request.load(ignore_progress).dataset
    assert 100 < len(data.queries) < 200  # a quarter of the rows has no label
    assert (np.asarray(data.query_labels) >= 0).all()
    np.save(files[1], np.full(400, -1))
    with pytest.raises(DataError, match="No query has a label"):
        DataRequest.create(*files, 20, 0, False).load(ignore_progress)


def test_cosine_scales_rows(files: tuple[str, Path]) -> None:
    data = DataRequest.create(files[0], None, 10, 0, True).load(ignore_progress).dataset
    assert np.allclose(np.linalg.norm(data.database, axis=1), 1)


def test_named_data_sets_have_their_own_labels() -> None:
    request = DataRequest.create("digits", None, 20, 50, False)
    assert (request.is_file, request.relevant) == (False, "items with the same label")
    with pytest.raises(typer.BadParameter, match="--labels cannot be used"):
        DataRequest.create("digits", Path("y.npy"), None, 0, False)
    with pytest.raises(typer.BadParameter, match=r"neither a file .*'?digits"):
        DataRequest.create("no.npy", None, None, 0, False)


def test_sample_in_words() -> None:
    assert describe_sample(10, 2000) == "a sample of 10 of 2,000 rows"
    assert describe_sample(2000, 2000) == "all 2,000 rows"
