"""Records of several seeds as rows."""

from __future__ import annotations

from reproduction.records import Case, RunRecords
from reproduction.which_code.contenders import CONTENDERS
from reproduction.which_code.summary import find_best, find_extent, list_unlabeled, summarize
from tests.reproduction.which_code.records import make_records


def test_rows_are_means_and_best_times_over_seeds() -> None:
    rows = {row.title: row for row in summarize(make_records(), "text")}
    number = [c.title for c in CONTENDERS].index("ITQ(128)")
    row = rows["`ITQ(128)`, Hamming"]
    assert (row.n_seeds, row.n_bytes) == (2, 16)
    assert row.values["map"] == 10 + 5 * number + 0.5
    assert row.fit_seconds == row.values["search_ms"] == 10 + 5 * number
    assert rows["`ITQ(128)`, asymmetric"].values["map"] == row.values["map"] + 1
    assert rows["faiss RaBitQ"].n_seeds == 1


def test_rows_are_in_the_order_of_the_contenders() -> None:
    rows = summarize(reversed(make_records()), "text")
    assert list(dict.fromkeys(row.contender for row in rows)) == list(CONTENDERS)
    assert [row.is_exact for row in rows].count(True) == 1
    assert sum(row.is_quantizer for row in rows) == 3


def test_other_data_measures_and_errors_are_left_out() -> None:
    records = [
        RunRecords().add(Case("text", "ITQ", 64), {"map": 1.0}),
        RunRecords().add(Case("text", "ITQ", 64, measure="which-code"), {"error": "n_bits"}),
        *make_records(("mnist",)),
    ]
    assert summarize(records, "text") == []
    assert find_extent(records, "mnist") == (58979, 256, 500)


def test_best_row_keeps_to_the_size_and_needs_no_labels() -> None:
    rows = summarize(make_records(), "text")
    found = {n: find_best(rows, "map", n) for n in (4, 8, 16, 32, 2000)}
    titles = {n: row and row.title for n, row in found.items()}
    assert titles == {
        4: None, 8: "`ITQ(64)`, asymmetric", 16: "faiss PCA64,RaBitQ",
        32: "faiss PCA64,RaBitQ", 2000: "faiss RaBitQ",
    }  # fmt: skip
    perfect = rows[0]._replace(values=dict.fromkeys(rows[0].values, 100.0))
    assert find_best([perfect, rows[1]], "map", 2000) is rows[1]  # the exact vectors are not a code
    assert not any(row.ranking == "coarse bits" for row in list_unlabeled(rows))
