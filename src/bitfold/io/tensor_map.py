"""The tensors of a safetensors file, memory-mapped; the package itself would copy them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bitfold._types import AnyArray
from bitfold.io.file_checks import parse_json_object

DTYPES = {"BOOL": np.dtype("?")} | {
    name: np.dtype(f"<{name[0].lower()}{int(name[1:]) // 8}")
    for name in ("U8", "I8", "U16", "I16", "F16", "U32", "I32", "F32", "U64", "I64", "F64")
}
"""The types that numpy has too, by the names in the file."""


class TensorMap:
    """The tensors of a file that safetensors has validated.

    Everything is read from one map, because the file may be replaced at any time.

    Parameters
    ----------
    path
        The file.

    Attributes
    ----------
    metadata
        What the file says about itself, or None.
    """

    def __init__(self, path: Path) -> None:
        self._data = np.memmap(path, np.uint8, "r")
        self._start = 8 + int.from_bytes(self._data[:8].tobytes(), "little")
        self._entries = parse_json_object(self._data[8 : self._start].tobytes()) or {}
        self.metadata: Any = self._entries.pop("__metadata__", None)

    @property
    def names(self) -> list[str]:
        """Names of the tensors."""
        return list(self._entries)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor."""
        return tuple(self._entries[name]["shape"])

    def dtype_name(self, name: str) -> str:
        """Return the type of a tensor as the file names it, such as "F32"."""
        return str(self._entries[name]["dtype"])

    def array(self, name: str) -> AnyArray:
        """Return a tensor as a read-only array that lies in the file.

        Writers may place it at any byte, so that it may not be aligned.
        """
        begin, end = (self._start + offset for offset in self._entries[name]["data_offsets"])
        return self._data[begin:end].view(DTYPES[self.dtype_name(name)]).reshape(self.shape(name))
