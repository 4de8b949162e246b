"""Chosen files of a .tar.gz archive; nothing else in it is extracted."""

from __future__ import annotations

import shutil
import tarfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from bitfold.errors import FormatError
from bitfold.io.atomic import replace_atomically
from bitfold.io.formats.request import translate_errors


def extract_files(archive: Path, names: Sequence[str], folder: Path) -> None:
    """Extract files of a .tar.gz archive into a folder.

    Parameters
    ----------
    archive
        The archive.
    names
        Names of the files, without the folders that contain them in the archive.
    folder
        Where to write them; each file appears only when it is complete.

    Raises
    ------
    FormatError
        If the archive is damaged, or does not contain all the files.
    """
    missing = set(names)
    errors = (tarfile.TarError, EOFError, zlib.error)
    with (
        translate_errors(archive, f"a .tar.gz archive that contains {names[0]}", *errors),
        # Streaming reads the archive once, and not beyond the last file needed.
        tarfile.open(archive, "r|gz") as tar,
    ):
        for member in tar:
            name = PurePosixPath(member.name).name
            content = tar.extractfile(member) if member.isreg() and name in missing else None
            if content is not None:
                with replace_atomically(folder / name) as file:
                    shutil.copyfileobj(content, file, 1 << 20)
                missing.remove(name)
            if not missing:
                return
    raise FormatError(f"{archive} does not contain {min(missing)}.")
