"""The text set: one-line descriptions of Debian packages as sentence vectors, with sections.

It is read from the folder ``text`` in ``BITFOLD_DATA``. ``python -m reproduction text-set`` makes
an equivalent one from the package lists of any Debian system.
"""

from __future__ import annotations

import lzma
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bitfold.datasets import Dataset, split_dataset
from bitfold.errors import DataError, FormatError
from bitfold.io.atomic import replace_atomically
from bitfold.io.download import find_file, missing_error
from bitfold.io.formats.request import translate_errors
from reproduction.data.package_lists import Package, read_packages, select_packages
from reproduction.shared_types import AnyArray, Float32Array, UInt8Array

FOLDER = "text"
VECTORS_FILE = "debian.npz"
DESCRIPTIONS_FILE = "debian-descriptions.txt.xz"

_MAX_SECTIONS = 256
"""Labels are single bytes."""


class TextSet(NamedTuple):
    """Unit vectors (n, 256), the number of each one's section, and the names of the sections."""

    vectors: AnyArray
    labels: UInt8Array
    names: AnyArray


def load_text(n_queries: int = 1000, seed: int = 0) -> Dataset:
    """Load the text set; descriptions in the same section are relevant to each other.

    Parameters
    ----------
    n_queries
        Number of queries, chosen at random.
    seed
        Seed of the split.

    Raises
    ------
    FormatError
        If the file is damaged.
    MissingDataError
        If it is neither in ``BITFOLD_DATA`` nor in the cache.
    """
    path = find_file([FOLDER], [VECTORS_FILE])
    if path is None:
        raise missing_error(FOLDER, VECTORS_FILE)
    text = read_text_set(path)
    X = np.asarray(text.vectors, np.float32)
    return split_dataset(X, text.labels, n_queries, seed, "Debian descriptions")


def read_text_set(path: Path) -> TextSet:
    """Read the vectors and labels of a text set."""
    with (
        translate_errors(path, "an archive of sentence vectors"),
        path.open("rb") as file,  # which numpy would leave open after an error
        np.load(file, allow_pickle=False) as archive,
    ):
        text = TextSet(*(archive[name] for name in TextSet._fields))
    if len(text.vectors) != len(text.labels):
        raise FormatError(f"{path} has {len(text.vectors)} vectors, but {len(text.labels)} labels.")
    return text


def read_descriptions(path: Path) -> list[tuple[str, str]]:
    """Read the name and description of each package, in the order of the vectors."""
    with translate_errors(path, "an .xz file of text", lzma.LZMAError, EOFError, UnicodeError):
        lines = lzma.decompress(path.read_bytes()).decode("utf-8").splitlines()
    pairs = (line.partition("\t") for line in lines)
    return [(name, description) for name, _, description in pairs]


def make_text_set(lists: Sequence[Path], folder: Path) -> Path:
    """Make a text set from package lists, and return the path of its vectors.

    The same lists give the same files.

    Parameters
    ----------
    lists
        Files ``Packages``; entries of later lists replace those of earlier ones.
    folder
        Folder to write to; it is created if necessary.

    Raises
    ------
    DataError
        If the lists have more sections than labels can name.
    """
    packages = select_packages(package for path in lists for package in read_packages(path))
    text = _label_and_embed(packages)
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{package.name}\t{package.description}\n" for package in packages)
    with replace_atomically(folder / DESCRIPTIONS_FILE) as file:
        file.write(lzma.compress(lines.encode()))
    with replace_atomically(folder / VECTORS_FILE) as file:
        np.savez(file, **text._asdict())
    return folder / VECTORS_FILE


def _label_and_embed(packages: Sequence[Package]) -> TextSet:
    names, labels = np.unique([package.section for package in packages], return_inverse=True)
    if len(names) > _MAX_SECTIONS:
        raise DataError(
            f"The package lists have {len(names)} sections; a text set can have at most "
            f"{_MAX_SECTIONS}."
        )
    vectors = embed_sentences([package.description for package in packages])
    return TextSet(vectors.astype(np.float16), labels.astype(np.uint8), names)


def embed_sentences(sentences: Sequence[str]) -> Float32Array:
    """Return one unit vector of 256 numbers per sentence, from the model that wordllama ships."""
    try:
        import wordllama  # here, because it enables log messages of later imports
    except ImportError:
        raise ImportError("Sentence vectors need wordllama: pip install wordllama.") from None

    folder = Path(wordllama.__file__).parent  # contains the model; nothing is downloaded
    model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    return np.asarray(model.embed(list(sentences), norm=True), np.float32)
