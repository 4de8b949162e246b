"""A disk that loses what was not synced, behind ``bitfold.io.file_system``.

The disk performs every call on a real folder and records it. Afterward the power can fail after
any recorded call: :meth:`SimulatedDisk.crashes` yields what could be on the disk then. Content
that was not synced is kept, lost, or torn: single sectors of it are missing or contain garbage.
Names that were not synced are kept or lost, in any order. Only a rename is atomic.
"""

from __future__ import annotations

import io
import random
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest

from bitfold.io import file_system

SECTOR_BYTES = 512

Files = dict[Path, bytes | None]
"""Content by path; None is a folder."""


class KilledError(BaseException):
    """The process was killed; a BaseException, because no handler runs after a kill."""


@dataclass
class Inode:
    """A file without its name: its content on the disk, and the changes that were not synced."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)

    def sync(self) -> None:
        for offset, data in self.pending:
            apply_change(self.durable, offset, data)
        self.pending = []

    def after_crash(self, rng: random.Random, survival: float) -> bytes:
        content = bytearray(self.durable)
        for offset, data in self.pending:
            if rng.random() < survival:
                apply_change(content, offset, data)
            elif data is not None and rng.random() < 0.5:
                tear(content, offset, data, rng)
        return bytes(content)


def apply_change(content: bytearray, offset: int, data: bytes | None) -> None:
    """Write data at an offset; None truncates there."""
    content.extend(bytes(max(0, offset - len(content))))
    if data is None:
        del content[offset:]
    else:
        content[offset : offset + len(data)] = data


def tear(content: bytearray, offset: int, data: bytes, rng: random.Random) -> None:
    """Write some sectors, leave out some, and fill some with garbage."""
    for start in range(0, len(data), SECTOR_BYTES):
        sector = data[start : start + SECTOR_BYTES]
        fate = rng.random()
        if fate < 0.6:
            apply_change(content, offset + start, sector if fate < 0.4 else rng.randbytes(40))


Change = tuple[Path, Inode | None]
"""A name, and the file it now belongs to; None removes it."""


@dataclass
class Folder:
    """The names in a folder on the disk, and the changes that were not synced."""

    durable: dict[Path, Inode | None] = field(default_factory=dict)
    pending: list[list[Change]] = field(default_factory=list)

    def sync(self) -> None:
        for changes in self.pending:
            rename_entries(self.durable, changes)
        self.pending = []

    def after_crash(self, rng: random.Random, survival: float) -> dict[Path, Inode | None]:
        names = dict(self.durable)
        for changes in self.pending:
            if rng.random() < survival:
                rename_entries(names, changes)
        return names


SUBFOLDER = Inode()
"""Stands for a folder among the entries of the folder above."""


def rename_entries(names: dict[Path, Inode | None], changes: list[Change]) -> None:
    for path, inode in changes:
        if inode is None:
            names.pop(path, None)
        else:
            names[path] = inode


class RecordedFile(io.RawIOBase):
    """A file whose writes are recorded."""

    def __init__(self, disk: SimulatedDisk, file: io.FileIO, inode: Inode) -> None:
        self.disk, self.file, self.inode = disk, file, inode

    def readable(self) -> bool:
        return self.file.readable()

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        return self.file.readinto(buffer)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self.file.seek(offset, whence)

    def tell(self) -> int:
        return self.file.tell()

    def write(self, data: Any) -> int:
        data = bytes(data)
        if "a" in self.file.mode:
            self.file.seek(0, 2)
        offset, inode = self.file.tell(), self.inode
        if self.disk.record(lambda: inode.pending.append((offset, data))):
            self.file.write(data)
        return len(data)

    def truncate(self, size: int | None = None) -> int:
        end, inode = self.tell() if size is None else size, self.inode
        if self.disk.record(lambda: inode.pending.append((end, None))):
            self.file.truncate(end)
        return end

    def close(self) -> None:
        self.file.close()
        super().close()


class SimulatedDisk:
    """Records the calls of ``bitfold.io.file_system`` below a folder.

    Parameters
    ----------
    root
        The folder; what it contains is on the disk.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.changes: list[Callable[[], None]] = []
        self.kill_at: int | None = None
        self.is_dead = False
        self._inodes: dict[Path, Inode] = {}
        self._folders: dict[Path, Folder] = {root: Folder()}
        for path in sorted(root.rglob("*")):
            self._adopt(path)

    def _adopt(self, path: Path) -> None:
        inode = SUBFOLDER if path.is_dir() else Inode(bytearray(path.read_bytes()))
        self._folders[path.parent].durable[path] = inode
        if path.is_dir():
            self._folders[path] = Folder()
        else:
            self._inodes[path] = inode

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Replace the functions of the module."""
        for name in (
            "create_file", "open_file", "append_to_file", "sync_file", "copy_mode", "rename",
            "remove_file", "make_directory", "sync_directory", "commit_database",
        ):  # fmt: skip
            patch.setattr(file_system, name, getattr(self, name))

    def record(self, change: Callable[[], None]) -> bool:
        """Record a call; return whether the process is still alive to perform it."""
        if self.is_dead:
            return False
        if len(self.changes) == self.kill_at:
            self.is_dead = True
            raise KilledError
        self.changes.append(change)
        return True

    def restart(self) -> None:
        """Continue with another process, which sees everything that the killed one wrote."""
        self.kill_at, self.is_dead = None, False

    def create_file(self, path: Path) -> BinaryIO:
        return cast(BinaryIO, io.BufferedWriter(self._open(path, "xb")))

    def open_file(self, path: Path) -> BinaryIO:
        return cast(BinaryIO, io.BufferedRandom(self._open(path, "r+b")))

    def append_to_file(self, path: Path) -> BinaryIO:
        return cast(BinaryIO, io.BufferedRandom(self._open(path, "a+b")))

    def _open(self, path: Path, mode: str) -> RecordedFile:
        if path not in self._inodes or mode == "xb":
            inode = Inode()
            self._rename_entries(path.parent, [(path, inode)])
            self._inodes[path] = inode
            path.touch()
        return RecordedFile(self, io.FileIO(path, mode.replace("x", "w")), self._inodes[path])

    def sync_file(self, file: BinaryIO) -> None:
        file.flush()
        raw = cast(RecordedFile, cast(Any, file).raw)
        self.record(raw.inode.sync)

    def copy_mode(self, source: Path, target: Path) -> None:
        pass

    def rename(self, source: Path, target: Path) -> None:
        inode = self._inodes[source]
        if self._rename_entries(target.parent, [(source, None), (target, inode)]):
            self._inodes[target] = self._inodes.pop(source)
            source.replace(target)

    def remove_file(self, path: Path) -> None:
        if path.exists() and self._rename_entries(path.parent, [(path, None)]):
            self._inodes.pop(path, None)
            path.unlink()

    def make_directory(self, path: Path) -> None:
        if path.exists():
            return
        self._folders[path] = Folder()
        if self._rename_entries(path.parent, [(path, SUBFOLDER)]):
            path.mkdir()

    def sync_directory(self, directory: Path) -> None:
        if directory in self._folders:
            self.record(self._folders[directory].sync)

    def commit_database(self, connection: sqlite3.Connection, path: Path) -> None:
        """Commit a transaction, which SQLite itself makes atomic and durable."""
        content: list[bytes] = []
        if self.record(lambda: self._replace_database(path, content[0])):
            connection.commit()
            content.append(connection.serialize())

    def _replace_database(self, path: Path, content: bytes) -> None:
        self._folders[path.parent].durable[path] = Inode(bytearray(content))

    def _rename_entries(self, parent: Path, changes: list[Change]) -> bool:
        folder = self._folders[parent]
        return self.record(lambda: folder.pending.append(changes))

    def crashes(
        self, rng: random.Random, n_variants: int, stride: int = 1
    ) -> Iterator[tuple[int, Files]]:
        """Yield what could be on the disk after each number of calls; may be called once.

        The first variant loses everything that was not synced, the second keeps everything, the
        others choose at random.
        """
        for position in range(len(self.changes) + 1):
            if position % stride == 0 or position == len(self.changes):
                for variant in range(n_variants):
                    survival = float(variant) if variant < 2 else rng.uniform(0.1, 0.9)
                    yield position, self._after_crash(rng, survival)
            if position < len(self.changes):
                self.changes[position]()

    def _after_crash(self, rng: random.Random, survival: float) -> Files:
        files: Files = {}
        folders, contents = [self.root], dict[int, bytes]()
        while folders:
            names = self._folders[folders.pop()].after_crash(rng, survival)
            for path, inode in names.items():
                if inode is SUBFOLDER:
                    folders.append(path)
                    files[path] = None
                elif inode is not None:
                    if id(inode) not in contents:
                        contents[id(inode)] = inode.after_crash(rng, survival)
                    files[path] = contents[id(inode)]
        return files


def write_files(files: Files, old_root: Path, new_root: Path) -> None:
    """Write the content of a disk to another folder."""
    for path, content in sorted(files.items()):
        target = new_root / path.relative_to(old_root)
        if content is None:
            target.mkdir(exist_ok=True)
        else:
            target.write_bytes(content)
