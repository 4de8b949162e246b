"""The manifest of an index on disk: which files it consists of.

Replacing this one file is what makes a change happen. It is a JSON object with its own checksum,
the CRC-32 of the compact JSON text, keys sorted, of all the rest. Of every file it knows the size
and the checksum of the header, so that a truncated or exchanged one is seen at once.
"""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from bitfold.errors import FormatError
from bitfold.io import model_file
from bitfold.io.array_file import Container, damage, is_count, newer
from bitfold.io.atomic import replace_atomically
from bitfold.search.contract import MAX_BITS

NAME = "manifest.json"

_FORMAT = "bitfold index"
_VERSION = 1
_MAX_BYTES = 1 << 26
_FILE_NAME = re.compile(r"(?:segment|deleted)-([0-9]{1,15})-[0-9]{1,15}\.bin")


class Named(NamedTuple):
    """One file: its name, its size in bytes and the CRC-32 of its header."""

    file: str
    size: int
    crc32: int

    @classmethod
    def of(cls, file: Container) -> Named:
        """Describe a file."""
        return cls(file.path.name, file.size, file.checksum)


class Entry(NamedTuple):
    """The files of one segment."""

    segment: Named
    deleted: Named | None


class Manifest(NamedTuple):
    """What an index consists of.

    ``generation`` counts the commits; the names of files tell the one they were written by.
    """

    n_bits: int
    next_id: int
    generation: int
    model_digest: str | None
    entries: tuple[Entry, ...]

    @property
    def files(self) -> set[str]:
        """The names of all files."""
        return {named.file for entry in self.entries for named in entry if named}


def generation_of(name: str) -> int | None:
    """Return the commit a file was written by; None if it is none of an index."""
    match = _FILE_NAME.fullmatch(name)
    return int(match[1]) if match else None


def write(directory: Path, manifest: Manifest) -> None:
    """Replace the manifest, atomically and durably."""
    content = {
        "format": _FORMAT,
        "version": _VERSION,
        "n_bits": manifest.n_bits,
        "next_id": manifest.next_id,
        "generation": manifest.generation,
        "model_digest": manifest.model_digest,
        "segments": [
            entry.segment._asdict() | {"deleted": entry.deleted and entry.deleted._asdict()}
            for entry in manifest.entries
        ],
    }
    text = json.dumps(content | {"crc32": _checksum(content)}, indent=1)
    with replace_atomically(directory / NAME) as file:
        file.write(text.encode())


def read(directory: Path) -> Manifest:
    """Read and verify the manifest of a directory that exists."""
    path = directory / NAME
    content = _parse(path)
    if content.get("format") != _FORMAT:
        raise FormatError(f"{directory} is not a bitfold index: its {NAME} is of something else.")
    version = content.get("version")
    if type(version) is int and version > _VERSION:
        raise newer(path, version, _VERSION)
    if not _sound(content):
        raise damage(path, f"{NAME} fails its checksum")
    try:
        return _decode(content)
    # Whatever can be wrong with an entry: a key, a type, a number.
    except (AttributeError, KeyError, TypeError, ValueError):
        raise damage(path, f"{NAME} has a right checksum and wrong values") from None


def _checksum(content: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())


def _sound(content: dict[str, Any]) -> bool:
    """Whether the checksum, which is taken out, is that of the rest."""
    try:
        return bool(content.pop("crc32", None) == _checksum(content))
    # What could just be parsed can be too deep to be written again.
    except RecursionError:
        return False


def _parse(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise FormatError(f"{path.parent} is not a bitfold index: it has no {NAME}.")
    with path.open("rb") as file:
        content = model_file.parse(file.read(_MAX_BYTES))
    if content is None:
        raise damage(path, f"{NAME} is truncated or no JSON object")
    return content


def _decode(content: dict[str, Any]) -> Manifest:
    if content["version"] != _VERSION:
        raise ValueError("version")
    n_bits, next_id, generation = (content[key] for key in ("n_bits", "next_id", "generation"))
    if not (is_count(n_bits) and 1 <= n_bits <= MAX_BITS and is_count(generation)):
        raise ValueError("n_bits or generation")
    if type(next_id) is not int or abs(next_id) > 1 << 63:
        raise ValueError("next_id")
    digest = content["model_digest"]
    if digest is not None and not isinstance(digest, str):
        raise ValueError("model_digest")
    entries = (
        Entry(_named(segment), _named(segment["deleted"]) if segment["deleted"] else None)
        for segment in content["segments"]
    )
    return Manifest(n_bits, next_id, generation, digest, tuple(entries))


def _named(values: dict[str, Any]) -> Named:
    named = Named(values["file"], values["size"], values["crc32"])
    # Nothing but such a name: it could otherwise lead out of the directory.
    if generation_of(named.file) is None or not all(map(is_count, named[1:])):
        raise ValueError("file")
    return named
