"""Images that are embedded in HTML."""

from __future__ import annotations

import base64
import io
import re

import numpy as np
from PIL import Image
from reproduction.demo.images import GRAY, RED, color_mask, draw_digit, embed_image


def test_embedded_image_can_be_read() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (3, 5, 4)).astype(np.uint8)
    html = embed_image(pixels, "a <b>", "digit")
    assert 'class="digit"' in html
    assert html.count('"a &lt;b&gt;"') == 2
    (data,) = re.findall(r'src="data:image/png;base64,([^"]+)"', html)
    with Image.open(io.BytesIO(base64.b64decode(data))) as image:
        assert np.array_equal(np.asarray(image), pixels)


def test_mask_has_two_colors() -> None:
    pixels = color_mask(np.array([[True, False]]), RED, GRAY)
    assert [tuple(pixel) for pixel in pixels[0].tolist()] == [RED, GRAY]


def test_digit_is_black_and_transparent() -> None:
    rgba = draw_digit(np.arange(64, dtype=np.uint8) % 17)
    assert rgba.shape == (8, 8, 4)
    assert not rgba[..., :3].any()
    assert (rgba[..., 3].min(), rgba[..., 3].max()) == (0, 255)
