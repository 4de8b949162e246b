"""The answers by job: their numbers and conclusions follow the records."""

from __future__ import annotations

from reproduction.which_code.jobs import (
    answer_buckets,
    answer_labels,
    answer_neighbors,
    answer_top_results,
)
from reproduction.which_code.summary import CodeRow, summarize
from tests.reproduction.which_code.records import make_records

ROWS = summarize(make_records(), "text")


def weaken_quantizers(rows: list[CodeRow]) -> list[CodeRow]:
    """Return the rows with quantizers that find nothing."""
    none = dict.fromkeys(rows[0].values, 0.0)
    return [row._replace(values=none) if row.is_quantizer else row for row in rows]


def test_top_results_name_the_best_code() -> None:
    text = answer_top_results({"A": ROWS, "B": ROWS})
    assert "reach 10.0 on A and 10.0 on B." in text
    assert "| 16 bytes | faiss PCA64,RaBitQ: **55.0** |" in text


def test_quantizers_are_recommended_where_they_lead() -> None:
    text = answer_neighbors({"A": ROWS, "B": weaken_quantizers(ROWS)})
    assert "lead: A in 16 bytes and A in 128 bytes.**" in text
    first, second = "faiss PCA64,RaBitQ finds 55.0 %", "`LSH(128)`, asymmetric finds 41.5 %"
    assert f"- A, at most 16 bytes: {first} and {second}." in text
    assert f"- B, at most 16 bytes: {second} and faiss PQ16x8 finds 0.0 %." in text


def test_quantizers_are_not_recommended_elsewhere() -> None:
    text = answer_neighbors({"B": weaken_quantizers(ROWS)})
    assert "Use faiss" not in text
    assert "find at least as many" in text


def test_buckets_have_a_table_per_data_set() -> None:
    text = answer_buckets({"A": ROWS, "B": ROWS})
    assert text.count("| `IMH(64)`, Hamming |") == 2
    assert "A:\n\n| code |" in text


def test_labels_are_compared_with_the_best_without() -> None:
    text = answer_labels({"A": ROWS})
    assert (
        "- A: `CCAITQ(64)`, asymmetric: P@10 66.5, MAP 66.5; `KSH(64)`, asymmetric: P@10 71.5, MAP "
        "71.5; `ITQ(64)`, asymmetric: P@10 31.5, MAP 31.5 (the best without labels)." in text
    )
