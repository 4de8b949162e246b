"""The answers of the page, by job; every number in them comes from records."""

from __future__ import annotations

from collections.abc import Iterator

from reproduction.which_code.measure import ASYMMETRIC
from reproduction.which_code.summary import CodeRow, find_best
from reproduction.which_code.tables import list_bucket_rows, make_best_table, make_bucket_table

RowsByData = dict[str, list[CodeRow]]
"""Rows by the name of the data set."""

BUDGETS = (8, 16, 40, 128)
"""Bytes per vector for which the best code is named."""

NEIGHBOR_BUDGETS = (16, 128)
"""Bytes per vector for which hashers and quantizers are compared by exact neighbors."""


def answer_top_results(rows: RowsByData) -> str:
    """Return what to use for good top results in few bytes."""
    exact = [
        f"{row.values['precision_10']:.1f} on {name}"
        for name, own in rows.items()
        for row in own
        if row.is_exact
    ]
    return f"""### I have embeddings and want good top results in N bytes

Look at P@10: how many of the first ten results are of the same kind as the query. The exact
vectors reach {_enumerate(exact)}. The best code by number of bytes:

{make_best_table(rows, "precision_10", BUDGETS)}
*Asymmetric* means that the query keeps its real values (`hasher.embed`) and only the stored side is
bits. It costs no memory, and about four times the time of a Hamming search among a million codes
([speed](benchmarks.md)). Prefer it unless the search runs where only Hamming distance is available.
"""


def answer_neighbors(rows: RowsByData) -> str:
    """Return what to use for the exact Euclidean neighbors, and who is best at it."""
    return f"""### I need the exact Euclidean neighbors

Look at recall@10: how many of the ten exact neighbors are among the first ten results. Quantizers
are made for this. {_name_leads(rows)}

{_list_lines(_compare_neighbors(rows))}
If you still have the vectors, on disk for example, rescore the first candidates by them
(`RerankByVectors`). Recall@10 after rescoring 100 candidates:

{make_best_table(rows, "rescored_100", BUDGETS)}"""


def answer_buckets(rows: RowsByData) -> str:
    """Return what to use for buckets and groups."""
    tables = "\n".join(
        f"{name}:\n\n{make_bucket_table(list_bucket_rows(own))}" for name, own in rows.items()
    )
    return f"""### I want buckets or groups

Use `IMH`, or the coarse bits of a `DualHasher`: `codes.prefix(hasher.n_coarse_bits_)`. Items of one
kind then share a code or differ in few bits, so that a lookup within radius 2 finds a group. Codes
that preserve distances rarely agree in nearly all bits: their lookups find little or nothing.
[Kind and order](kind-and-order.md) shows how the number of coarse bits matters.

{tables}"""


def answer_labels(rows: RowsByData) -> str:
    """Return what to use if there are labels."""
    return f"""### I have labels

If "similar" means "has the same label", learn the codes from labels with `FSDH`, alone or as the
coarse bits of a `DualHasher` ([codes from labels](labels.md)). Two other methods with 8 bytes per
vector, and the best code without labels:

{_list_lines(_compare_labels(rows))}
Codes from labels forget what the labels do not say: compare their recall@10 in the tables below.
"""


def _compare_neighbors(rows: RowsByData) -> Iterator[str]:
    """Yield one line per data set and size: who finds more of the exact neighbors."""
    for name, own in rows.items():
        for max_bytes in NEIGHBOR_BUDGETS:
            pair = [row for row in _find_rivals(own, max_bytes) if row]
            pair.sort(key=lambda row: -row.values["recall_10"])
            found = [f"{row.title} finds {row.values['recall_10']:.1f} %" for row in pair]
            yield f"{name}, at most {max_bytes} bytes: {_enumerate(found)}."


def _find_rivals(rows: list[CodeRow], max_bytes: int) -> tuple[CodeRow | None, CodeRow | None]:
    """Return the best hasher or sign bits, and the best quantizer, by recall."""
    binary = [row for row in rows if not row.is_quantizer]
    quantizers = [row for row in rows if row.is_quantizer]
    return (
        find_best(binary, "recall_10", max_bytes),
        find_best(quantizers, "recall_10", max_bytes),
    )


def _name_leads(rows: RowsByData) -> str:
    """Say where quantizers find more neighbors than binary codes of the same size."""
    leads = []
    for name, own in rows.items():
        for max_bytes in NEIGHBOR_BUDGETS:
            binary, quantizer = _find_rivals(own, max_bytes)
            if binary and quantizer and _recall(quantizer) > _recall(binary):
                leads.append(f"{name} in {max_bytes} bytes")
    if not leads:
        return "Here, binary codes of the same size find at least as many."
    return f"**Use faiss where its quantizers lead: {_enumerate(leads)}.**"


def _recall(row: CodeRow) -> float:
    return row.values["recall_10"]


def _compare_labels(rows: RowsByData) -> Iterator[str]:
    """Yield one line per data set: precision with labels and without."""
    for name, own in rows.items():
        labeled = [row for row in own if row.contender.uses_labels and row.ranking == ASYMMETRIC]
        best = find_best(own, "precision_10", 8)
        shown = [*labeled, *([best] if best else [])]
        parts = [
            f"{row.title}: P@10 {row.values['precision_10']:.1f}, MAP {row.values['map']:.1f}"
            for row in shown
        ]
        without = " (the best without labels)" if best else ""
        yield f"{name}: {'; '.join(parts)}{without}."


def _list_lines(lines: Iterator[str]) -> str:
    return "".join(f"- {line}\n" for line in lines)


def _enumerate(parts: list[str]) -> str:
    """Return parts joined by commas and "and"."""
    return " and ".join([*([", ".join(parts[:-1])] if parts[:-1] else []), parts[-1]])
