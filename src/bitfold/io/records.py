"""Records of finished runs in a JSON-lines file, so that an interrupted series can be resumed."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from io import FileIO
from pathlib import Path
from typing import Any

from bitfold._types import PathLike
from bitfold.errors import ParameterError
from bitfold.io import file_system
from bitfold.io.atomic import create_directory

__all__ = ["RunRecords", "library_versions"]


class RunRecords:
    """Results of runs, one JSON line per run; a run that has a record is not repeated.

    A run is described by a *case*: an instance of any dataclass whose fields JSON can hold. Two
    cases are the same if their fields are; a field that is zero or empty may be missing in a
    record. A record is a dictionary with the entries ``case``, ``result``, ``seconds`` (if known)
    and ``versions``. Each record is on disk before the next run begins, and a line that was cut
    off is ignored, so that a series may be interrupted at any point.

    Parameters
    ----------
    path
        File to read and to append to; None keeps the records in memory.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Case:
    ...     method: str
    >>> records = RunRecords()
    >>> _ = records.add(Case("ITQ"), {"map": 41.5})
    >>> Case("ITQ") in records, Case("LSH") in records
    (True, False)
    """

    def __init__(self, path: PathLike | None = None) -> None:
        self._path = None if path is None else Path(path)
        lines = _read_records(self._path) if self._path else ()
        self._records = {_make_key(record["case"]): record for record in lines}

    def __contains__(self, case: Any) -> bool:
        return _make_key(asdict(case)) in self._records

    def __getitem__(self, case: Any) -> dict[str, Any]:
        return self._records[_make_key(asdict(case))]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._records.values())

    def __len__(self) -> int:
        return len(self._records)

    def add(
        self, case: Any, result: dict[str, Any], seconds: float | None = None
    ) -> dict[str, Any]:
        """Store the result of a case.

        Parameters
        ----------
        case
            The case, an instance of a dataclass.
        result
            What was measured.
        seconds
            Duration of the run, if known.

        Returns
        -------
        The record.

        Raises
        ------
        ValueError
            If the result holds NaN or infinity, which JSON does not have.
        """
        duration = {} if seconds is None else {"seconds": round(seconds, 3)}
        line = json.dumps(
            {"case": asdict(case), "result": result, **duration, "versions": library_versions()},
            allow_nan=False,
        )
        record: dict[str, Any] = json.loads(line)
        self._records[_make_key(record["case"])] = record
        if self._path:
            _append_line(self._path, line)
        return record

    def run_missing(
        self, cases: Iterable[Any], work: Callable[[Any], dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Run the cases that have no record yet, in order.

        A method that cannot produce codes of the requested length (a
        :class:`~bitfold.errors.ParameterError` about ``n_bits``) is a result: its record is
        ``{"error": message}``. Any other exception ends the series.

        Parameters
        ----------
        cases
            Instances of a dataclass.
        work
            Runs a case and returns its result.

        Returns
        -------
        The records of all cases, including those that were there already.
        """
        done = []
        for case in cases:
            if case not in self:
                start = time.perf_counter()
                result = _run_or_explain(case, work)
                self.add(case, result, time.perf_counter() - start)
            done.append(self[case])
        return done


@cache
def library_versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that results may depend on.

    Returns
    -------
    Versions by name.

    Examples
    --------
    >>> "numpy" in library_versions()
    True
    """
    names = ("bitfold", "numpy", "scipy", "scikit-learn", "faiss-cpu", "numba")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def _run_or_explain(case: Any, work: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Run a case; return ``{"error": message}`` if the method has no codes of that length."""
    try:
        return work(case)
    except ParameterError as error:
        if error.name != "n_bits":
            raise
        return {"error": str(error)}


def _make_key(case: dict[str, Any]) -> str:
    """Return a key that ignores the order of fields, and fields that are zero or empty."""
    return json.dumps({name: value for name, value in case.items() if value}, sort_keys=True)


def _read_records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the complete records of a file."""
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue  # cut off by a process that was killed; its case runs again
        if isinstance(record, dict) and all(
            isinstance(record.get(name), dict) for name in ("case", "result")
        ):
            yield record


def _append_line(path: Path, line: str) -> None:
    """Append a line and wait until it is on disk."""
    create_directory(path.parent)
    with file_system.append_to_file(path) as file:
        # A line that was cut off is left as it is; the new one begins after it.
        prefix = "" if _ends_with_newline(file) else "\n"
        end = file.seek(0, os.SEEK_END)
        try:
            _write_all(file, f"{prefix}{line}\n".encode())
            file_system.sync_file(file)
        except OSError as error:
            with suppress(OSError):
                file.truncate(end)
            raise OSError(error.errno, error.strerror, str(path)) from error
    file_system.sync_directory(path.parent)


def _write_all(file: FileIO, content: bytes) -> None:
    while content:
        content = content[file.write(content) :]


def _ends_with_newline(file: FileIO) -> bool:
    """Return whether a file is empty or ends with a newline."""
    if not file.seek(0, os.SEEK_END):
        return True
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"
