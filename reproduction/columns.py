"""The two columns of the report: the authors' settings, and the defaults of bitfold.

Methods with a base set run twice. Their cases are named after the method and the column, such as
``IMH-tSNE as published``. The other methods are the same in both columns and run once.
"""

from __future__ import annotations

from collections.abc import Iterable

from reproduction.experiments.methods import AS_PUBLISHED, BY_DEFAULT
from reproduction.shared_types import Record

PUBLISHED, BITFOLD = "as published", "bitfold"

_SUFFIXES = {PUBLISHED: AS_PUBLISHED, BITFOLD: BY_DEFAULT}


def name_in_column(method: str, column: str) -> str:
    """Return the name under which a method with a base set runs in a column."""
    return method + _SUFFIXES[column]


def find_column(method: str) -> str | None:
    """Return the column of a method by its name; None if it is the same in both."""
    return next((c for c, suffix in _SUFFIXES.items() if method.endswith(suffix)), None)


def get_plain_name(method: str) -> str:
    """Return the name of a method without its column."""
    column = find_column(method)
    return method.removesuffix(_SUFFIXES[column]) if column else method


def select_column(records: Iterable[Record], column: str) -> list[Record]:
    """Return the records of a column, with the plain names of their methods."""
    return [
        {**record, "case": {**record["case"], "method": get_plain_name(record["case"]["method"])}}
        for record in records
        if find_column(record["case"]["method"]) in (None, column)
    ]


def has_column(records: Iterable[Record], column: str) -> bool:
    """Return whether any record belongs to this column alone."""
    return any(find_column(record["case"]["method"]) == column for record in records)
