"""Named members of a .tar.gz archive; nothing else in it is touched."""

from __future__ import annotations

import shutil
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO

from bitfold.errors import FormatError
from bitfold.io.atomic import replace_atomically
from bitfold.io.formats.errors import read_as


def visit(path: Path, names: list[str], use: Callable[[str, IO[bytes]], None]) -> None:
    """Hand these files of an archive over, whatever folder of it they are in, in its order."""
    left = set(names)
    wrong = (tarfile.TarError, EOFError, zlib.error)
    with (
        read_as(f"a .tar.gz archive with {names[0]} in it", path, *wrong),
        # Read once from front to back, and no further than needed.
        tarfile.open(path, "r|gz") as archive,
    ):
        for member in archive:
            name = PurePosixPath(member.name).name
            content = archive.extractfile(member) if member.isreg() and name in left else None
            if content is not None:
                use(name, content)
                left.remove(name)
            if not left:
                return
    raise FormatError(f"{path} must have {min(left)} in it, got an archive without.")


def unpack(path: Path, names: list[str], folder: Path) -> None:
    """Write these files of an archive to a folder, each whole or not at all."""

    def write(name: str, content: IO[bytes]) -> None:
        with replace_atomically(folder / name) as file:
            shutil.copyfileobj(content, file, 1 << 20)

    visit(path, names, write)


def contents(path: Path, names: list[str]) -> dict[str, bytes]:
    """Return the contents of these files of an archive."""
    found: dict[str, bytes] = {}
    visit(path, names, lambda name, content: found.update({name: content.read()}))
    return found
