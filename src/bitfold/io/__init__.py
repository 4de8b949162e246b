"""Data in and out: vectors and labels, streams, codes files, model files, cache, downloads.

To read a new file format, write a module in ``formats/`` and add its suffix to ``FORMATS`` in
``vectors.py``.
"""

from bitfold.io.codes_file import open_codes, save_codes
from bitfold.io.formats.npy import read_npy_header
from bitfold.io.hex_codes import read_hex_codes
from bitfold.io.resumable import encode_to_file
from bitfold.io.rows import Block, Rows, block_length, iter_blocks
from bitfold.io.sources import check_source, open_source
from bitfold.io.stream import Stream
from bitfold.io.unit_length import scale_to_unit_length
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
    "read_hex_codes",
    "read_labels",
    "read_npy_header",
    "read_vectors",
    "save_codes",
    "scale_to_unit_length",
]
