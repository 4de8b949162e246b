"""Damaged, hostile and newer collections: one clear error, and no harm."""

from __future__ import annotations

import json
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.collection.conftest import make_vectors

import bitfold as bf
from bitfold.collection.database import Database
from bitfold.errors import BitfoldError, FormatError, NewerFormatError


def change(path: Path, *statements: str, values: tuple[Any, ...] = ()) -> None:
    """Change the database behind the back of the collection."""
    with sqlite3.connect(path / "collection.sqlite") as connection:
        for statement in statements:
            connection.execute(statement, values)
    connection.close()


def change_state(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    """Change the state, with a checksum that matches."""
    with sqlite3.connect(path / "collection.sqlite") as connection:
        text = connection.execute("SELECT content FROM state").fetchone()[0]
    connection.close()
    content = json.loads(text[8:])
    edit(content)
    text = json.dumps(content)
    change(path, "UPDATE state SET content = ?", values=(f"{zlib.crc32(text.encode()):08x}{text}",))


def use(path: Path) -> None:
    """Open a collection and read everything in it."""
    with bf.Collection.open(path) as c:
        c.search(make_vectors(2), k=3, where="year >= 2000")
        c.search(make_vectors(2), k=3)
        c.metadata(c.ids())
        c.verify()


def test_newer_version(path: Path) -> None:
    change(path, "PRAGMA user_version = 2")
    for mode in ("r", "a"):
        with pytest.raises(NewerFormatError, match="Upgrade bitfold"):
            bf.Collection.open(path, mode)


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE state",
        "DELETE FROM state",
        "UPDATE state SET content = 3",
        "UPDATE state SET content = replace(content, '58', '57')",
        "CREATE TRIGGER t AFTER INSERT ON state BEGIN DELETE FROM state; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE other (x)",
        "ALTER TABLE items_2 ADD COLUMN evil TEXT",
        "PRAGMA application_id = 1",
        "UPDATE items_2 SET year = 'text' WHERE _row = 7",
        "UPDATE items_2 SET year = 1999 WHERE _row = 7",
        "UPDATE items_2 SET _id = NULL WHERE _row = 7",
        "DELETE FROM items_2 WHERE _row = 7",
        "DROP INDEX items_2_id",
    ],
)
def test_changed_databases(path: Path, statement: str) -> None:
    use(path)
    change(path, statement)
    with pytest.raises(FormatError, match=r"collection\.sqlite|interrupted"):
        use(path)


def test_a_view_in_place_of_the_items_is_not_run(path: Path) -> None:
    change(
        path,
        "ALTER TABLE items_2 RENAME TO hidden",
        "CREATE VIEW items_2 AS SELECT *, randomblob(1000000000) FROM hidden",
    )
    with pytest.raises(FormatError, match="other tables"):
        use(path)


@pytest.mark.parametrize(
    "edit",
    [
        lambda state: state.update(n_rows=10**9),
        lambda state: state.update(n_rows=-1),
        lambda state: state.update(n_items=61),
        lambda state: state.update(n_features=7),
        lambda state: state.update(n_features="6"),
        lambda state: state.update(stored="float64"),
        lambda state: state.update(stored="float32"),
        lambda state: state.update(model="../../etc/passwd"),
        lambda state: state.update(model=None),
        lambda state: state.update(index=None),
        lambda state: state.update(removed=[1]),
        lambda state: state.update(metric="manhattan"),
        lambda state: state.update(columns=[["year", "blob"]]),
        lambda state: state.update(columns=[["_row", "int"]]),
        lambda state: state.update(id_kind="int"),
        lambda state: state.update(epoch=1),
        lambda state: state.update(checksums={"vectors": 1}),
        lambda state: state.update(items_checksum=5),
        lambda state: state.update(extra=1),
        lambda state: state.pop("epoch"),
        lambda state: state["index"].update(n_bits=64),
        lambda state: state["index"]["segments"].clear(),
        lambda state: state["index"]["segments"][0]["segment"].update(file="../x"),
    ],
)
def test_forged_states(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    change_state(path, edit)
    with pytest.raises((FormatError, BitfoldError)):
        use(path)


def test_damaged_and_missing_files(path: Path) -> None:
    for file in sorted(path.iterdir()):
        if file.name == "lock":
            continue
        original = file.read_bytes()
        for damaged in (None, b"", original[: len(original) // 2], b"\0" * len(original)):
            file.unlink()
            if damaged is not None:
                file.write_bytes(damaged)
            with pytest.raises(FormatError, match=r"\S"):
                use(path)
            file.unlink(missing_ok=True)
            file.write_bytes(original)
    use(path)


def test_flipped_bits_are_found_or_harmless(path: Path, tmp_path: Path) -> None:
    rng, expected = np.random.default_rng(0), read(path)
    files = sorted(file for file in path.iterdir() if file.name != "lock")
    for _ in range(60):
        copy = tmp_path / "copy"
        shutil.copytree(path, copy)
        file = copy / files[rng.integers(len(files))].name
        data = bytearray(file.read_bytes())
        data[rng.integers(len(data))] ^= 1 << rng.integers(8)
        file.write_bytes(data)
        try:
            use(copy)
            assert read(copy) == expected
        except FormatError:
            pass
        shutil.rmtree(copy)


def read(path: Path) -> Any:
    with bf.Collection.open(path) as c:
        ids = c.ids().tolist()
        return ids, c.metadata(ids), c.vectors().tolist(), c.search(make_vectors(2)).ids.tolist()


def test_a_database_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    with sqlite3.connect(tmp_path / "c" / "collection.sqlite") as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    with pytest.raises(FormatError, match="not the database of a collection"):
        bf.Collection.open(tmp_path / "c")
    with pytest.raises(FormatError, match="not the database of a collection"):
        bf.Collection.create(tmp_path / "c", make_vectors(3), replace=True)


def test_readers_cannot_change_the_database(path: Path) -> None:
    database = Database(path)
    with pytest.raises(PermissionError), database.reading() as connection:
        connection.execute("DELETE FROM state")
    database.close()
    use(path)


def test_a_folder_that_cannot_be_written_can_be_read(path: Path) -> None:
    for file in (*path.iterdir(), path):
        file.chmod(0o555 if file.is_dir() else 0o444)
    try:
        use(path)
    finally:
        path.chmod(0o755)
