"""Images of the items, from a folder, an array, or paths in a metadata column; by row.

No file is ever opened by a name in a request: a request contains a number, and the files are those
listed at startup or named by the metadata.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import lru_cache
from io import BytesIO
from math import isqrt
from pathlib import Path

import numpy as np
from PIL import Image

from bitfold._types import AnyArray, Ids, Int64Array
from bitfold.errors import BitfoldError, DataError, FormatError
from bitfold.explorer.decoding import MAX_PIXELS, decode_image, describe_limit
from bitfold.io.formats.request import translate_errors

MAX_SIDE = 192
"""Maximum width and height of an image on the page, in pixels."""

SUFFIXES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".png", ".webp"})

_MAX_CACHED_IMAGES = 4096

_N_RANGE_IMAGES = 64
"""Number of images from which the range of pixel values is estimated."""


def flatten_image(image: Image.Image) -> Image.Image:
    """Return the image in RGB, on white if it has transparent parts."""
    if image.mode != "RGBA":
        return image.convert("RGB")
    background = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(background, image).convert("RGB")


def encode_png(image: Image.Image) -> bytes:
    """Return a thumbnail for the page as PNG."""
    image.thumbnail((MAX_SIDE, MAX_SIDE))
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


class ImageSource(ABC):
    """Images by item."""

    @abstractmethod
    def __contains__(self, item: int) -> bool:
        """Return whether the item has an image."""

    @abstractmethod
    def load(self, item: int) -> Image.Image:
        """Return the image of an item in its original size."""

    def __init__(self) -> None:
        # The thumbnail of an item as PNG; recent ones are cached.
        self.png = lru_cache(_MAX_CACHED_IMAGES)(lambda item: encode_png(self.load(item)))


class ImageFolder(ImageSource):
    """Images in files.

    Parameters
    ----------
    files
        The file of each item, by row.
    """

    def __init__(self, files: dict[int, Path]) -> None:
        super().__init__()
        self.files = files

    def __contains__(self, item: int) -> bool:
        return item in self.files

    def load(self, item: int) -> Image.Image:
        """Return the image of an item in its original size."""
        return decode_image(self.files[item].read_bytes())


class ImageArray(ImageSource):
    """Images in one array.

    Parameters
    ----------
    pixels
        Array or memory map of shape (n, height, width) or (n, height, width, channels) with 1, 3
        or 4 channels.
    file_rows
        The row in the array of each item; None if the numbers are the same.
    """

    def __init__(self, pixels: AnyArray, file_rows: Int64Array | None = None) -> None:
        super().__init__()
        self.pixels = pixels
        self.file_rows = np.arange(len(pixels)) if file_rows is None else file_rows
        self._low, self._scale = _value_range(pixels)

    def __contains__(self, item: int) -> bool:
        return 0 <= item < len(self.file_rows)

    def load(self, item: int) -> Image.Image:
        """Return the image of an item in its original size."""
        return self.draw(np.asarray(self.pixels[self.file_rows[item]]))

    def draw(self, values: AnyArray) -> Image.Image:
        """Convert pixel values to an image, scaled by the range of the whole array."""
        if values.dtype != np.uint8 or self._scale != 1:
            shifted = (np.nan_to_num(values.astype(np.float64)) - self._low) * self._scale
            values = np.clip(np.round(shifted), 0, 255).astype(np.uint8)
        return Image.fromarray(
            values[..., 0] if values.ndim == 3 and values.shape[2] == 1 else values
        )


class ImageColumn(ImageSource):
    """Images in files whose paths are metadata.

    Parameters
    ----------
    read_path
        Returns the path of an item, or None.
    n_items
        Number of items.
    folders
        Folders that relative paths start from; the first in which the file exists counts.
    """

    def __init__(
        self, read_path: Callable[[int], str | None], n_items: int, folders: tuple[Path, ...]
    ) -> None:
        super().__init__()
        self._read_path = read_path
        self._n_items = n_items
        self._folders = folders

    def __contains__(self, item: int) -> bool:
        return 0 <= item < self._n_items

    def load(self, item: int) -> Image.Image:
        """Return the image of an item in its original size."""
        path = self._read_path(item)
        candidates = [folder / path for folder in self._folders] if path else []
        file = next((each for each in candidates if each.is_file()), None)
        if file is None:
            raise MissingImageError(f"The image {path!r} does not exist.")
        return decode_image(file.read_bytes())


class MissingImageError(BitfoldError, FileNotFoundError):
    """The file of an image does not exist."""


def open_images(path: Path, names: list[str], file_rows: Int64Array) -> ImageSource:
    """Open images in a folder, or in a ``.npy`` or ``.npz`` file.

    Files in a folder and its subfolders are assigned by name (``17.png`` is item 17). If they are
    not named by id, sorted file names are assigned to the items in order.

    Parameters
    ----------
    path
        The folder or file.
    names
        Ids of all items, by row.
    file_rows
        The row of each item in an array.

    Returns
    -------
    ImageSource
        Images by row.

    Raises
    ------
    FormatError
        If the path contains no images.
    DataError
        If the number of images does not match the items.
    """
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if path.is_dir():
        return ImageFolder(_assign_files(path, names))
    pixels = _check_images(_read_array(path), path)
    if len(pixels) <= file_rows.max(initial=-1):
        raise DataError(
            f"{path} has {len(pixels)} images, but the items go up to row {file_rows.max()}; row "
            f"i must be the image of id i of an index, or of item i of a collection."
        )
    return ImageArray(pixels, file_rows)


def open_images_by_id(path: Path, ids: Ids) -> ImageSource:
    """Open images of the items of an index, by id; otherwise like :func:`open_images`."""
    ascending = np.sort(ids)
    images = open_images(path, list(map(str, ascending.tolist())), ascending)
    if isinstance(images, ImageFolder):
        return ImageFolder({int(ascending[row]): file for row, file in images.files.items()})
    assert isinstance(images, ImageArray)
    return ImageArray(images.pixels)


def _assign_files(folder: Path, names: list[str]) -> dict[int, Path]:
    """Return the file of each item."""
    files = sorted(_list_images(folder), key=lambda file: _sort_key(file.relative_to(folder)))
    if not files:
        raise FormatError(f"{folder} contains no images ({', '.join(sorted(SUFFIXES))}).")
    by_stem = {_normalize(file.stem): file for file in files}
    rows = {name: row for row, name in enumerate(names)}
    # By name only if all match: 1.png to 9.png are not named by the ids 0 to 8.
    is_named = len(by_stem) == len(files) and (
        rows.keys() <= by_stem.keys() or by_stem.keys() <= rows.keys()
    )
    if is_named:
        return {rows[stem]: file for stem, file in by_stem.items() if stem in rows}
    if len(files) != len(names):
        raise DataError(
            f"{folder} has {len(files)} images for {len(names)} items; name them by id, as in "
            f"17.png, or provide one image per item."
        )
    return dict(enumerate(files))


def _normalize(stem: str) -> str:
    """Return a file name without leading zeros if it is a number, as ids are written."""
    return str(int(stem)) if stem.isascii() and stem.isdecimal() else stem


def _sort_key(path: Path) -> tuple[str, int, str]:
    """Sort by folder, then by number if the name is one, then by name."""
    is_number = path.stem.isascii() and path.stem.isdecimal()
    return path.parent.as_posix(), int(path.stem) if is_number else -1, path.name


def _list_images(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            file = Path(root, name)
            if file.suffix.lower() in SUFFIXES and not name.startswith("."):
                yield file


def _read_array(path: Path) -> AnyArray:
    suffix = path.suffix.lower()
    if suffix not in (".npy", ".npz"):
        raise FormatError(f"{path} must be a folder, a .npy file or a .npz file.")
    with translate_errors(path, "an array of images"):
        if suffix == ".npy":
            return np.lib.format.open_memmap(path, mode="r")
        with np.load(path, allow_pickle=False) as archive:
            return np.asarray(archive[archive.files[0]])


def _check_images(array: AnyArray, path: Path) -> AnyArray:
    """Return an array of images; rows with a square number of values are square images."""
    if array.ndim == 2 and isqrt(array.shape[1]) ** 2 == array.shape[1]:
        side = isqrt(array.shape[1])
        array = array.reshape(len(array), side, side)
    shaped = array.ndim == 3 or (array.ndim == 4 and array.shape[3] in (1, 3, 4))
    if not shaped or 0 in array.shape or array.dtype.kind not in "fiub":
        found = f"{array.dtype} of shape {array.shape}"
        raise FormatError(f"{path} must hold images (n, height, width[, 3]), got {found}.")
    if array.shape[1] * array.shape[2] > MAX_PIXELS:
        size = f"{array.shape[2]} × {array.shape[1]}"
        raise FormatError(f"{path}: {describe_limit(MAX_PIXELS, size)}")
    return array


def _value_range(pixels: AnyArray) -> tuple[float, float]:
    """Return the value shown as black, and the factor that maps the largest value to white."""
    if pixels.dtype == np.uint8:
        return 0.0, 1.0
    some = np.linspace(0, len(pixels) - 1, min(len(pixels), _N_RANGE_IMAGES)).astype(int)
    values = np.nan_to_num(np.asarray(pixels[some], np.float64))
    low, high = min(0.0, float(values.min())), float(values.max())
    # Bytes stored in a wider type.
    if low == 0 and pixels.dtype.kind in "iu" and 16 < high <= 255:
        return 0.0, 1.0
    return low, 255 / (high - low) if high > low else 1.0
