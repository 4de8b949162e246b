"""Records of all seeds, summarized as one row per code and ranking."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

from reproduction.records import Case
from reproduction.shared_types import Record
from reproduction.which_code.contenders import CONTENDERS, EXACT, MEASURE, Contender
from reproduction.which_code.measure import ASYMMETRIC, COARSE, DISTANCE, HAMMING


class CodeRow(NamedTuple):
    """A code with one of its rankings: means of its quality, and the best of its times.

    ``values`` has MAP, precision and recall in percent by the names that ``quality.py`` gives them.
    """

    contender: Contender
    ranking: str
    n_bytes: int
    fit_seconds: float
    values: dict[str, float]
    n_seeds: int = 1

    @property
    def title(self) -> str:
        """Name in tables and sentences."""
        name = f"`{self.contender.title}`" if self.contender.is_hasher else self.contender.title
        return name if self.ranking == DISTANCE else f"{name}, {self.ranking}"

    @property
    def is_exact(self) -> bool:
        """Whether these are the vectors themselves."""
        return self.contender.method == EXACT

    @property
    def is_quantizer(self) -> bool:
        """Whether it is a quantizer of faiss."""
        return self.ranking == DISTANCE and not self.is_exact


class Extent(NamedTuple):
    """Numbers of database rows, features and queries of a data set."""

    n_items: int
    n_features: int
    n_queries: int


def summarize(records: Iterable[Record], data: str) -> list[CodeRow]:
    """Return one row per code and ranking of a data set, in the order of the contenders."""
    found: dict[tuple[str, int], list[Record]] = {}
    for record in select_records(records, data):
        case = Case.from_record(record)
        found.setdefault((case.method, case.n_bits), []).append(record["result"])
    return [
        _average(contender, ranking, results)
        for contender in CONTENDERS
        for results in [found.get((contender.method, contender.n_bits), [])]
        for ranking in (ASYMMETRIC, HAMMING, COARSE, DISTANCE)
        if results and ranking in results[0]["rankings"]
    ]


def select_records(records: Iterable[Record], data: str) -> list[Record]:
    """Return the records of a data set that have results of this page."""
    return [
        record
        for record in records
        if (record["case"]["data"], record["case"].get("measure")) == (data, MEASURE)
        and "rankings" in record["result"]
    ]


def find_extent(records: Iterable[Record], data: str) -> Extent:
    """Return the size of a data set that has records."""
    result = select_records(records, data)[0]["result"]
    return Extent(*(result[name] for name in Extent._fields))


def _average(contender: Contender, ranking: str, results: list[Record]) -> CodeRow:
    values = [result["rankings"][ranking] for result in results]
    means = {name: fmean(value[name] for value in values) for name in values[0]}
    if "search_ms" in means:  # the load of the machine can only add to times
        means["search_ms"] = min(value["search_ms"] for value in values)
    fit_seconds = min(result["fit_seconds"] for result in results)
    return CodeRow(contender, ranking, results[0]["n_bytes"], fit_seconds, means, len(results))


def find_best(rows: Iterable[CodeRow], measure: str, max_bytes: int) -> CodeRow | None:
    """Return the row with the highest value among codes of limited size that need no labels."""
    candidates = [r for r in list_unlabeled(rows) if r.n_bytes <= max_bytes and not r.is_exact]
    return max(candidates, key=lambda row: row.values[measure], default=None)


def list_unlabeled(rows: Iterable[CodeRow]) -> Sequence[CodeRow]:
    """Return the rows of whole codes that were learned without labels."""
    return [row for row in rows if not row.contender.uses_labels and row.ranking != COARSE]
