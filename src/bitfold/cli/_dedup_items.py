"""The items that ``bitfold dedup`` compares: their codes, from any kind of input."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import typer

from bitfold._types import AnyArray
from bitfold.cli import _inputs
from bitfold.cli._terminal import ProgressDisplay
from bitfold.codes import Codes
from bitfold.errors import FormatError
from bitfold.hashers import LSH, Hasher, load
from bitfold.io import encode_to_file, file_system, open_codes, read_hex_codes
from bitfold.io.atomic import replace_atomically
from bitfold.search import HammingIndex

DEFAULT_BITS = 256
"""Length of the codes if no model is given."""

HEX_SUFFIXES = (".txt", ".hex")

MODEL_NAME, CODES_NAME = "model.bitfold", "vectors.codes"
"""Files of a run that is not finished."""


@dataclass(frozen=True)
class CodedItems:
    """The index of the items, and their original vectors or the file of these, if given."""

    index: HammingIndex
    source: Path | AnyArray | None

    def read_vectors(self) -> AnyArray | None:
        """Return the original vectors, whose rows are accessed in any order."""
        return _inputs.read_vectors(self.source) if isinstance(self.source, Path) else self.source


class Encoding(NamedTuple):
    """How vectors become codes: by a model, or by one that is fitted for ``n_bits``."""

    model: Path | None
    n_bits: int
    cosine: bool

    def describe(self, vectors: Path) -> str:
        """Return a text that changes when the codes would."""
        model = None if self.model is None else _inputs.fingerprint(self.model)
        # Nothing is known about what a pipe delivers, so that no other run can continue.
        stamp = _inputs.fingerprint(vectors) or secrets.token_hex(8)
        return json.dumps([stamp, model, self.n_bits, self.cosine])

    def prepare_hasher(self, X: Any, saved: Path, display: ProgressDisplay) -> Hasher:
        """Return the hasher: the given one, the one of an interrupted run, or a new one."""
        if self.model is not None or saved.exists():
            return load(self.model or saved)
        # Random hyperplanes weigh all directions equally. Learned codes spend their bits on the
        # main directions, in which near-duplicates and merely similar items do not differ.
        hasher = LSH(self.n_bits, random_state=0, normalize=self.cosine)
        with display.bar("LSH") as report:
            hasher.fit(X, progress=report)
        hasher.save(saved)
        return hasher


def has_codes(items: Path) -> bool:
    """Return whether an input has codes rather than vectors, by its name."""
    is_index = items.is_dir() and items.suffix.lower() not in (".zarr", ".parquet")
    return is_index or items.suffix.lower() in (".codes", *HEX_SUFFIXES)


def open_items(
    items: Path, vectors: Path | None, encoding: Encoding, work: Path, display: ProgressDisplay
) -> CodedItems:
    """Open an index, read codes, or encode vectors."""
    if items.is_dir() and has_codes(items):
        return CodedItems(HammingIndex.open(items), vectors)
    if has_codes(items):
        is_hex = items.suffix.lower() in HEX_SUFFIXES
        return CodedItems(_index(read_hex_codes(items) if is_hex else open_codes(items)), vectors)
    with display.spinner("reading"):
        X = _inputs.open_rereadable_vectors(items)
    hasher = encoding.prepare_hasher(X, work / MODEL_NAME, display)
    codes = _encode(hasher, X, work / CODES_NAME, display)
    return CodedItems(_index(codes), X if str(items) == "-" else items)


def _encode(hasher: Hasher, X: Any, path: Path, display: ProgressDisplay) -> Codes:
    """Encode vectors to a file, or open the file that an interrupted run has finished."""
    if not path.exists():
        with display.bar("encode") as report:
            encode_to_file(hasher, X, path, progress=lambda _, *done: report("rows", *done))
    return open_codes(path)


def _index(codes: Codes) -> HammingIndex:
    index = HammingIndex(codes.n_bits)
    index.add(codes)
    return index


@contextmanager
def keep_work(folder: Path, inputs: str) -> Iterator[None]:
    """Keep the files of a run that is interrupted for the next run with the same inputs."""
    note = folder / "inputs.json"
    if folder.exists() and not note.exists() and any(folder.iterdir()):
        raise FileExistsError(
            f"{folder} exists, and bitfold did not make it; choose another --out."
        )
    if note.exists() and note.read_text("utf-8") != inputs:
        file_system.remove_directory(folder)
    file_system.make_directory(folder)
    with replace_atomically(note) as file:
        file.write(inputs.encode())
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("bitfold: interrupted; run the command again to continue.", err=True)
        raise
    except BaseException as error:
        is_encoded = (folder / CODES_NAME).exists()
        # Invalid vectors stay invalid, but after any other mistake the codes can be used.
        if not is_encoded and not isinstance(error, (OSError, MemoryError)):
            file_system.remove_directory(folder)
        raise
    file_system.remove_directory(folder)


def check_bits(index: HammingIndex, other: HammingIndex, name: Path) -> None:
    """Raise unless the codes of two indexes have the same length."""
    if index.n_bits != other.n_bits:
        raise typer.BadParameter(
            f"The items have codes of {index.n_bits} bits, but those of {name} have {other.n_bits}."
        )


def check_index(path: Path) -> None:
    """Raise unless a path is a folder, as every index is."""
    if not path.is_dir():
        raise FormatError(f"{path} is not an index: an index is a folder.")
