"""The manifest of an index on disk: the list of its files.

Replacing this one file is what commits a change. It is a JSON object with its own checksum, the
CRC-32 of the compact JSON text of everything else, with sorted keys. It records the size of every
file and the checksum of its header, so that a truncated or exchanged file is detected when the
index is opened.
"""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from bitfold.errors import FormatError
from bitfold.io.array_file import ArrayFile
from bitfold.io.atomic import replace_atomically
from bitfold.io.file_checks import check_version, is_count, parse_json_object
from bitfold.search.contract import MAX_BITS

NAME = "manifest.json"

_FORMAT = "bitfold index"
_FORMAT_VERSION = 1
_MAX_BYTES = 1 << 26
_FILE_NAME = re.compile(r"(?:segment|deleted)-([0-9]{1,15})-[0-9]{1,15}\.bin")


class FileEntry(NamedTuple):
    """The name and size of a file, and the CRC-32 of its header."""

    file: str
    n_bytes: int
    crc32: int

    @classmethod
    def of(cls, file: ArrayFile) -> FileEntry:
        """Return the entry of an open file."""
        return cls(file.path.name, file.n_bytes, file.checksum)


class SegmentEntry(NamedTuple):
    """The files of one segment."""

    segment: FileEntry
    deleted: FileEntry | None


class Manifest(NamedTuple):
    """The content of an index.

    ``generation`` is the number of commits so far; every file name contains the one it was written
    in.
    """

    n_bits: int
    next_id: int
    generation: int
    model_digest: str | None
    segments: tuple[SegmentEntry, ...]

    @property
    def files(self) -> set[str]:
        """Names of all files."""
        return {entry.file for segment in self.segments for entry in segment if entry}


def parse_generation(name: str) -> int | None:
    """Return the generation in the name of an array file, None for other names."""
    match = _FILE_NAME.fullmatch(name)
    return int(match[1]) if match else None


class ManifestStore(Protocol):
    """Where a manifest is kept: a file of its own, or part of something larger."""

    def exists(self) -> bool:
        """Return whether there was a commit."""

    def read(self) -> Manifest:
        """Return the manifest of the last commit; raise FormatError if it is damaged."""

    def write(self, manifest: Manifest) -> None:
        """Replace the manifest, atomically and durably: this commits the change."""


class ManifestFile(NamedTuple):
    """The manifest as a JSON file in the directory of the index."""

    directory: Path

    def exists(self) -> bool:
        """Return whether there was a commit."""
        return (self.directory / NAME).exists()

    def read(self) -> Manifest:
        """Return the manifest of the last commit; raise FormatError if it is damaged."""
        return read(self.directory)

    def write(self, manifest: Manifest) -> None:
        """Replace the manifest, atomically and durably."""
        write(self.directory, manifest)


def encode(manifest: Manifest) -> dict[str, Any]:
    """Return a manifest as values that JSON can hold."""
    segments = [
        {"segment": segment._asdict(), "deleted": deleted and deleted._asdict()}
        for segment, deleted in manifest.segments
    ]
    return {**manifest._asdict(), "segments": segments}


def write(directory: Path, manifest: Manifest) -> None:
    """Replace the manifest, atomically and durably."""
    content = {"format": _FORMAT, "format_version": _FORMAT_VERSION, **encode(manifest)}
    text = json.dumps(content | {"crc32": _compute_checksum(content)}, indent=1)
    with replace_atomically(directory / NAME) as file:
        file.write(text.encode())


def read(directory: Path) -> Manifest:
    """Read and verify the manifest of a directory that exists."""
    path = directory / NAME
    if not path.is_file():
        raise FormatError(f"{directory} is not a bitfold index: it has no {NAME}.")
    with path.open("rb") as file:
        content = parse_json_object(file.read(_MAX_BYTES))
    if content is None:
        raise FormatError(f"{path} is damaged: it is not a JSON object.")
    if content.get("format") != _FORMAT:
        raise FormatError(f"{directory} is not a bitfold index: {NAME} has another format.")
    check_version(path, content.get("format_version"), _FORMAT_VERSION)
    if not _matches_checksum(content):
        raise FormatError(f"{path} is damaged: it does not match its checksum.")
    try:
        return decode(content)
    # An entry can have any wrong key, type or number.
    except (AttributeError, KeyError, TypeError, ValueError):
        raise FormatError(f"{path} is damaged: its values are not valid.") from None


def _compute_checksum(content: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())


def _matches_checksum(content: dict[str, Any]) -> bool:
    """Remove the checksum, and return whether it matches the rest."""
    try:
        return bool(content.pop("crc32", None) == _compute_checksum(content))
    # JSON that can be parsed may be nested too deeply to be written.
    except RecursionError:
        return False


def decode(content: dict[str, Any]) -> Manifest:
    """Return the manifest in some values; raise an error of any class if they are not valid."""
    n_bits, next_id, generation, digest = (content[name] for name in Manifest._fields[:-1])
    if not (is_count(n_bits) and 1 <= n_bits <= MAX_BITS and is_count(generation)):
        raise ValueError("n_bits or generation")
    if type(next_id) is not int or abs(next_id) > 1 << 63:
        raise ValueError("next_id")
    if digest is not None and not isinstance(digest, str):
        raise ValueError("model_digest")
    segments = tuple(map(_decode_segment, content["segments"]))
    return Manifest(n_bits, next_id, generation, digest, segments)


def _decode_segment(values: dict[str, Any]) -> SegmentEntry:
    deleted = values["deleted"]
    return SegmentEntry(
        _decode_file(values["segment"]), None if deleted is None else _decode_file(deleted)
    )


def _decode_file(values: dict[str, Any]) -> FileEntry:
    entry = FileEntry(*(values[name] for name in FileEntry._fields))
    # Any other name could lead out of the directory.
    if parse_generation(entry.file) is None or not all(map(is_count, entry[1:])):
        raise ValueError("file")
    return entry
