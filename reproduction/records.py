"""Cases and records: what to run, and what came out, one JSON line each."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

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


class Records:
    """The records of a file, in which a case that has one need not run again.

    Each record is on disk before the next case begins, so that a run may end anywhere. A line
    that was cut off midway counts as not there.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known = {Case.of(record).key: record for record in _read(path)} if path else {}

    def __contains__(self, case: Case) -> bool:
        return case.key in self._known

    def __getitem__(self, case: Case) -> Record:
        return self._known[case.key]

    def __iter__(self) -> Iterator[Record]:
        return iter(self._known.values())

    def __len__(self) -> int:
        return len(self._known)

    def add(self, case: Case, result: dict[str, Any], seconds: float | None = None) -> Record:
        """Keep what came out of a case, and how long it took where that is known."""
        took = {} if seconds is None else {"seconds": round(seconds, 3)}
        told = {name: value for name, value in asdict(case).items() if value or name != "stamp"}
        record: Record = {"case": told, "result": result, **took, "versions": versions()}
        record = json.loads(json.dumps(record))
        self._known[case.key] = record
        if self._path:
            _append(self._path, json.dumps(record, allow_nan=False) + "\n")
        return record


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """What a result may depend on."""
    names = ("bitfold", "numpy", "scipy", "scikit-learn", "faiss-cpu", "numba")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def _read(path: Path) -> Iterator[Record]:
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            record = json.loads(line)
            Case.of(record)
        except (ValueError, KeyError, TypeError, AttributeError):
            continue  # cut off by a process that was killed; its case runs again
        if isinstance(record.get("result"), dict):
            yield record


def _append(path: Path, line: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        # After a line that was cut off, begin a new one.
        if file.tell() and _last_byte(file) != b"\n":
            line = "\n" + line
        file.write(line.encode())
        file.flush()
        os.fsync(file.fileno())


def _last_byte(file: Any) -> bytes:
    file.seek(-1, os.SEEK_END)
    last: bytes = file.read(1)
    return last
