"""SIFT1M and GIST1M in miniature, unpacked and as archives."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bitfold import datasets, metrics
from bitfold.datasets import texmex
from bitfold.errors import FormatError
from bitfold.io.download import RemoteFile

RNG = np.random.default_rng(0)
BASE, QUERIES = RNG.random((2, 40, 6)).astype("<f4")
NEIGHBORS = metrics.closest_neighbors(BASE, QUERIES, k=3)


def to_texmex(matrix: NDArray[Any]) -> bytes:
    length = np.array([matrix.shape[1]], "<i4").tobytes()
    return b"".join(length + row.tobytes() for row in matrix)


def make_files(stem: str) -> dict[str, bytes]:
    return {
        f"{stem}_base.fvecs": to_texmex(BASE),
        f"{stem}_query.fvecs": to_texmex(QUERIES),
        f"{stem}_groundtruth.ivecs": to_texmex(NEIGHBORS),
    }


def make_archive(members: dict[str, bytes]) -> bytes:
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
def test_unpacked_files_are_found(folder: str, data_folder: Path) -> None:
    (data_folder / folder).mkdir(exist_ok=True)
    for name, content in make_files("gist").items():
        (data_folder / folder / name).write_bytes(content)
    check_all(datasets.gist1m())
    assert datasets.gist1m(7).queries.shape == (7, 6)


def test_interrupted_unpacking_is_repeated(data_folder: Path, tmp_path: Path) -> None:
    (data_folder / "sift.tar.gz").write_bytes(make_archive(make_files("sift")))
    check_all(datasets.sift1m())
    (tmp_path / "cache" / "sift" / "sift_query.fvecs").unlink()
    check_all(datasets.sift1m())


@pytest.mark.parametrize("prefix", ["sift/", "", "../../"])
def test_archive_is_unpacked_into_the_cache(prefix: str, data_folder: Path, tmp_path: Path) -> None:
    members = {prefix + name: content for name, content in make_files("sift").items()}
    (data_folder / "sift.tar.gz").write_bytes(make_archive({"sift/evil": b"x", **members}))
    check_all(datasets.sift1m())
    unpacked = [path for path in tmp_path.rglob("*") if path.is_file()]
    cache = tmp_path / "cache" / "sift"
    expected = {cache / name for name in make_files("sift")} | {data_folder / "sift.tar.gz"}
    assert set(unpacked) == expected
    (data_folder / "sift.tar.gz").unlink()
    check_all(datasets.sift1m())


def test_downloaded_archive_is_deleted_after_unpacking(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def download_file(folder: str, remote: RemoteFile, **_: Any) -> Path:
        assert remote.url == "ftp://ftp.irisa.fr/local/texmex/corpus/sift.tar.gz"
        path = tmp_path / "cache" / folder / remote.name
        path.write_bytes(make_archive(make_files("sift")))
        return path

    monkeypatch.setattr(texmex, "download_file", download_file)
    check_all(datasets.sift1m())
    left = {path.name for path in (tmp_path / "cache" / "sift").iterdir()}
    assert left == set(make_files("sift"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"hello", r"archive that contains sift_base\.fvecs"),
        (make_archive(make_files("sift"))[:-200], r"a \.tar\.gz archive"),
        (make_archive({"a": b"b"}), r"does not contain sift_base\.fvecs"),
    ],
    # Archives contain the time of their creation, so their content cannot be the id of a test.
    ids=["junk", "truncated", "other files"],
)
def test_invalid_archive_is_rejected(content: bytes, message: str, data_folder: Path) -> None:
    (data_folder / "sift.tar.gz").write_bytes(content)
    with pytest.raises(FormatError, match=message):
        datasets.sift1m()
