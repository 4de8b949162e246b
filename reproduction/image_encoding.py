"""Small encodings of images: arrays and JPEG for JSON records, PNG with a palette for files."""

from __future__ import annotations

import base64
import io
import re
import zlib
from typing import Any

import numpy as np
from PIL import Image

from reproduction.shared_types import AnyArray, UInt8Array

_INLINE_PNG = re.compile(rb"(data:image/png;base64,)([A-Za-z0-9+/=\s]+)")


def encode_array(array: AnyArray) -> dict[str, Any]:
    """Return a small array in a form that JSON can hold."""
    data = base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes(), 9)).decode()
    return {"dtype": array.dtype.str, "shape": list(array.shape), "data": data}


def encode_photos(tiles: UInt8Array) -> dict[str, Any]:
    """Return color images (rows, columns, height, width, 3) as one JPEG.

    It has a seventh of the bytes of :func:`encode_array`.
    """
    n_rows, _, height, *_ = tiles.shape
    sheet = io.BytesIO()
    pixels = tiles.swapaxes(1, 2).reshape(n_rows * height, -1, 3)
    Image.fromarray(pixels).save(sheet, "JPEG", quality=85)
    return {"jpeg": base64.b64encode(sheet.getvalue()).decode(), "shape": list(tiles.shape)}


def decode_array(encoded: dict[str, Any]) -> AnyArray:
    """Return the array that :func:`encode_array` or :func:`encode_photos` encoded."""
    if "jpeg" in encoded:
        return _decode_photos(encoded)
    content = zlib.decompress(base64.b64decode(encoded["data"]))
    return np.frombuffer(content, encoded["dtype"]).reshape(encoded["shape"])


def _decode_photos(encoded: dict[str, Any]) -> UInt8Array:
    n_rows, n_columns, height, width, _ = encoded["shape"]
    sheet = np.asarray(Image.open(io.BytesIO(base64.b64decode(encoded["jpeg"]))))
    tiles: UInt8Array = sheet.reshape(n_rows, height, n_columns, width, 3).swapaxes(1, 2)
    return tiles


def reduce_colors(png: bytes) -> bytes:
    """Return a PNG with a palette of 256 colors, which has a third of the bytes."""
    image = Image.open(io.BytesIO(png)).convert("RGBA")
    if np.asarray(image)[:, :, 3].min() == 255:
        reduced = image.convert("RGB").quantize(256)
    else:
        # The only method of Pillow that supports transparency.
        reduced = image.quantize(256, method=Image.Quantize.FASTOCTREE)
    out = io.BytesIO()
    reduced.save(out, "PNG", optimize=True)
    return out.getvalue()


def reduce_inline_colors(svg: bytes) -> bytes:
    """Return an SVG in which every embedded PNG has a palette."""

    def replace(match: re.Match[bytes]) -> bytes:
        return match[1] + base64.b64encode(reduce_colors(base64.b64decode(match[2])))

    return _INLINE_PNG.sub(replace, svg)
