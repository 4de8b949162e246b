"""Cases and records: what to run, and what came out, one JSON line each."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

from bitfold.io.records import RunRecords as Records
from bitfold.io.records import library_versions as versions

__all__ = ["Case", "Record", "Records", "versions"]

Record = dict[str, Any]
"""A run's case, what was measured ("result"), how many seconds it took in all, and the versions."""


@dataclass(frozen=True)
class Case:
    """One run: a method with its settings, on a data set, and what is measured of it.

    ``data`` names a data set, or a file of vectors with ``labels`` in another file and a ``stamp``
    that tells their content from what it was before; ``rows`` is how much of the database is used,
    0 for all of it.
    """

    data: str
    method: str
    n_bits: int
    seed: int = 0
    queries: int = 1000
    rows: int = 0
    measure: str = "retrieval"
    options: tuple[tuple[str, Any], ...] = ()
    labels: str = ""
    stamp: str = ""

    @property
    def title(self) -> str:
        """What to show while it runs."""
        settings = [f"{name}={value}" for name, value in self.options]
        return ", ".join([self.data, self.method, f"{self.n_bits} bits", *settings])

    @property
    def key(self) -> str:
        """What two equal cases have in common; a field at its default says nothing."""
        told = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) != field.default
        }
        return json.dumps(told, sort_keys=True)

    @classmethod
    def of(cls, record: Record) -> Case:
        """Return the case of a record."""
        told = dict(record["case"])
        options = tuple((str(name), value) for name, value in told.pop("options", ()))
        return cls(**told, options=options)
