"""Which of the records a report shows of an artifact."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from reproduction.artifacts import Artifact, Protocol
from reproduction.records import Case, Record


def choose(
    artifact: Artifact, protocol: Protocol, known: Iterable[Record], *, quick: bool
) -> list[Record]:
    """Return an artifact's records: all seeds there are, of one number of queries a data set.

    That number is the protocol's where it was run, else the one that most runs have: a report
    shows what was run at another time too.
    """
    cases = artifact.cases(replace(protocol, quick=quick))
    order = {setting(case): i for i, case in enumerate(cases)}
    wanted = {(case.data, case.measure): case.queries for case in cases}
    groups: dict[tuple[str, str], dict[int, list[Record]]] = {}
    for record in known:
        case = Case.of(record)
        if setting(case) in order:
            by_queries = groups.setdefault((case.data, case.measure), {})
            by_queries.setdefault(case.queries, []).append(record)
    found = [
        record
        for place, group in groups.items()
        for record in group.get(wanted[place]) or max(group.values(), key=len)
    ]
    return sorted(found, key=lambda r: (order[setting(Case.of(r))], r["case"]["seed"]))


def setting(case: Case) -> str:
    """What cases share that differ only in seed and number of queries."""
    return replace(case, seed=0, queries=0).key
