"""CIFAR-10 in miniature, in all its forms; and pickles that want to do more than hold data."""

from __future__ import annotations

import importlib
import io
import pickle
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from bitfold import datasets
from bitfold.datasets import _cifar_images
from bitfold.datasets._opcodes import read_plain
from bitfold.errors import FormatError, MissingDataError
from bitfold.features import color_gist, gist

# The function of the same name hides the module.
cifar10 = importlib.import_module("bitfold.datasets.cifar10")

RNG = np.random.default_rng(0)
PER_BATCH = 4
N = 6 * PER_BATCH
PICTURES = RNG.integers(0, 256, (N, 32, 32, 3)).astype(np.uint8)
LABELS = (np.arange(N) * 7 % 10).astype(np.uint8)
PLANES = np.ascontiguousarray(PICTURES.transpose(0, 3, 1, 2)).reshape(N, -1)
NAMES = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]

Files = dict[str, bytes]


def text(value: str) -> bytes:
    return b"U" + bytes([len(value)]) + value.encode()


def as_python_2_wrote_it(planes: NDArray[np.uint8], labels: NDArray[np.uint8]) -> bytes:
    """A batch with the operations of the original files, strings being bytes."""
    content = planes.tobytes()
    return b"".join(
        [
            b"\x80\x02}q\x01(",
            text("batch_label") + b"q\x02" + text("training batch 1 of 5") + b"q\x03",
            text("labels") + b"q\x04]q\x05(",
            b"".join(b"K" + bytes([label]) for label in labels) + b"e",
            text("data") + b"q\x06",
            b"cnumpy.core.multiarray\n_reconstruct\nq\x07cnumpy\nndarray\nq\x08",
            b"K\x00\x85q\x09" + text("b") + b"\x87q\x0aRq\x0b(K\x01",
            b"M" + struct.pack("<H", planes.shape[0]) + b"M" + struct.pack("<H", planes.shape[1]),
            b"\x86q\x0ccnumpy\ndtype\nq\x0d" + text("u1") + b"q\x0eK\x00K\x01\x87q\x0fRq\x10",
            b"(K\x03" + text("|") + b"q\x11NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tq\x12b",
            b"\x89T" + struct.pack("<I", len(content)) + content + b"tq\x13b",
            text("filenames") + b"q\x14]q\x15(" + text("a.png") + b"q\x16" + text("b.png"),
            b"q\x17eu.",
        ]
    )


def as_python_3_writes_it(planes: NDArray[np.uint8], labels: NDArray[np.uint8]) -> bytes:
    return pickle.dumps({b"data": planes, b"labels": labels.tolist()}, protocol=2)


def as_bytes(planes: NDArray[np.uint8], labels: NDArray[np.uint8]) -> bytes:
    return np.concatenate([labels[:, None], planes], axis=1).tobytes()


def batches(write: Callable[[Any, Any], bytes], ending: str = "") -> Files:
    parts = zip(np.split(PLANES, 6), np.split(LABELS, 6), strict=True)
    return {name + ending: write(*part) for name, part in zip(NAMES, parts, strict=True)}


def jpegs(pictures: NDArray[np.uint8]) -> list[bytes]:
    out = []
    for picture in pictures:
        file = io.BytesIO()
        Image.fromarray(picture).save(file, "JPEG", quality=95)
        out.append(file.getvalue())
    return out


def write_jpeg_archive(path: Path, content: list[bytes], **changed: Any) -> None:
    arrays = {
        "data": np.frombuffer(b"".join(content), np.uint8),
        "offsets": np.cumsum([0, *map(len, content)]),
        "labels": LABELS[: len(content)],
    }
    np.savez(path, **(arrays | changed))


def write_folder(path: Path, files: Files) -> None:
    path.mkdir()
    for name, content in files.items():
        (path / name).write_bytes(content)


def write_archive(path: Path, files: Files) -> None:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in reversed(files.items()):
            member = tarfile.TarInfo(f"folder/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


FORMS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "binary folder": (
        "cifar-10-batches-bin",
        lambda path: write_folder(path, batches(as_bytes, ".bin")),
    ),
    "binary archive": (
        "cifar-10-binary.tar.gz",
        lambda path: write_archive(path, batches(as_bytes, ".bin")),
    ),
    "Python 2 folder": (
        "cifar-10-batches-py",
        lambda path: write_folder(path, batches(as_python_2_wrote_it)),
    ),
    "Python 2 archive": (
        "cifar-10-python.tar.gz",
        lambda path: write_archive(path, batches(as_python_2_wrote_it)),
    ),
    "Python 3 folder": (
        "cifar-10-batches-py",
        lambda path: write_folder(path, batches(as_python_3_writes_it)),
    ),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BITFOLD_DATA", str(tmp_path / "data"))
    (tmp_path / "data" / "cifar10").mkdir(parents=True)
    return tmp_path / "data" / "cifar10"


@pytest.fixture
def binary(folder: Path) -> Path:
    name, write = FORMS["binary folder"]
    write(folder / name)
    return folder / name


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_pictures(form: str, folder: Path) -> None:
    name, write = FORMS[form]
    write(folder / name)
    for _ in range(2):  # From the files, then from the cache.
        found = _cifar_images.album()
        assert np.array_equal(found.pictures, PICTURES)
        assert np.array_equal(found.labels, LABELS)


def test_jpeg_gives_nearly_the_same_pictures(folder: Path) -> None:
    flat = np.repeat(np.repeat(RNG.integers(0, 256, (N, 2, 2, 3)), 16, 1), 16, 2).astype(np.uint8)
    write_jpeg_archive(folder / "cifar10-jpeg.npz", jpegs(flat))
    found = _cifar_images.album()
    assert np.abs(found.pictures.astype(int) - flat).mean() < 6
    assert np.array_equal(found.labels, LABELS)
    data = datasets.cifar10(4, features="pixels")
    assert data.database.shape == (N - 4, 3072)


def test_pictures_and_vectors_are_in_one_order(binary: Path) -> None:
    data, pictures = datasets.cifar10(5, 3, features="pixels"), datasets.images("cifar10", 5, 3)
    assert np.array_equal(pictures.database.reshape(N - 5, -1), data.database)
    assert np.array_equal(pictures.queries.reshape(5, -1), data.queries)


def test_features_and_names(binary: Path) -> None:
    pictures = datasets.images("cifar10", 5).database
    gray = [np.asarray(Image.fromarray(picture).convert("L")) for picture in pictures]
    by_default, color = datasets.cifar10(5), datasets.cifar10(5, features="gist960")
    assert np.allclose(by_default.database, gist(np.array(gray)), atol=1e-5)
    assert np.allclose(color.database, color_gist(pictures), atol=1e-5)
    assert (by_default.name, color.name) == ("CIFAR-10 gist512", "CIFAR-10 gist960")
    with pytest.raises(ValueError, match="features of cifar10 must be one of 'gist512', 'gist960'"):
        datasets.cifar10(5, features="sift")


def test_descriptors_are_kept_until_pictures_or_algorithm_change(
    binary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[int] = []

    def counted(pictures: NDArray[np.uint8]) -> Any:
        computed.append(len(pictures))
        return color_gist(pictures)

    monkeypatch.setitem(cifar10._DESCRIPTORS, "gist960", (counted, 960))
    first = datasets.cifar10(5, features="gist960").database
    assert np.array_equal(datasets.cifar10(5, features="gist960").database, first)
    assert computed == [N]
    monkeypatch.setattr(cifar10, "VERSION", "other")
    datasets.cifar10(5, features="gist960")
    assert computed == [N, N]
    batch = binary / "test_batch.bin"
    batch.write_bytes(bytes([batch.read_bytes()[0]]) + bytes(3072) + batch.read_bytes()[3073:])
    datasets.cifar10(5, features="gist960")
    assert computed == [N, N, N]


def test_patches_are_cut_where_they_say() -> None:
    each = np.arange(10)
    numbers = RNG.integers(0, 2 * 81, 10)
    cut = cifar10.patches(PICTURES[each], numbers)
    for i, number in zip(each, numbers, strict=True):
        mirrored, place = divmod(int(number), 81)
        y, x = divmod(place, 9)
        expected = PICTURES[i, y : y + 24, x : x + 24]
        assert np.array_equal(cut[i], expected[:, ::-1] if mirrored else expected)


@pytest.mark.parametrize("n_rows", [20, 50, 20 * 163])
def test_views_are_distinct_and_queries_of_other_pictures(n_rows: int) -> None:
    views = cifar10.drawn_views(24, n_rows, 4, seed=1)
    assert len(views.picture) == len(views.view) == n_rows + 4
    assert (views.view[:4] == 0).all()
    assert set(views.picture[:4].tolist()).isdisjoint(views.picture[4:].tolist())
    shown = np.stack([views.picture[4:], views.view[4:]], axis=1)
    assert len(np.unique(shown, axis=0)) == n_rows
    # Every picture is there as a whole, and not at the beginning only.
    whole = np.flatnonzero(views.view[4:] == 0)
    assert len(whole) == 20
    assert n_rows == 20 or whole.max() > 30
    assert views.view.max() <= 162


def test_patches_as_a_data_set(
    binary: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cifar10, "_ROWS", 16)
    reports: list[tuple[str, int, int]] = []
    data = datasets.cifar10_patches(50, 4, 1, progress=lambda *x: reports.append(x))
    assert data.name == "GIST-960-CIFAR"
    assert reports == [("GIST", done, 54) for done in (16, 32, 48, 54)]
    assert isinstance(data.database, np.memmap)
    assert (data.database.shape, data.queries.shape) == ((50, 960), (4, 960))
    views = cifar10.drawn_views(N, 50, 4, 1)
    for row in (0, 11, 49):
        picture, view = views.picture[4 + row], views.view[4 + row]
        shown = PICTURES[[picture]]
        shown = cifar10.patches(shown, np.array([view - 1])) if view else shown
        assert np.allclose(data.database[row], color_gist(shown), atol=1e-5)
        assert data.labels[row] == LABELS[picture]
    monkeypatch.setattr(cifar10, "color_gist", None)
    assert np.array_equal(datasets.cifar10_patches(50, 4, 1).database, data.database)
    with pytest.raises(ValueError, match="n_rows of cifar10_patches must be at least 20, got 19"):
        datasets.cifar10_patches(19, 4)
    with pytest.raises(ValueError, match="must be at most 163 views of each of 20 pictures"):
        datasets.cifar10_patches(20 * 163 + 1, 4)


WRONG_BINARY = {
    "empty": b"",
    "short": batches(as_bytes)["test_batch"][:-1],
    "label": b"\x0a" + bytes(3072),
}


@pytest.mark.parametrize("name", WRONG_BINARY)
def test_wrong_binary_batches_are_refused(name: str, binary: Path) -> None:
    (binary / "test_batch.bin").write_bytes(WRONG_BINARY[name])
    with pytest.raises(FormatError, match=r"must (be rows of 3073|have labels below 10)"):
        datasets.cifar10(5)


def test_incomplete_folders_are_refused(binary: Path) -> None:
    (binary / "test_batch.bin").unlink()
    with pytest.raises(FormatError, match=r"must have test_batch\.bin in it, got a folder without"):
        datasets.cifar10(5)


def test_a_truncated_archive_is_refused(folder: Path) -> None:
    name, write = FORMS["binary archive"]
    write(folder / name)
    (folder / name).write_bytes((folder / name).read_bytes()[:-1000])
    with pytest.raises(FormatError, match=r"must be a \.tar\.gz archive"):
        datasets.cifar10(5)


@pytest.mark.parametrize("wrong", ["size", "no picture", "offsets", "labels", "text"])
def test_wrong_jpeg_archives_are_refused(wrong: str, folder: Path) -> None:
    path, right = folder / "cifar10-jpeg.npz", jpegs(PICTURES[:3])
    if wrong == "size":
        write_jpeg_archive(path, [right[0], *jpegs(RNG.integers(0, 9, (1, 32, 1, 3), np.uint8))])
    elif wrong == "no picture":
        write_jpeg_archive(path, [right[0], b"hello"])
    elif wrong == "offsets":
        write_jpeg_archive(path, right, offsets=np.array([0, 900, 100, 50]))
    elif wrong == "labels":
        write_jpeg_archive(path, right, labels=LABELS[:2])
    else:
        path.write_bytes(b"hello")
    with pytest.raises(FormatError, match="must be an archive of JPEG pictures, got something els"):
        datasets.cifar10(1)


class Evil:
    """Would make a file if unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


REFUSED = "must be a pickle of plain data, got something else, which was not run"


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_that_would_do_something_does_nothing(protocol: int, tmp_path: Path) -> None:
    content = pickle.dumps({"labels": [1], "data": Evil(tmp_path / "evil")}, protocol)
    with pytest.raises(FormatError, match=REFUSED):
        read_plain(content, tmp_path)
    assert not (tmp_path / "evil").exists()
    pickle.loads(content)
    assert (tmp_path / "evil").exists()


@pytest.mark.parametrize(
    "value",
    [
        1.5,
        2**40,
        {1, 2},
        {1: 2},
        np.arange(3.0),
        np.asfortranarray(np.ones((2, 3), np.uint8)),
        print,
    ],
    ids=["real", "long", "set", "key", "reals", "columns", "function"],
)
def test_other_data_are_refused(value: Any, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=REFUSED):
        read_plain(pickle.dumps({"x": value}, 2), tmp_path)


def test_plain_data_are_what_pickle_reads(tmp_path: Path) -> None:
    value = {
        "numbers": [0, 255, 256, 65535, 65536, -1, True, False, None],
        "text": "é\u20ac",
        "nested": [{"a": [], "b": {}}, (1, 2, 3, 4), (), ("x",)],
        "many": list(range(1000)),
    }
    for protocol in (2, 3):
        assert read_plain(pickle.dumps(value, protocol), tmp_path) == value
    shared = [1]
    assert read_plain(pickle.dumps([shared, shared], 2), tmp_path) == [[1], [1]]


@given(st.data())
def test_damaged_batches_are_read_or_refused(data: st.DataObject) -> None:
    content = bytearray(as_python_2_wrote_it(PLANES[:2, :9], LABELS[:2]))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))]
    try:
        _cifar_images._read_python(bytes(content), Path("x"))
    except FormatError as error:
        assert str(error).startswith("x must ")


@pytest.mark.parametrize(
    "batch",
    [
        [1],
        {"labels": [1]},
        {"data": PLANES[:2], "labels": [1]},
        {"data": PLANES[:1], "labels": [300]},
        {"data": PLANES[:1], "labels": [[1]]},
        {"data": PLANES[:1, :9], "labels": [1]},
        {"data": PLANES[:0], "labels": []},
    ],
)
def test_batches_with_other_fields_are_refused(batch: Any) -> None:
    with pytest.raises(FormatError, match=r"^x must .*, got .*\.$"):
        _cifar_images._read_python(pickle.dumps(batch, 2), Path("x"))


def test_without_pillow_the_extra_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_jpeg_archive(folder / "cifar10-jpeg.npz", jpegs(PICTURES[:3]))
    monkeypatch.setitem(importlib.import_module("sys").modules, "PIL", None)
    with pytest.raises(ImportError, match=r'pip install "bitfold\[images\]"'):
        datasets.cifar10(1)


def test_nothing_to_read(folder: Path) -> None:
    with pytest.raises(MissingDataError, match=r"www\.cs\.toronto\.edu/~kriz/cifar-10-binary\.tar"):
        datasets.cifar10()
