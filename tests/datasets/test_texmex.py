"""SIFT1M and GIST1M in miniature, unpacked and as the archive they come in."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bitfold import datasets, metrics
from bitfold.datasets import _tar, texmex
from bitfold.errors import FormatError
from bitfold.io.download import Remote

RNG = np.random.default_rng(0)
BASE, QUERIES = RNG.random((2, 40, 6)).astype("<f4")
NEIGHBORS = metrics.closest_neighbors(BASE, QUERIES, k=3)


def rows(matrix: NDArray[Any]) -> bytes:
    length = np.array([matrix.shape[1]], "<i4").tobytes()
    return b"".join(length + row.tobytes() for row in matrix)


def files(stem: str) -> dict[str, bytes]:
    return {
        f"{stem}_base.fvecs": rows(BASE),
        f"{stem}_query.fvecs": rows(QUERIES),
        f"{stem}_groundtruth.ivecs": rows(NEIGHBORS),
    }


def archive(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BITFOLD_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def check_all(data: datasets.Dataset) -> None:
    assert np.array_equal(data.database, BASE)
    assert np.array_equal(data.queries, QUERIES)
    assert data.neighbors is not None
    assert np.array_equal(data.neighbors, NEIGHBORS)
    assert isinstance(data.database, np.memmap)
    assert data.train is data.database


@pytest.mark.parametrize("folder", ["gist", "gist1m", ""])
def test_unpacked(folder: str, data_folder: Path) -> None:
    (data_folder / folder).mkdir(exist_ok=True)
    for name, content in files("gist").items():
        (data_folder / folder / name).write_bytes(content)
    check_all(datasets.gist1m())
    assert datasets.gist1m(7).queries.shape == (7, 6)


@pytest.mark.parametrize("inside", ["sift/", "", "../../"])
def test_as_an_archive(inside: str, data_folder: Path, tmp_path: Path) -> None:
    members = {inside + name: content for name, content in files("sift").items()}
    (data_folder / "sift.tar.gz").write_bytes(archive({"sift/evil": b"x", **members}))
    check_all(datasets.sift1m())
    # Only what is needed is unpacked, and only into the cache.
    unpacked = [path for path in tmp_path.rglob("*") if path.is_file()]
    cache = tmp_path / "cache" / "sift"
    expected = {cache / name for name in files("sift")} | {data_folder / "sift.tar.gz"}
    assert set(unpacked) == expected
    (data_folder / "sift.tar.gz").unlink()
    check_all(datasets.sift1m())


def test_a_downloaded_archive_makes_room(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def downloaded(folder: str, remote: Remote, **_: Any) -> Path:
        assert remote.url == "ftp://ftp.irisa.fr/local/texmex/corpus/sift.tar.gz"
        path = tmp_path / "cache" / folder / remote.name
        path.write_bytes(archive(files("sift")))
        return path

    monkeypatch.setattr(texmex, "downloaded", downloaded)
    check_all(datasets.sift1m())
    left = {path.name for path in (tmp_path / "cache" / "sift").iterdir()}
    assert left == set(files("sift"))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"hello", r"must be a \.tar\.gz archive with sift_base\.fvecs in it, got something else"),
        (archive(files("sift"))[:-200], r"must be a \.tar\.gz archive"),
        (archive({"a": b"b"}), r"must have sift_base\.fvecs in it, got an archive without"),
    ],
    # Archives hold the time they were made at, which must not name a test.
    ids=["junk", "truncated", "other files"],
)
def test_other_archives_are_refused(content: bytes, sentence: str, data_folder: Path) -> None:
    (data_folder / "sift.tar.gz").write_bytes(content)
    with pytest.raises(FormatError, match=sentence):
        datasets.sift1m()


def test_links_in_an_archive_are_not_followed(data_folder: Path, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        link = tarfile.TarInfo("sift_base.fvecs")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    (data_folder / "x.tar.gz").write_bytes(packed.getvalue())
    with pytest.raises(FormatError, match="got an archive without"):
        _tar.unpack(data_folder / "x.tar.gz", ["sift_base.fvecs"], tmp_path)
