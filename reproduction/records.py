"""Cases describe what to run; records keep what was measured, one JSON line per case."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from bitfold.io.records import RunRecords
from reproduction.shared_types import Options, Record

__all__ = ["Case", "RunRecords"]


@dataclass(frozen=True)
class Case:
    """One run: a method with its settings on a data set, and what is measured.

    Parameters
    ----------
    data
        Name of a data set.
    method
        Name of a method.
    n_bits
        Length of the codes; 0 if there are none.
    seed
        Seed of the method.
    n_queries
        Number of queries.
    n_rows
        Number of database rows; 0 for all.
    measure
        What is measured.
    options
        Settings of the method.
    """

    data: str
    method: str
    n_bits: int
    seed: int = 0
    n_queries: int = 1000
    n_rows: int = 0
    measure: str = "retrieval"
    options: Options = ()

    @classmethod
    def from_record(cls, record: Record) -> Case:
        """Return the case of a record."""
        known = {field.name for field in fields(cls)}
        values: dict[str, Any] = {k: v for k, v in record["case"].items() if k in known}
        values["options"] = tuple((str(name), value) for name, value in values.get("options", ()))
        return cls(**values)

    @property
    def title(self) -> str:
        """Short description for the progress display."""
        settings = [f"{name}={value}" for name, value in self.options]
        return ", ".join([self.data, self.method, f"{self.n_bits} bits", *settings])

    @property
    def setting(self) -> Case:
        """The case without its seed and number of queries."""
        return replace(self, seed=0, n_queries=0)
