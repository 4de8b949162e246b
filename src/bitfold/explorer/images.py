"""Pictures of the items: from a folder or an array, made small for the page; and those uploaded.

Nothing is ever opened by a name that came with a request: a request names a number, and the files
are those that were listed at the start.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import lru_cache
from io import BytesIO
from math import isqrt
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from bitfold._types import AnyArray, Ids
from bitfold.errors import FormatError
from bitfold.io.formats.request import translate_errors

SIDE = 192
"""The longer side of a picture on the page, at most."""

MOST_PIXELS = 50_000_000
"""Of a picture that is opened: 150 MB when unpacked."""

FORMATS = ("BMP", "GIF", "JPEG", "PNG", "WEBP")
"""Plain pixels only: nothing that could hold a script or call a program."""

SUFFIXES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".png", ".webp"})

_KEPT = 4096
"""Small pictures that are kept in memory."""

_LOOKED_AT = 64
"""Pictures of an array by which the range of its values is known."""

_WRONG = (ValueError, OSError, EOFError, TypeError, KeyError, MemoryError)


class NoPicture(ValueError):
    """Raised when bytes are no picture, or one that is damaged, too large or of another format."""


def decode(content: bytes) -> Image.Image:
    """Unpack a picture from outside, whatever it may be.

    Parameters
    ----------
    content
        The bytes of a file.
    """
    try:
        with Image.open(BytesIO(content), formats=FORMATS) as image:
            width, height = image.size
            if width * height > MOST_PIXELS:
                raise NoPicture(_too_large(f"{width} × {height}"))
            image.load()
            return image.convert("RGBA" if image.has_transparency_data else "RGB")
    except NoPicture:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise NoPicture(_too_large("more")) from None
    except UnidentifiedImageError:
        names = f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
        raise NoPicture(f"picture must be a {names} file, got something else.") from None
    # Whatever a decoder makes of damaged bytes.
    except Exception:
        raise NoPicture("picture must be whole, got a truncated or damaged one.") from None


def on_white(image: Image.Image) -> Image.Image:
    """Return the picture without transparency, as red, green and blue."""
    if image.mode != "RGBA":
        return image.convert("RGB")
    ground = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(ground, image).convert("RGB")


def png(image: Image.Image) -> bytes:
    """Write a picture for the page, no larger than it can use."""
    image.thumbnail((SIDE, SIDE))
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


class Album(ABC):
    """Pictures by item."""

    @abstractmethod
    def __contains__(self, item: int) -> bool:
        """Whether there is a picture of this item."""

    @abstractmethod
    def load(self, item: int) -> Image.Image:
        """Return an item's picture in its own size."""

    def png(self, item: int) -> bytes:
        """Return an item's picture as a small PNG; those asked for last are kept."""
        return self._small(item)

    def __init__(self) -> None:
        self._small = lru_cache(_KEPT)(lambda item: png(self.load(item)))


class Folder(Album):
    """Pictures in files.

    Parameters
    ----------
    files
        The file of each item.
    """

    def __init__(self, files: dict[int, Path]) -> None:
        super().__init__()
        self.files = files

    def __contains__(self, item: int) -> bool:
        return item in self.files

    def load(self, item: int) -> Image.Image:
        """Return an item's picture in its own size."""
        return decode(self.files[item].read_bytes())


class Stack(Album):
    """Pictures in one array.

    Parameters
    ----------
    pixels
        (n, height, width), (…, 1), (…, 3) or (…, 4), an array or a memory map.
    """

    def __init__(self, pixels: AnyArray) -> None:
        super().__init__()
        self.pixels = pixels
        self._low, self._scale = _range(pixels)

    def __contains__(self, item: int) -> bool:
        return 0 <= item < len(self.pixels)

    def load(self, item: int) -> Image.Image:
        """Return an item's picture in its own size."""
        return self.draw(np.asarray(self.pixels[item]))

    def draw(self, values: AnyArray) -> Image.Image:
        """Draw one picture in the array's range of values."""
        if values.dtype != np.uint8 or self._scale != 1:
            shifted = (np.nan_to_num(values.astype(np.float64)) - self._low) * self._scale
            values = np.clip(np.round(shifted), 0, 255).astype(np.uint8)
        return Image.fromarray(
            values[..., 0] if values.ndim == 3 and values.shape[2] == 1 else values
        )


def read_album(path: Path, ids: Ids) -> Album:
    """Read pictures from a folder, or from a ``.npy`` or ``.npz`` file.

    Files of a folder, and of the folders in it, belong to the items they are named by
    (``17.png``); where they are not, to the items in the order of their ids, as the names sort.

    Parameters
    ----------
    path
        The folder or file.
    ids
        Ids of all items.
    """
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if path.is_dir():
        return Folder(_assigned(path, ids))
    pixels = _as_pictures(_read_array(path), path)
    if len(pixels) <= ids.max(initial=-1):
        wanted = f"a picture for every id of the index up to {ids.max()}"
        raise ValueError(f"{path} must have {wanted}, got {len(pixels)}.")
    return Stack(pixels)


def _assigned(folder: Path, ids: Ids) -> dict[int, Path]:
    """Find out which file shows which item."""
    files = sorted(_listed(folder), key=lambda file: file.relative_to(folder).as_posix())
    if not files:
        raise FormatError(f"{folder} must hold pictures ({', '.join(sorted(SUFFIXES))}), got none.")
    items = set(ids.tolist())
    numbers = [int(file.stem) if file.stem.isdecimal() else -1 for file in files]
    numbered = min(numbers) >= 0 and len(set(numbers)) == len(numbers)
    # By name only if that leaves none over: 1.png to 9.png are no names for ids 0 to 8.
    if numbered and (items <= set(numbers) or set(numbers) <= items):
        return {
            number: file for number, file in zip(numbers, files, strict=True) if number in items
        }
    if len(files) != len(ids):
        wanted = f"named by id, or one for each of the {len(ids)} items of the index"
        raise ValueError(f"pictures in {folder} must be {wanted}, got {len(files)}.")
    if numbered:
        files = [file for _, file in sorted(zip(numbers, files, strict=True))]
    return dict(zip(np.sort(ids).tolist(), files, strict=True))


def _listed(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            file = Path(root, name)
            if file.suffix.lower() in SUFFIXES and not name.startswith("."):
                yield file


def _read_array(path: Path) -> AnyArray:
    suffix = path.suffix.lower()
    if suffix not in (".npy", ".npz"):
        raise ValueError(f"{path} must be a folder, a .npy or a .npz file, got another file.")
    import zipfile
    import zlib

    with translate_errors(path, "an array of pictures", *_WRONG, zipfile.BadZipFile, zlib.error):
        if suffix == ".npy":
            return np.lib.format.open_memmap(path, mode="r")
        with np.load(path, allow_pickle=False) as archive:
            return np.asarray(archive[archive.files[0]])


def _as_pictures(array: AnyArray, path: Path) -> AnyArray:
    """Demand pictures; rows of a square number of values are square pictures."""
    if array.ndim == 2 and isqrt(array.shape[1]) ** 2 == array.shape[1]:
        side = isqrt(array.shape[1])
        array = array.reshape(len(array), side, side)
    shaped = array.ndim == 3 or (array.ndim == 4 and array.shape[3] in (1, 3, 4))
    if not shaped or 0 in array.shape or array.dtype.kind not in "fiub":
        came = f"{array.dtype} of shape {array.shape}"
        raise FormatError(f"{path} must hold pictures (n, height, width[, 3]), got {came}.")
    if array.shape[1] * array.shape[2] > MOST_PIXELS:
        raise FormatError(f"{path}: {_too_large(f'{array.shape[2]} × {array.shape[1]}')}")
    return array


def _range(pixels: AnyArray) -> tuple[float, float]:
    """Return the value that is black, and the factor that makes the largest white."""
    if pixels.dtype == np.uint8:
        return 0.0, 1.0
    some = np.linspace(0, len(pixels) - 1, min(len(pixels), _LOOKED_AT)).astype(int)
    values = np.nan_to_num(np.asarray(pixels[some], np.float64))
    low, high = min(0.0, float(values.min())), float(values.max())
    # Bytes that are stored as wider numbers are bytes all the same.
    if low == 0 and pixels.dtype.kind in "iu" and 16 < high <= 255:
        return 0.0, 1.0
    return low, 255 / (high - low) if high > low else 1.0


def _too_large(came: str) -> str:
    return f"picture must have at most {MOST_PIXELS // 1_000_000} million pixels, got {came}."
