"""Pictures in few bytes: arrays as JSON can hold them, PNG in a palette."""

from __future__ import annotations

import base64
import io
import re
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

_INLINE = re.compile(rb"(data:image/png;base64,)([A-Za-z0-9+/=\s]+)")


def pack(array: NDArray[Any]) -> dict[str, Any]:
    """Write a small array as JSON can hold it."""
    data = base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes(), 9)).decode()
    return {"dtype": array.dtype.str, "shape": list(array.shape), "data": data}


def pack_photos(tiles: Bytes) -> dict[str, Any]:
    """Write rows and columns of color pictures as one JPEG, a seventh of the packed bytes."""
    from PIL import Image

    n_rows, _, height, *_ = tiles.shape
    sheet = io.BytesIO()
    Image.fromarray(tiles.swapaxes(1, 2).reshape(n_rows * height, -1, 3)).save(
        sheet, "JPEG", quality=85
    )
    return {"jpeg": base64.b64encode(sheet.getvalue()).decode(), "shape": list(tiles.shape)}


def unpack(packed: dict[str, Any]) -> NDArray[Any]:
    """Read what :func:`pack` or :func:`pack_photos` wrote."""
    if "jpeg" in packed:
        return _unpack_photos(packed)
    content = zlib.decompress(base64.b64decode(packed["data"]))
    return np.frombuffer(content, packed["dtype"]).reshape(packed["shape"])


def _unpack_photos(packed: dict[str, Any]) -> Bytes:
    from PIL import Image

    n_rows, n_columns, height, width, _ = packed["shape"]
    sheet = np.asarray(Image.open(io.BytesIO(base64.b64decode(packed["jpeg"]))))
    tiles: Bytes = sheet.reshape(n_rows, height, n_columns, width, 3).swapaxes(1, 2)
    return tiles


def in_palette(png: bytes) -> bytes:
    """Write a picture in 256 colors: a third of the bytes, and hardly to be seen."""
    from PIL import Image

    picture = Image.open(io.BytesIO(png)).convert("RGBA")
    if np.asarray(picture)[:, :, 3].min() == 255:
        few = picture.convert("RGB").quantize(256)
    else:
        # The only way that knows of transparency.
        few = picture.quantize(256, method=Image.Quantize.FASTOCTREE)
    out = io.BytesIO()
    few.save(out, "PNG", optimize=True)
    return out.getvalue()


def inline_in_palette(svg: bytes) -> bytes:
    """Do so with every picture inside an SVG."""

    def smaller(found: re.Match[bytes]) -> bytes:
        return found[1] + base64.b64encode(in_palette(base64.b64decode(found[2])))

    return _INLINE.sub(smaller, svg)
