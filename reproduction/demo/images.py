"""Images that are embedded in the page: pixels to PNG to HTML."""

from __future__ import annotations

import base64
import io
from html import escape

import numpy as np
from PIL import Image

from reproduction.shared_types import BoolArray, UInt8Array

Color = tuple[int, int, int, int]
"""Red, green, blue, opacity."""

# Both are visible on a light and on a dark background.
GRAY: Color = (100, 116, 139, 255)
RED: Color = (224, 44, 44, 255)
CLEAR: Color = (0, 0, 0, 0)


def embed_image(pixels: UInt8Array, text: str, css_class: str) -> str:
    """Return an image (height, width, RGBA) as HTML with an alternative text."""
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, "PNG", optimize=True)
    source = f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}"
    alt = escape(text)
    return f'<img class="{css_class}" src="{source}" alt="{alt}" title="{alt}">'


def draw_digit(pixels: UInt8Array) -> UInt8Array:
    """Return a digit in black on a transparent background."""
    rgba = np.zeros((8, 8, 4), np.uint8)
    rgba[..., 3] = np.minimum(pixels.reshape(8, 8).astype(int) * 16, 255)
    return rgba


def color_mask(mask: BoolArray, yes: Color, no: Color) -> UInt8Array:
    """Return a mask in two colors."""
    return np.where(mask[..., None], np.array(yes), np.array(no)).astype(np.uint8)
