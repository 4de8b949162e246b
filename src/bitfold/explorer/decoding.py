"""Decoding of images that are not trusted, in bounded memory."""

from __future__ import annotations

from io import BytesIO
from math import isqrt

from PIL import Image, UnidentifiedImageError

from bitfold.errors import DataError

MAX_PIXELS = 50_000_000
"""Maximum number of pixels of an image that is decoded."""

MAX_DECODING_BYTES = 160_000_000
"""Maximum memory for decoding an upload, as estimated from its format and size."""

FORMATS = ("BMP", "GIF", "JPEG", "PNG", "WEBP")
"""Raster formats only; none can contain a script or start a program."""

_BYTES_PER_PIXEL = {"BMP": 10, "GIF": 10, "JPEG": 5, "PNG": 10, "WEBP": 22}
"""Peak memory of decoding and reducing, measured with Pillow on images of 12 million pixels."""

_COEFFICIENT_BYTES = 8
"""Bytes per pixel that libjpeg holds in addition if an image has several scans."""

_MAX_WORKING_PIXELS = 1 << 22
"""Larger images are reduced first; features and thumbnails need only a few thousand pixels."""


class InvalidImageError(DataError):
    """An image is damaged, too large, or of an unsupported format."""


def decode_image(content: bytes, max_bytes: int | None = None) -> Image.Image:
    """Decode an untrusted image file; a very large image is reduced by a whole factor.

    Parameters
    ----------
    content
        The file.
    max_bytes
        Maximum memory for decoding; None for no limit but ``MAX_PIXELS``.

    Returns
    -------
    PIL.Image.Image
        The image in RGB, or in RGBA if it has transparent parts.

    Raises
    ------
    InvalidImageError
        If the file is damaged, of an unsupported format, or needs too much memory.
    """
    try:
        with Image.open(BytesIO(content), formats=FORMATS) as image:
            _check_size(image, content, max_bytes)
            image.load()
            return _convert(image)
    except InvalidImageError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise InvalidImageError(describe_limit(MAX_PIXELS, "more")) from None
    except UnidentifiedImageError:
        names = f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
        raise InvalidImageError(f"The image must be a {names} file.") from None
    # Decoders raise many kinds of errors for damaged files.
    except Exception:
        raise InvalidImageError("The image is truncated or damaged.") from None


def describe_limit(n_pixels: int, size: str) -> str:
    """Return the message about an image that has too many pixels."""
    return f"Images must have at most {n_pixels / 1e6:.3g} million pixels, got {size}."


def _check_size(image: Image.Image, content: bytes, max_bytes: int | None) -> None:
    """Raise if decoding would need too much memory; a large JPEG is decoded at a smaller size."""
    width, height = image.size
    n_pixels = width * height
    if n_pixels > MAX_PIXELS:
        raise InvalidImageError(describe_limit(MAX_PIXELS, f"{width} × {height}"))
    if n_pixels > _MAX_WORKING_PIXELS:
        # libjpeg can decode at 1/2, 1/4 or 1/8 of the size; other formats ignore this.
        side = isqrt(_MAX_WORKING_PIXELS)
        image.draft(None, (side, side))
    cost = _BYTES_PER_PIXEL[str(image.format)] * image.width * image.height
    if image.format == "JPEG" and _has_several_scans(content):
        cost += _COEFFICIENT_BYTES * n_pixels
    if max_bytes is not None and cost > max_bytes:
        limit = max_bytes * n_pixels // cost
        raise InvalidImageError(describe_limit(limit, f"{width} × {height}"))


def _has_several_scans(content: bytes) -> bool:
    """Return whether libjpeg must hold a whole JPEG image as coefficients before it can decode."""
    at, n_components = 2, -1
    while at + 4 <= len(content):
        marker, length = content[at + 1], int.from_bytes(content[at + 2 : at + 4], "big")
        if content[at] != 0xFF or marker == 0xFF:
            at += 1  # padding
            continue
        if marker in (0xC0, 0xC1) and at + 9 < len(content):
            n_components = content[at + 9]
        if marker == 0xDA:
            # A sequential image whose first scan has all components needs no others.
            return at + 4 >= len(content) or content[at + 4] != n_components
        at += 2 + length
    return True


def _convert(image: Image.Image) -> Image.Image:
    """Return the image in RGB, or RGBA if it has transparent parts, reduced if it is large."""
    mode = "RGBA" if image.has_transparency_data else "RGB"
    n_pixels = image.width * image.height
    if n_pixels <= _MAX_WORKING_PIXELS:
        return image.convert(mode)
    # Converting a large image that has the right mode would only copy it.
    converted = image if image.mode == mode else image.convert(mode)
    return converted.reduce(isqrt(n_pixels // _MAX_WORKING_PIXELS) + 1)
