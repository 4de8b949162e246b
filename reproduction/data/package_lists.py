"""Package lists of Debian: name, section and one-line description of each package."""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from bitfold.errors import FormatError
from bitfold.io.formats.request import translate_errors

_EXPECTED = "a package list of Debian, plain or compressed with gzip or xz"
_GZIP, _XZ, _LZ4 = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x04\x22\x4d\x18"
"""First bytes of compressed files."""


class Package(NamedTuple):
    """A package; its section is without the archive area, such as ``contrib/``."""

    name: str
    section: str
    description: str


def read_packages(path: Path) -> list[Package]:
    """Read the packages of a list; those without a section or description are left out.

    Parameters
    ----------
    path
        A file ``Packages``, plain, gzipped or in the xz format.

    Raises
    ------
    FormatError
        If the file is damaged, has no packages, or is compressed in another way.
    """
    with translate_errors(path, _EXPECTED, EOFError, UnicodeError, gzip.BadGzipFile, zlib.error,
                          lzma.LZMAError):  # fmt: skip
        text = _decompress(path).decode("utf-8")
    packages = list(_parse_packages(io.StringIO(text)))
    if not packages:
        raise FormatError(f"{path} has no packages: expected {_EXPECTED}.")
    return packages


def _decompress(path: Path) -> bytes:
    content = path.read_bytes()
    if content.startswith(_LZ4):
        raise FormatError(
            f"{path} is compressed with lz4. Decompress it with /usr/lib/apt/apt-helper cat-file."
        )
    if content.startswith(_GZIP):
        return gzip.decompress(content)
    return lzma.decompress(content) if content.startswith(_XZ) else content


def _parse_packages(lines: Iterable[str]) -> Iterator[Package]:
    """Yield the packages, which are separated by empty lines."""
    fields: dict[str, str] = {}
    for line in (*lines, "\n"):
        name, _, value = line.partition(":")
        if not line.strip():
            if all(fields.get(field) for field in ("Package", "Section", "Description")):
                section = fields["Section"].rpartition("/")[2]
                yield Package(fields["Package"], section, fields["Description"])
            fields = {}
        else:  # a line that continues a field begins with a space, as no name does
            fields[name] = value.strip()


def select_packages(packages: Iterable[Package]) -> list[Package]:
    """Keep the last entry of each package, and the first package with each description.

    A list of security updates, read after the list of a release, replaces the packages in it.
    """
    listed = list(packages)
    last = {package.name: number for number, package in enumerate(listed)}
    by_description: dict[str, Package] = {}
    for number in sorted(last.values()):
        by_description.setdefault(listed[number].description, listed[number])
    return list(by_description.values())
