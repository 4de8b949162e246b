"""Files of the tables of a segment, next to its own file.

Tables follow from the codes, so they are not part of a commit: they are written when they are
built, and a file that is missing, damaged or of another segment is ignored. Each file names the
checksum of its segment. The number of a segment is part of the names of its tables, so that they
are removed with it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from bitfold._types import AnyArray
from bitfold.errors import FormatError
from bitfold.io import file_system
from bitfold.io.array_file import ArrayFile, ArrayLayout, write_arrays
from bitfold.io.file_checks import is_count
from bitfold.search.parts import Parts
from bitfold.search.plan import MAX_PART_BITS
from bitfold.search.tables import Tables, locate_starts


class TableFiles:
    """The files of the tables of one segment.

    Parameters
    ----------
    segment
        The file of the segment, ``segment-*.bin``.
    n_words, n_codes
        Shape of its codes.
    may_write
        Returns whether this process may write to the folder now.
    """

    def __init__(
        self, segment: ArrayFile, n_words: int, n_codes: int, may_write: Callable[[], bool]
    ) -> None:
        self._segment = segment
        self._shape = n_words, n_codes
        self._may_write = may_write

    def load(self) -> list[Tables]:
        """Return the tables on the disk, memory-mapped, oldest first."""
        found = []
        for path in self._list():
            # A writer may have removed the file in the meantime.
            with suppress(OSError, FormatError):
                tables = self._open(path)
                if tables is not None:
                    found.append(tables)
        return found

    def save(self, tables: list[Tables]) -> None:
        """Replace the tables on the disk, if this process may write and there is space."""
        if not self._may_write():
            return
        with suppress(OSError):
            kept = {path: self._read_parts(path) for path in self._list()}
            for path, parts in kept.items():
                if parts not in [each.parts for each in tables]:
                    file_system.remove_file(path)
            number = max((_number_of(path) for path in kept), default=-1)
            for each in tables:
                if each.parts not in kept.values():
                    number += 1
                    self._write(self._name(number), each)

    def _name(self, number: int) -> Path:
        stem = self._segment.path.stem.replace("segment", "tables", 1)
        return self._segment.path.with_name(f"{stem}-{number}.bin")

    def _list(self) -> list[Path]:
        """Return the files of this segment in the order in which they were written."""
        pattern = self._name(0).name.removesuffix("0.bin") + "*.bin"
        return sorted(self._segment.path.parent.glob(pattern), key=_number_of)

    def _write(self, path: Path, tables: Tables) -> None:
        arrays = tables.arrays
        stored: dict[str, AnyArray] = {
            "words": arrays.words.reshape(len(tables.parts), -1),
            "columns": arrays.columns,
            "order": arrays.order.reshape(len(tables.parts), -1),
            "starts": arrays.starts,
        }
        meta = {"segment": self._segment.checksum, "parts": tables.parts}
        write_arrays(path, "tables", meta, stored)

    def _read_parts(self, path: Path) -> Parts | None:
        """Return the parts of a file, None if it cannot be used."""
        try:
            file = ArrayFile(path, "tables")
        except FormatError:
            return None
        return self._check_header(file)

    def _check_header(self, file: ArrayFile) -> Parts | None:
        """Return the parts, None if the file belongs to another segment or is not consistent."""
        n_words, n_codes = self._shape
        parts = _decode_parts(file.meta.get("parts"), 64 * n_words)
        if parts is None or file.meta.get("segment") != self._segment.checksum:
            return None
        layout = {
            "words": ArrayLayout("U64", (len(parts), n_codes)),
            "columns": ArrayLayout("I64", (len(parts),)),
            "order": ArrayLayout("U32", (len(parts), n_codes)),
            "starts": ArrayLayout("U32", (int(locate_starts(parts)[-1]),)),
        }
        return parts if file.layout == layout else None

    def _open(self, path: Path) -> Tables | None:
        """Open a file; None unless all values are safe for the kernels."""
        file = ArrayFile(path, "tables")
        parts = self._check_header(file)
        if parts is None:
            return None
        words, columns, order, starts = map(file.array, ("words", "columns", "order", "starts"))
        n_words, n_codes = self._shape
        pieces = np.split(starts, locate_starts(parts)[1:-1])
        is_valid = (
            ((columns >= 0) & (columns < n_words)).all()
            and (order < n_codes).all()
            and all(piece[0] == 0 and piece[-1] == n_codes for piece in pieces)
            and all((piece[1:] >= piece[:-1]).all() for piece in pieces)
        )
        return Tables.wrap(parts, words, order, starts, columns) if is_valid else None


def _decode_parts(values: Any, n_bits: int) -> Parts | None:
    """Return parts from JSON, None if they are not disjoint parts of the bits."""
    if not (isinstance(values, list) and values and all(isinstance(v, list) for v in values)):
        return None
    bits = [bit for part in values for bit in part]
    is_valid = all(map(is_count, bits)) and len(set(bits)) == len(bits)
    if not is_valid or any(bit >= n_bits for bit in bits):
        return None
    if not all(1 <= len(part) <= MAX_PART_BITS for part in values):
        return None
    return tuple(map(tuple, values))


def _number_of(path: Path) -> int:
    digits = path.stem.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else -1
