"""The binary version of CIFAR-10, in miniature."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bitfold import datasets
from bitfold.datasets.cifar10 import load_cifar10_images
from bitfold.errors import FormatError, MissingDataError

RNG = np.random.default_rng(0)
N = 24
IMAGES = RNG.integers(0, 256, (N, 32, 32, 3)).astype(np.uint8)
LABELS = (np.arange(N) * 7 % 10).astype(np.uint8)
NAMES = [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]


def make_batches() -> dict[str, bytes]:
    planes = IMAGES.transpose(0, 3, 1, 2).reshape(N, -1)
    rows = np.concatenate([LABELS[:, None], planes], axis=1)
    return {name: part.tobytes() for name, part in zip(NAMES, np.split(rows, 6), strict=True)}


def write_folder(folder: Path) -> None:
    path = folder / "cifar-10-batches-bin"
    path.mkdir()
    for name, content in make_batches().items():
        (path / name).write_bytes(content)


def write_archive(folder: Path) -> None:
    with tarfile.open(folder / "cifar-10-binary.tar.gz", "w:gz") as tar:
        for name, content in reversed(make_batches().items()):
            member = tarfile.TarInfo(f"folder/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BITFOLD_DATA", str(tmp_path / "data"))
    (tmp_path / "data" / "cifar10").mkdir(parents=True)
    return tmp_path / "data" / "cifar10"


@pytest.mark.parametrize("write", [write_folder, write_archive])
def test_folder_and_archive_give_the_same_images(
    write: Callable[[Path], None], folder: Path
) -> None:
    write(folder)
    for _ in range(2):  # The second time, the archive has been unpacked.
        images, labels = load_cifar10_images()
        assert np.array_equal(images, IMAGES)
        assert np.array_equal(labels, LABELS)


def test_images_and_vectors_are_in_one_order(folder: Path) -> None:
    write_folder(folder)
    data, images = datasets.cifar10(5, 3, features="pixels"), datasets.images("cifar10", 5, 3)
    assert data.name == "CIFAR-10 pixels"
    assert np.array_equal(images.database.reshape(N - 5, -1), data.database)
    assert np.array_equal(images.queries.reshape(5, -1), data.queries)
    assert datasets.cifar10(5).database.shape == (N - 5, 512)


INVALID = {
    "empty": (b"", "rows of 3073 bytes, got 0"),
    "short": (make_batches()["test_batch.bin"][:-1], "rows of 3073 bytes"),
    "label": (b"\x0a" + bytes(3072), "label 10"),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_batch_is_rejected(name: str, folder: Path) -> None:
    content, message = INVALID[name]
    write_folder(folder)
    (folder / "cifar-10-batches-bin" / "test_batch.bin").write_bytes(content)
    with pytest.raises(FormatError, match=message):
        datasets.cifar10(5)


def test_incomplete_folder_is_not_used(folder: Path) -> None:
    write_folder(folder)
    (folder / "cifar-10-batches-bin" / "test_batch.bin").unlink()
    with pytest.raises(MissingDataError, match=r"cifar10/cifar-10-binary\.tar\.gz"):
        datasets.cifar10(5)


def test_truncated_archive_is_rejected(folder: Path) -> None:
    write_archive(folder)
    path = folder / "cifar-10-binary.tar.gz"
    path.write_bytes(path.read_bytes()[:-1000])
    for _ in range(2):  # What was unpacked so far is not taken for the whole.
        with pytest.raises(FormatError, match=r"cifar-10-binary\.tar\.gz"):
            datasets.cifar10(5)
