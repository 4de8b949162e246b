"""Data in and out: vectors and labels, streams, codes files, model files, cache, downloads.

To read a new file format, write a module in ``formats/`` and add its suffix to ``FORMATS`` in
``vectors.py``.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bitfold.io.codes_file import encode_to_file, open_codes, save_codes
    from bitfold.io.formats.npy import read_npy_header
    from bitfold.io.rows import Rows, block_length
    from bitfold.io.sources import Block, check_source, iter_blocks, open_source
    from bitfold.io.stream import Stream
    from bitfold.io.vectors import open_vectors, read_labels, read_vectors

__all__ = [
    "Block",
    "Rows",
    "Stream",
    "block_length",
    "check_source",
    "encode_to_file",
    "iter_blocks",
    "open_codes",
    "open_source",
    "open_vectors",
    "read_labels",
    "read_npy_header",
    "read_vectors",
    "save_codes",
]

# Names are imported on first use: a command that only needs an atomic write should not have to
# import numba.
_MODULES = {
    "Block": "sources",
    "Rows": "rows",
    "Stream": "stream",
    "block_length": "rows",
    "check_source": "sources",
    "encode_to_file": "codes_file",
    "iter_blocks": "sources",
    "open_codes": "codes_file",
    "open_source": "sources",
    "open_vectors": "vectors",
    "read_labels": "vectors",
    "read_npy_header": "formats.npy",
    "read_vectors": "vectors",
    "save_codes": "codes_file",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'bitfold.io' has no attribute {name!r}.")
    value = getattr(_import_module(f"bitfold.io.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
