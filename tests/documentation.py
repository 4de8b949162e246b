"""The pages of the documentation, and the files and databases that they use."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psycopg
from PIL import Image

import bitfold as bf
from bitfold import datasets

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

N_ROWS, N_QUERIES = 150, 20
"""Small, so that all commands of the pages are fast."""

_FENCE = re.compile(
    r"^(?P<indent>[ ]*)```(?P<language>[^\n]*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
_DATABASE = re.compile(r"postgresql://localhost/(\w+)")


class Block(NamedTuple):
    """A block of code, and the line where it begins."""

    language: str
    text: str
    line: int


def blocks_of(text: str) -> list[Block]:
    """Find the blocks of code of a page."""
    return [
        Block(found["language"], found["text"], text.count("\n", 0, found.start()) + 1)
        for found in _FENCE.finditer(text)
    ]


def lay_out(folder: Path) -> Path:
    """Create the files that the pages name."""
    data, album = datasets.digits(), datasets.images("digits").database
    X = data.database[:N_ROWS].astype(np.float32)
    np.save(folder / "vectors.npy", X)
    np.save(folder / "labels.npy", data.labels[:N_ROWS])
    np.save(folder / "queries.npy", data.queries[:N_QUERIES].astype(np.float32))
    titles = "".join(f"{2000 + i % 30},Digit {i}\n" for i in range(N_ROWS))
    (folder / "metadata.csv").write_text(f"year,title\n{titles}")
    (folder / "images").mkdir()
    for number, picture in enumerate(album[:N_ROWS]):
        Image.fromarray(picture).save(folder / "images" / f"{number}.png")
    (folder / "texts.txt").write_text("\n".join(f"digit {digit}" for digit in data.labels[:N_ROWS]))
    (folder / "hashes.txt").write_text("\n".join(bytes(row[:8] > 7).hex() for row in X))
    hasher = bf.IMH(64, base=bf.KMeansBase(100), random_state=0).fit(X)
    hasher.save(folder / "model.bitfold")
    with bf.HammingIndex(64) as index:
        index.add(hasher.encode(X))
        index.save(folder / "my.index")
    return folder


def make_databases(text: str, variables: dict[str, str]) -> None:
    """Create the databases that a page connects to, replacing old ones."""
    port, user = variables["PGPORT"], variables["PGUSER"]
    url = "postgresql://localhost/postgres"
    with psycopg.connect(url, port=port, user=user, autocommit=True) as connection:
        for name in sorted(set(_DATABASE.findall(text))):
            named = psycopg.sql.Identifier(name)
            for order in ("DROP DATABASE IF EXISTS {}", "CREATE DATABASE {}"):
                connection.execute(psycopg.sql.SQL(order).format(named))
