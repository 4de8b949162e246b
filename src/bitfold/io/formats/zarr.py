"""Zarr: an array in many files, read chunk by chunk."""

from __future__ import annotations

from typing import Any

from bitfold.errors import FormatError
from bitfold.io.formats.request import Asked, guarded
from bitfold.io.sources import Stream

_SAFE_CODECS = {
    *("adler32", "astype", "bitround", "blosc", "bytes", "bz2", "crc32", "crc32c", "delta"),
    *("fixedscaleoffset", "fletcher32", "gzip", "jenkins_lookup3", "lz4", "lzma", "packbits"),
    *("quantize", "sharding_indexed", "shuffle", "transpose", "zlib", "zstd"),
}
"""Codecs that do nothing but arithmetic; one of the others unpickles."""


def open_zarr(asked: Asked) -> Stream:
    """Open a matrix of a folder."""
    zarr = _import_zarr()
    reading = asked.reading("a Zarr array of numbers", Exception)
    with reading():
        node = zarr.open(asked.path, mode="r")
    if hasattr(node, "arrays"):
        node = _matrix_of(node, asked)
    else:
        asked.raise_name()
    if len(node.shape) != 2 or 0 in node.shape:
        raise FormatError(f"{asked.path} must hold a matrix with rows, got shape {node.shape}.")
    asked.check_numbers(node.dtype)
    _check_safe(node, asked)
    return Stream.of_slices(node, lambda blocks: guarded(blocks, reading))


def _matrix_of(group: Any, asked: Asked) -> Any:
    with asked.reading("a Zarr group of arrays", Exception)():
        arrays = {name: array for name, array in group.arrays() if len(array.shape) == 2}
    return arrays[asked.chosen(sorted(arrays), "matrices")]


def _check_safe(array: Any, asked: Asked) -> None:
    """Refuse codecs that are not known to be harmless; nothing was decoded so far."""
    for codec in _codecs(array.metadata.to_dict()):
        if codec.removeprefix("numcodecs.") not in _SAFE_CODECS:
            raise FormatError(f"{asked.path} must be of codecs known to be safe, got {codec!r}.")


def _codecs(tree: Any) -> list[str]:
    """Name all codecs in the metadata of either format, those within shards too."""
    if isinstance(tree, (list, tuple)):
        return [name for item in tree for name in _codecs(item)]
    if not isinstance(tree, dict):
        return []
    inner = [tree.get(key) for key in ("codecs", "index_codecs", "filters", "compressor")]
    inner.append(tree.get("configuration") if "name" in tree else None)
    own = [str(tree[key]) for key in ("id", "name") if key in tree]
    return own + [name for item in inner for name in _codecs(item)]


def _import_zarr() -> Any:
    try:
        import zarr
    except ImportError:
        extra = 'pip install "bitfold[zarr]"'
        raise ImportError(f"reading .zarr folders needs zarr: {extra}.") from None
    return zarr
