"""Select the records that the report shows for an artifact."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from reproduction.artifacts import Artifact
from reproduction.protocol import Protocol
from reproduction.records import Case
from reproduction.shared_types import Record


def select_records(
    artifact: Artifact, protocol: Protocol, records: Iterable[Record], *, quick: bool
) -> list[Record]:
    """Return an artifact's records of all seeds, with one number of queries per data set.

    That number is the one with which most settings were run; the protocol's if it is among them.
    The report then also shows what was run at another time.
    """
    cases = artifact.cases(replace(protocol, quick=quick))
    order = {case.setting: i for i, case in enumerate(cases)}
    wanted = {(case.data, case.measure): case.n_queries for case in cases}
    groups: dict[tuple[str, str], dict[int, list[Record]]] = {}
    for record in records:
        case = Case.from_record(record)
        if case.setting in order:
            by_queries = groups.setdefault((case.data, case.measure), {})
            by_queries.setdefault(case.n_queries, []).append(record)
    selected = [
        record for key, group in groups.items() for record in _choose_group(group, wanted[key])
    ]
    return sorted(selected, key=lambda record: _sort_key(record, order))


def _choose_group(group: dict[int, list[Record]], wanted: int) -> list[Record]:
    """Return the records of the number of queries that covers most settings."""

    def rate(n_queries: int) -> tuple[int, bool, int]:
        own = group[n_queries]
        n_settings = len({Case.from_record(record).setting for record in own})
        return n_settings, n_queries == wanted, len(own)

    return group[max(group, key=rate)]


def _sort_key(record: Record, order: dict[Case, int]) -> tuple[int, int]:
    case = Case.from_record(record)
    return order[case.setting], case.seed
