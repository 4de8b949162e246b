"""Pictures that lie in a page itself: pixels to PNG to HTML."""

from __future__ import annotations

import base64
import struct
import zlib
from html import escape

import numpy as np

from bitfold._types import BoolArray, UInt8Array

Color = tuple[int, int, int, int]
"""Red, green, blue, opacity."""

# Both can be seen on a light ground and on a dark one.
GRAY: Color = (100, 116, 139, 255)
RED: Color = (224, 44, 44, 255)
CLEAR: Color = (0, 0, 0, 0)


def png(pixels: UInt8Array) -> bytes:
    """Write (height, width, RGBA) as a PNG; these lines save a dependency on an image library."""
    height, width, _ = pixels.shape
    # Every line of a PNG starts with the number of its filter; 0 is none.
    lines = np.pad(pixels.reshape(height, -1), ((0, 0), (1, 0)))
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )


def image(pixels: UInt8Array, alt: str, kind: str) -> str:
    """Put a picture into the page itself; its text is read aloud, and shown on hovering."""
    source = f"data:image/png;base64,{base64.b64encode(png(pixels)).decode()}"
    text = escape(alt)
    return f'<img class="{kind}" src="{source}" alt="{text}" title="{text}">'


def ink(pixels: UInt8Array) -> UInt8Array:
    """Make a digit black on nothing, so that the page may set it on any ground."""
    rgba = np.zeros((8, 8, 4), np.uint8)
    rgba[..., 3] = np.minimum(pixels.reshape(8, 8).astype(int) * 16, 255)
    return rgba


def paint(mask: BoolArray, yes: Color, no: Color) -> UInt8Array:
    """Color a mask."""
    return np.where(mask[..., None], np.array(yes), np.array(no)).astype(np.uint8)
