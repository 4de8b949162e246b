"""Zarr: a chunked array in a folder, read chunk by chunk."""

from __future__ import annotations

from typing import Any

from bitfold.errors import FormatError
from bitfold.io.formats.request import ReadRequest, import_optional
from bitfold.io.stream import Stream

_SAFE_CODECS = {
    *("adler32", "astype", "bitround", "blosc", "bytes", "bz2", "crc32", "crc32c", "delta"),
    *("fixedscaleoffset", "fletcher32", "gzip", "jenkins_lookup3", "lz4", "lzma", "packbits"),
    *("quantize", "sharding_indexed", "shuffle", "transpose", "zlib", "zstd"),
}
"""Codecs that only transform bytes; others may unpickle what they read."""

_EXPECTED = "a Zarr array of numbers"


def open_zarr(request: ReadRequest) -> Stream:
    """Open a matrix: the array of the folder, or one of its group."""
    zarr = import_optional("zarr", ".zarr folders", "zarr")
    with request.translate_errors(_EXPECTED, Exception):
        node = zarr.open(request.path, mode="r")
    if hasattr(node, "arrays"):
        node = _choose_matrix(node, request)
    else:
        request.check_no_name()
    if len(node.shape) != 2 or 0 in node.shape:
        raise FormatError(f"{request.path} must be a matrix with rows, got shape {node.shape}.")
    request.check_numeric(node.dtype)
    _check_codecs(node, request)
    return Stream.from_slices(
        node, lambda blocks: request.guard_blocks(blocks, _EXPECTED, Exception)
    )


def _choose_matrix(group: Any, request: ReadRequest) -> Any:
    with request.translate_errors("a Zarr group of arrays", Exception):
        arrays = {name: array for name, array in group.arrays() if len(array.shape) == 2}
    return arrays[request.choose_name(sorted(arrays), "matrices")]


def _check_codecs(array: Any, request: ReadRequest) -> None:
    """Raise unless all codecs are known to be safe; nothing has been decoded so far."""
    for codec in _list_codecs(array.metadata.to_dict()):
        if codec.removeprefix("numcodecs.") not in _SAFE_CODECS:
            raise FormatError(
                f"{request.path} uses the codec {codec!r}, which may execute code. "
                f"Rewrite it with one of the standard codecs."
            )


def _list_codecs(tree: Any) -> list[str]:
    """Return the names of all codecs in the metadata of Zarr 2 or 3, including those of shards."""
    if isinstance(tree, (list, tuple)):
        return [name for item in tree for name in _list_codecs(item)]
    if not isinstance(tree, dict):
        return []
    inner = [tree.get(key) for key in ("codecs", "index_codecs", "filters", "compressor")]
    inner.append(tree.get("configuration") if "name" in tree else None)
    own = [str(tree[key]) for key in ("id", "name") if key in tree]
    return own + [name for item in inner for name in _list_codecs(item)]
