"""Codes files: packed codes with their length and model, opened as memory maps.

A codes file is an :mod:`array file <bitfold.io.array_file>` with one array, ``packed``, and the
values ``n_bits`` and ``model_digest``. A name that ends in ".npy" selects numpy's format instead,
which contains only the packed bytes.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from bitfold import _validation
from bitfold._types import PathLike
from bitfold.codes import Codes, count_bytes
from bitfold.errors import FormatError, ParameterError
from bitfold.io.array_file import ArrayFile, ArrayLayout, encode_header, write_arrays
from bitfold.io.atomic import replace_atomically

_KIND = "codes"
_HEADER_BYTES = 1024
_NPY_MAGIC = b"\x93NUMPY"


def save_codes(codes: Codes, path: PathLike) -> None:
    """Write codes to a file, atomically and durably.

    Parameters
    ----------
    codes
        The codes.
    path
        The file to create or replace, by convention with the suffix ".codes". With the suffix
        ".npy" it becomes an array of packed codes in numpy's format, without ``n_bits`` and
        ``model_digest``.

    Raises
    ------
    OSError
        The file cannot be written.

    Examples
    --------
    >>> save_codes(Codes.from_bits([[1, 0, 1]]), "some.codes")
    >>> open_codes("some.codes")
    Codes(1 x 3 bits)
    """
    if is_npy_name(path):
        with replace_atomically(path) as file:
            # np.save would write by itself, and not say why if the disk is full.
            file.write(encode_npy_header((len(codes), codes.packed.shape[1])))
            file.write(np.ascontiguousarray(codes.packed).data)
    else:
        meta = {"n_bits": codes.n_bits, "model_digest": codes.model_digest}
        write_arrays(path, _KIND, meta, {"packed": codes.packed})


def open_codes(path: PathLike, n_bits: int | None = None) -> Codes:
    """Open a file of codes as a read-only memory map, and verify it.

    Parameters
    ----------
    path
        A file written by :func:`encode_to_file` or :func:`save_codes`, or a .npy file of packed
        codes.
    n_bits
        Length of the codes. None reads it from a codes file, and takes all bits of a .npy file.

    Returns
    -------
    The codes.

    Raises
    ------
    FileNotFoundError
        The file does not exist.
    FormatError
        The file is damaged, or does not contain codes.
    NewerFormatError
        The file was written by a newer version of bitfold.
    ParameterError
        The codes in the file have another length than ``n_bits``.

    Examples
    --------
    >>> np.save("packed.npy", np.array([[160], [32]], np.uint8))
    >>> open_codes("packed.npy")
    Codes(2 x 8 bits)
    >>> open_codes("packed.npy", n_bits=3)
    Codes(2 x 3 bits)
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if n_bits is not None:
        n_bits = _validation.check_integer(n_bits, "n_bits", "open_codes", low=1)
    return (_open_npy if _has_npy_magic(path) else _open_array_file)(path, n_bits)


def is_npy_name(path: PathLike) -> bool:
    """Return whether the name of a file selects numpy's format."""
    return Path(path).suffix == ".npy"


def encode_codes_header(
    shape: tuple[int, int], n_bits: int, model_digest: str | None, checksum: int
) -> bytes:
    """Return the header of a codes file, with the same length for any number of rows."""
    meta = {"n_bits": n_bits, "model_digest": model_digest}
    layout = {"packed": ArrayLayout("U8", shape)}
    return encode_header(_KIND, meta, layout, {"packed": checksum}, min_bytes=_HEADER_BYTES)


def encode_npy_header(shape: tuple[int, int]) -> bytes:
    """Return the header of a .npy file, with the same length for any number of rows."""
    # numpy pads the header so that the number of rows can grow in place.
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        out, {"descr": "|u1", "fortran_order": False, "shape": shape}
    )
    return out.getvalue()


def _has_npy_magic(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_NPY_MAGIC)) == _NPY_MAGIC


def _open_array_file(path: Path, n_bits: int | None) -> Codes:
    file = ArrayFile(path, _KIND)
    stored: Any = file.meta.get("n_bits")
    digest = file.meta.get("model_digest")
    shape = file.layout["packed"].shape if "packed" in file.layout else ()
    is_valid = type(stored) is int and stored > 0 and isinstance(digest, str | None)
    n_rows = shape[0] if shape else 0
    if not is_valid or file.layout != {"packed": ArrayLayout("U8", (n_rows, count_bytes(stored)))}:
        raise FormatError(f"{path} is damaged: the values in its header contradict each other.")
    if n_bits not in (None, stored):
        raise ParameterError("n_bits", "open_codes", f"{stored}, the length of {path}", n_bits)
    try:
        return Codes(file.array("packed"), stored, digest)
    except ParameterError:
        raise FormatError(f"{path} is damaged: a padding bit is set.") from None


def _open_npy(path: Path, n_bits: int | None) -> Codes:
    try:
        packed = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise FormatError(f"{path} is damaged: {str(error).rstrip('.')}.") from None
    if packed.dtype != np.uint8 or packed.ndim != 2 or not packed.shape[1]:
        raise FormatError(
            f"{path} does not contain packed codes: it has dtype {packed.dtype} and shape "
            f"{packed.shape} instead of uint8 and (n, bytes)."
        )
    n_bytes = packed.shape[1]
    if n_bits is not None and count_bytes(n_bits) != n_bytes:
        needed = (
            f"from {8 * n_bytes - 7} to {8 * n_bytes} for the {n_bytes} bytes per code in {path}"
        )
        raise ParameterError("n_bits", "open_codes", needed, n_bits)
    return Codes(packed, n_bits or 8 * n_bytes)
