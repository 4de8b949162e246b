from __future__ import annotations

import errno
import hashlib
import json
import math
import mmap as memory_map
import os
import random
import stat
import struct
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from bitfold.errors import FormatError
from bitfold.io import model_file
from bitfold.io.atomic import replace_atomically
from bitfold.io.model_file import Stored, read, write

DTYPES = [
    "bool", "uint8", "int8", "uint16", "int16", "float16",
    "uint32", "int32", "float32", "uint64", "int64", "float64",
]  # fmt: skip

SAMPLE = Stored(
    "IMH",
    {"n_bits": 64, "k": 5, "note": "Größe ≥ 2", "embedding": {"kind": "TSNE", "perplexity": 5.5}},
    {
        "base": np.arange(60, dtype=np.float32).reshape(12, 5),
        "mean": np.linspace(-1, 1, 5),
        "signs": np.array([True, False, True]),
        "words": np.array([[2**64 - 1, 3]], np.uint64),
        "none": np.zeros((0, 7), np.int32),
    },
)

names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(str.isprintable)
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
) | st.text(st.characters(), max_size=9)
trees = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
some_arrays = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0))
)
stored_things = st.builds(
    Stored,
    names,
    st.dictionaries(st.text(max_size=5), trees, max_size=4),
    st.dictionaries(names, some_arrays, max_size=4),
)


def same_bytes(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def same(a: Stored, b: Stored) -> bool:
    return (
        (a.kind, a.meta) == (b.kind, b.meta)
        and a.arrays.keys() == b.arrays.keys()
        and all(same_bytes(a.arrays[name], b.arrays[name]) for name in a.arrays)
    )


def origin(array: Any) -> object:
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


def sentence(path: Path, *, mmap: bool = False) -> str:
    """What ``read`` says of a file that it refuses: one sentence that begins with the path."""
    with pytest.raises(FormatError) as caught:
        read(path, mmap=mmap)
    text = str(caught.value)
    assert text.startswith(f"{path} ")
    assert text.endswith(".")
    assert "\n" not in text
    return text.removeprefix(f"{path} ")


def framed(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def sealed(header: dict[str, Any], data: bytes, meta: str = "{}", **metadata: str) -> bytes:
    """A file whose checksum holds, whatever else is wrong with it: arrays in name order."""
    about = {name: [entry["dtype"], entry["shape"]] for name, entry in header.items()}
    strings = {"format": "bitfold", "format_version": "1", "kind": "X", "meta": meta} | metadata
    text = json.dumps([strings, about], sort_keys=True, separators=(",", ":"))
    strings["sha256"] = hashlib.sha256(text.encode() + data).hexdigest()
    return framed({"__metadata__": strings} | header, data)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.bitfold"


@pytest.fixture
def written(path: Path) -> Path:
    write_hastily(path, SAMPLE)
    return path


def write_hastily(path: Path, stored: Stored) -> None:
    """Write without waiting for the disk: a hundred waits prove nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        write(path, stored)


# What goes in comes out


@settings(deadline=None)
@given(stored=stored_things)
def test_round_trip(stored: Stored, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "round-trip.bitfold"
    write_hastily(path, stored)
    assert same(read(path), stored)
    assert same(read(path, mmap=True), stored)
    assert same_as_safetensors(path, stored)


def same_as_safetensors(path: Path, stored: Stored) -> bool:
    loaded = safetensors.numpy.load_file(path)
    return loaded.keys() == stored.arrays.keys() and all(
        same_bytes(loaded[name], stored.arrays[name]) for name in loaded
    )


def test_safetensors_may_write_the_file_anew(written: Path, tmp_path: Path) -> None:
    with safetensors.safe_open(written, framework="np") as opened:
        metadata = opened.metadata()
    again = tmp_path / "again"
    safetensors.numpy.save_file(safetensors.numpy.load_file(written), again, metadata)
    assert same(read(again), SAMPLE)
    assert same(read(again, mmap=True), SAMPLE)


def test_types_of_the_tree_survive(path: Path) -> None:
    meta: dict[str, Any] = {
        "a": True,
        "b": 1,
        "c": 1.0,
        "d": None,
        "e": "\ud800",
        "f": [{}],
        "g": 2**70,
    }
    write(path, Stored("X", meta, {}))
    assert repr(read(path).meta) == repr(meta)


def test_plain_read_is_writable_and_apart_from_the_file(written: Path) -> None:
    before = written.read_bytes()
    for array in read(written).arrays.values():
        assert type(array) is np.ndarray
        assert array.flags.writeable
        assert array.flags.aligned
        array[...] = 0
    assert written.read_bytes() == before


def test_mmap_lies_in_the_file(written: Path) -> None:
    arrays = read(written, mmap=True).arrays
    for name in ("base", "mean", "signs", "words"):
        assert isinstance(origin(arrays[name]), memory_map.mmap)
    for array in arrays.values():
        assert array.flags.aligned
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_mmap_outlives_the_replaced_file(written: Path) -> None:
    old = read(written, mmap=True)
    write(written, Stored("X", {}, {"base": np.zeros(3)}))
    assert same(old, SAMPLE)
    assert read(written).kind == "X"


def test_any_memory_order_is_stored_as_c(path: Path) -> None:
    square = np.arange(24.0).reshape(4, 6)
    arrays = {
        "fortran": np.asfortranarray(square),
        "strided": square[::2, ::-3],
        "swapped": square.astype(">f8"),
        "broadcast": np.broadcast_to(np.float32(3), (2, 3)),
        "long long": np.arange(3, dtype=np.longlong),
        "scalar": np.array(7, np.int32),
    }
    write(path, Stored("X", {}, arrays))
    for mmap in (False, True):
        back = read(path, mmap=mmap).arrays
        for name, array in arrays.items():
            np.testing.assert_array_equal(back[name], array, strict=name != "swapped")
            assert back[name].flags.c_contiguous


def test_same_content_same_bytes(written: Path, tmp_path: Path) -> None:
    backward = dict(reversed(SAMPLE.arrays.items()))
    write(tmp_path / "other", SAMPLE._replace(arrays=backward))
    assert (tmp_path / "other").read_bytes() == written.read_bytes()


# Format 1, byte for byte: these constants never change

PINNED_HASHED = (
    b'[{"format":"bitfold","format_version":"1","kind":"LSH","meta":"{\\"n_bits\\":8}"},'
    b'{"bits":["BOOL",[2]],"mean":["F32",[1,2]],"n":["I64",[]]}]'
)
PINNED_N = b"\xfe\xff\xff\xff\xff\xff\xff\xff"
PINNED_MEAN = b"\x00\x00\x80\x3f\x00\x00\x20\xc0"
PINNED_BITS = b"\x01\x00"
PINNED = (
    b"\x78\x01\x00\x00\x00\x00\x00\x00"
    b'{"__metadata__":{"format":"bitfold","format_version":"1","kind":"LSH",'
    b'"meta":"{\\"n_bits\\":8}",'
    b'"sha256":"2ea1ed7f0016caaa2720c4177b7979ba8913de1b9d4ba66e85c84547f2b9f7b7"},'
    b'"n":{"dtype":"I64","shape":[],"data_offsets":[0,8]},'
    b'"mean":{"dtype":"F32","shape":[1,2],"data_offsets":[8,16]},'
    b'"bits":{"dtype":"BOOL","shape":[2],"data_offsets":[16,18]}}'
    b"                                   " + PINNED_N + PINNED_MEAN + PINNED_BITS
)
PINNED_CONTENT = Stored(
    "LSH",
    {"n_bits": 8},
    {
        "n": np.array(-2, np.int64),
        "mean": np.array([[1, -2.5]], np.float32),
        "bits": np.array([True, False]),
    },
)


@pytest.mark.parametrize("mmap", [False, True])
def test_format_1_is_readable_for_ever(path: Path, mmap: bool) -> None:
    path.write_bytes(PINNED)
    assert same(read(path, mmap=mmap), PINNED_CONTENT)


def test_format_1_is_what_we_write(path: Path) -> None:
    write(path, PINNED_CONTENT)
    assert path.read_bytes() == PINNED


def test_checksum_of_format_1() -> None:
    # Arrays by name, unlike their order in the file.
    hashed = PINNED_HASHED + PINNED_BITS + PINNED_MEAN + PINNED_N
    assert hashlib.sha256(hashed).hexdigest().encode() in PINNED


# What read refuses


def test_missing(path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        read(path)
    assert str(caught.value) == f"{path} does not exist."


def test_directory_and_device(tmp_path: Path) -> None:
    for place in (tmp_path, Path(os.devnull)):
        assert sentence(place) == "is a directory or a device, not a bitfold file."


def test_empty(path: Path) -> None:
    path.touch()
    assert sentence(path) == "is empty, not a bitfold file."


def npy_bytes(tmp_path: Path) -> bytes:
    np.save(tmp_path / "x.npy", np.arange(99))
    return (tmp_path / "x.npy").read_bytes()


@pytest.mark.parametrize(
    "content",
    [
        b"\x00",
        b"\x00" * 8,
        b"\x00" * 500,
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(64),
        b"PK\x03\x04" + bytes(200),
        b"a,b,c\n1,2,3\n" * 9,
        random.Random(0).randbytes(4096),
        framed(b"[1, 2]  "),
        framed(b"\xff\xfe{}    "),
        framed(b'{"a": "\x01"}'),
        framed(b"{}")[:-1],
    ],
)
@pytest.mark.parametrize("mmap", [False, True])
def test_foreign(path: Path, content: bytes, mmap: bool) -> None:
    path.write_bytes(content)
    expected = "is not a bitfold file, or its header is truncated or damaged."
    assert sentence(path, mmap=mmap) == expected


def test_foreign_npy(path: Path, tmp_path: Path) -> None:
    path.write_bytes(npy_bytes(tmp_path))
    assert "is not a bitfold file" in sentence(path)


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}, {"kind": "IMH"}])
def test_safetensors_of_others(path: Path, metadata: dict[str, str] | None) -> None:
    safetensors.numpy.save_file(SAMPLE.arrays, path, metadata)
    assert sentence(path) == "is a safetensors file, but not one of bitfold."


@pytest.mark.parametrize("version", ["2", "10", "17"])
def test_newer_format(path: Path, version: str) -> None:
    # A newer format may hold anything else.
    strings = {"format": "bitfold", "format_version": version}
    path.write_bytes(framed({"__metadata__": strings, "layers": [1]}))
    assert sentence(path) == (
        f"was written by a newer bitfold (format {version}, this one reads 1); upgrade bitfold."
    )


@pytest.mark.parametrize("version", ["0", "", "q", "01", "-1"])
def test_version_that_never_was(path: Path, version: str) -> None:
    path.write_bytes(sealed({}, b"", format_version=version))
    assert sentence(path) == "is damaged: its metadata are incomplete."


@pytest.mark.parametrize("key", ["format_version", "kind", "meta", "sha256"])
@pytest.mark.parametrize("value", [None, 3, {"a": 1}])
def test_incomplete_metadata(path: Path, key: str, value: object) -> None:
    strings: dict[str, object] = dict.fromkeys(("kind", "meta", "sha256"), "{}")
    strings |= {"format": "bitfold", "format_version": "1", key: value}
    if value is None:
        del strings[key]
    path.write_bytes(framed({"__metadata__": strings}))
    assert sentence(path) == "is damaged: its metadata are incomplete."


def test_metadata_that_are_no_strings(path: Path) -> None:
    strings = dict.fromkeys(("kind", "meta", "sha256"), "{}")
    others = {"format": "bitfold", "format_version": "1", "extra": 3}
    path.write_bytes(framed({"__metadata__": strings | others}))
    assert sentence(path) == "is damaged: its metadata are incomplete."


@pytest.mark.parametrize("length", [2**63, 2**64 - 8, 2**62, 2**40, 104, 100_000_008])
def test_hostile_header_length_allocates_nothing(path: Path, length: int) -> None:
    # Sparse: the file is truly that long where it can be, so only the limit stops the read.
    with path.open("wb") as file:
        file.write(struct.pack("<Q", length) + b'{"__metadata__":{"format":"bitfold"')
        file.truncate(100_000_100 if length > 104 else 100)
    tracemalloc.start()
    try:
        assert "is not a bitfold file" in sentence(path)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("mmap", [False, True])
def test_header_that_would_misalign_the_arrays(path: Path, mmap: bool) -> None:
    content = sealed({"a": entry("F64", [1], 0, 8)}, bytes(8))
    length = struct.unpack("<Q", content[:8])[0]
    path.write_bytes(struct.pack("<Q", length + 1) + content[8:-8] + b" " + content[-8:])
    assert "is not a bitfold file" in sentence(path, mmap=mmap)


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'{"__metadata__":{"meta":['])
def test_deeply_nested_header(path: Path, opening: bytes) -> None:
    path.write_bytes(framed(opening * 200_000))
    assert "is not a bitfold file" in sentence(path)


def test_deeply_nested_entry(path: Path) -> None:
    good = sealed({}, b"")[8:].rstrip()
    for depth in (500, 900, 100_000):
        nested = (
            b'{"dtype":"F32","shape":' + b"[" * depth + b"]" * depth + b',"data_offsets":[0,0]}'
        )
        path.write_bytes(framed(good[:-1] + b',"x":' + nested + b"}"))
        sentence(path)


@pytest.mark.parametrize("meta", ["[" * 200_000, '{"a":' * 200_000, "", "[]", "3", "{", "1" * 9999])
def test_meta_that_is_no_object(path: Path, meta: str) -> None:
    path.write_bytes(sealed({}, b"", meta=meta))
    assert sentence(path) == "is damaged: its meta is not a JSON object."


def entry(dtype: object, shape: object, begin: object, end: object) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


@pytest.mark.parametrize(
    "header",
    [
        {"a": entry("F32", [4], 0, 24)},
        {"a": entry("F32", [4], 8, 24)},
        {"a": entry("F32", [4], 16, 0)},
        {"a": entry("F32", [2**62], 0, 2**64)},
        {"a": entry("F32", [4], -16, 0)},
        {"a": entry("F32", [2], 0, 8)},
        {"a": entry("F32", [5], 0, 16)},
        {"a": entry("F32", [3], 0, 16)},
        {"a": entry("F32", [-2, -2], 0, 16)},
        {"a": entry("F32", [True, 4], 0, 16)},
        {"a": entry("F32", [4.0], 0, 16)},
        {"a": entry("F32", 4, 0, 16)},
        {"a": entry("F32", None, 0, 16)},
        {"a": entry("F32", ["4"], 0, 16)},
        {"a": entry("F32", [1] * 99 + [4], 0, 16)},
        {"a": entry("F32", [0, 2**62, 2**62], 0, 0), "b": entry("U8", [16], 0, 16)},
        {"a": entry("F32", [0, 2**99], 0, 0), "b": entry("U8", [16], 0, 16)},
        {"a": entry("F32", [4], 0.0, 16)},
        {"a": entry("F32", [4], None, None)},
        {"a": entry("BF16", [8], 0, 16)},
        {"a": entry("object", [2], 0, 16)},
        {"a": entry(["F32"], [4], 0, 16)},
        {"a": entry("F32", [2], 0, 8), "b": entry("F32", [4], 0, 16)},
        {"a": entry("F32", [1], 0, 4), "b": entry("F32", [2], 8, 16)},
        {"a": entry("F32", [4], 0, 16), "b": entry("F32", [4], 0, 16)},
        {"a": entry("U8", [3], 0, 3), "b": entry("F32", [3], 3, 15), "c": entry("U8", [1], 15, 16)},
        {"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 8, 16]}},
        {"a": {"dtype": "F32", "shape": [4]}},
        {"a": {}},
        {},
    ],
)
@pytest.mark.parametrize("mmap", [False, True])
def test_hostile_arrays(path: Path, header: dict[str, Any], mmap: bool) -> None:
    complete = all({"dtype", "shape"} <= each.keys() for each in header.values())
    path.write_bytes((sealed if complete else sealed_without_arrays)(header, bytes(16)))
    expected = "is truncated or damaged: its arrays do not fit its header."
    assert sentence(path, mmap=mmap) == expected


def sealed_without_arrays(header: dict[str, Any], data: bytes) -> bytes:
    strings = {"format": "bitfold", "format_version": "1", "kind": "", "meta": "{}", "sha256": ""}
    return framed({"__metadata__": strings} | header, data)


@pytest.mark.parametrize("value", [None, 3, "F32", [1], [[0, 16]]])
def test_array_that_is_no_entry(path: Path, value: object) -> None:
    for header in ({"a": value}, {"a": value, "b": entry("F32", [4], 0, 16)}):
        path.write_bytes(sealed_without_arrays(header, bytes(16)))
        assert "damaged" in sentence(path)


def test_deeply_nested_offsets(path: Path) -> None:
    """At every depth the JSON is refused, or the entries are."""
    good = sealed({}, b"")[8:].rstrip()
    for depth in range(1, 1100, 3):
        nested = b"[" * depth + b"]" * depth
        one = b'{"dtype":"F32","shape":[],"data_offsets":[' + nested + b"," + nested + b"]}"
        path.unlink(missing_ok=True)
        path.write_bytes(framed(good[:-1] + b',"x":' + one + b',"y":' + one + b"}"))
        assert "damaged" in sentence(path)


def test_shape_that_only_numpy_understands(path: Path) -> None:
    path.write_bytes(sealed({"a": entry("F32", [-1], 0, 16)}, bytes(16)))
    assert sentence(path) == "is damaged: its checksum does not match its content."


def test_sealed_is_sound(path: Path) -> None:
    """The helper gives readable files, so what the tests above refuse is refused for its flaw."""
    header = {"a": entry("F32", [2], 0, 8), "b": entry("F64", [1], 8, 16)}
    path.write_bytes(sealed(header, bytes(16), meta='{"x":1}'))
    assert same(read(path), Stored("X", {"x": 1}, {"a": np.zeros(2, "f4"), "b": np.zeros(1)}))


def test_names_with_lone_surrogates_do_not_crash(path: Path) -> None:
    path.write_bytes(sealed({"\ud800": entry("U8", [1], 0, 1)}, b"\x07", kind="\udfff"))
    assert list(read(path).arrays) == ["\ud800"]


# Damage


def harmless(path: Path, content: bytes, mmap: bool) -> bool:
    """Whether a damaged file still says the same; refused with a sentence is the other case."""
    path.unlink()  # some file systems wait for the disk when a file is overwritten
    path.write_bytes(content)
    try:
        damaged = read(path, mmap=mmap)
    except FormatError as error:
        assert str(error).startswith(f"{path} ")
        return False
    assert same(damaged, SAMPLE)
    return True


def test_flipped_bits_are_seen_or_harmless(written: Path) -> None:
    """Every bit of the header's length, two of every other byte."""
    whole = written.read_bytes()
    header = 8 + struct.unpack("<Q", whole[:8])[0]
    rng = random.Random(0)
    bits = [(place, bit) for place in range(8) for bit in range(8)]
    bits += [(place, bit) for place in range(8, len(whole)) for bit in rng.sample(range(8), 2)]
    survived = []
    for place, bit in bits:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << bit
        if harmless(written, bytes(damaged), mmap=bit % 3 == 0):
            survived.append(place)
    # In the data and the length no bit is without meaning, in the header next to none.
    assert all(8 <= place < header for place in survived)
    assert len(survived) < 8


def test_every_truncation_is_seen(written: Path) -> None:
    whole = written.read_bytes()
    assert not any(harmless(written, whole[:n], mmap=n % 2 == 0) for n in range(len(whole)))


def test_what_is_appended_is_seen(written: Path) -> None:
    whole = written.read_bytes()
    assert not any(harmless(written, whole + tail, False) for tail in (b"\x00", b" " * 64, whole))


def test_random_damage(written: Path) -> None:
    whole = written.read_bytes()
    rng = random.Random(1)
    for turn in range(500):
        damaged = bytearray(whole)
        begin = rng.randrange(len(whole))
        end = begin + rng.choice([1, 2, 8, 64, 512])
        length = min(end, len(whole)) - begin
        fill = rng.choice([bytes(length), rng.randbytes(length)])
        damaged[begin:end] = rng.choice([fill, b"", fill + fill])
        harmless(written, bytes(damaged), mmap=turn % 2 == 0)


# What write refuses


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (
            Stored("IMH", {}, {"y": np.array([{}, None])}),
            "array 'y' of IMH must be booleans, integers or reals of at most 64 bits, "
            "got dtype object.",
        ),
        (Stored("IMH", {}, {"y": np.array(["a"])}), "got dtype <U1."),
        (Stored("IMH", {}, {"y": np.zeros(2, complex)}), "got dtype complex128."),
        (Stored("IMH", {}, {"y": np.zeros(2, "M8[s]")}), "got dtype datetime64"),
        (Stored("IMH", {}, {"y": np.zeros(2, [("a", "f4")])}), "got dtype [('a'"),
        (Stored("IMH", {}, {"__metadata__": np.zeros(2)}), "an array's name of IMH must be"),
        (Stored("IMH", {}, {"\ud800": np.zeros(2)}), "got '\\ud800'."),
        (Stored("IMH", {}, {1: np.zeros(2)}), "got 1."),  # type: ignore[dict-item]
        (Stored("I\nH", {}, {}), "kind of Stored must be printable text"),
        (Stored("IMH", {"a": np.zeros(2)}, {}), "Object of type ndarray is not JSON serializable"),
        (Stored("IMH", {"a": math.nan}, {}), "meta of IMH must be a dict that JSON gives back"),
        (Stored("IMH", {"a": [-math.inf]}, {}), "Out of range float values"),
        (Stored("IMH", {"a": (1, 2)}, {}), "got a tuple, a key that is no string"),
        (Stored("IMH", {"a": {1: 2}}, {}), "got a tuple, a key that is no string"),
        (Stored("IMH", [], {}), "or no dict at all."),  # type: ignore[arg-type]
    ],
)
def test_refused_content_leaves_the_old_file(written: Path, stored: Stored, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        write(written, stored)
    assert message in str(caught.value)
    assert_untouched(written)


def test_circular_and_deep_meta(written: Path) -> None:
    circle: dict[str, Any] = {}
    circle["self"] = circle
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for meta in (circle, {"deep": deep}):
        with pytest.raises(ValueError, match="meta of X must be a dict that JSON gives back"):
            write(written, Stored("X", meta, {}))
    assert_untouched(written)
    while deep:
        deep = deep.pop()


def test_meta_beyond_the_header(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_file, "_MAX_HEADER", 2000)
    with pytest.raises(ValueError, match=r"meta of X must be at most 2000 bytes of JSON, got 21"):
        write(written, Stored("X", {"a": "b" * 2000}, {}))
    assert_untouched(written)


# Atomic and durable


def assert_untouched(path: Path) -> None:
    assert same(read(path), SAMPLE)
    assert list(path.parent.iterdir()) == [path]


NEW = Stored("NEW", {}, {"x": np.ones(200_000)})


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_failure_at_the_end(
    written: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, function: str
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(os if function == "fsync" else Path, function, fail)
    with pytest.raises(type(error)):
        write(written, NEW)
    monkeypatch.undo()
    assert_untouched(written)


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_failure_within(written: Path, error: BaseException) -> None:
    with pytest.raises(type(error)), replace_atomically(written) as file:
        file.write(bytes(100_000))
        assert len(list(written.parent.iterdir())) == 2
        raise error
    assert_untouched(written)


WRITE_BEYOND_LIMIT = """
import resource, sys, numpy
from bitfold.persistence import Stored, write
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    write(sys.argv[1], Stored("NEW", {}, {"x": numpy.ones(200_000)}))
except OSError as error:
    sys.exit(error.errno)
"""


def test_real_failure_of_the_system(written: Path) -> None:
    """The system itself refuses bytes halfway, as a full disk does."""
    run = subprocess.run([sys.executable, "-c", WRITE_BEYOND_LIMIT, written], check=False)
    assert run.returncode == errno.EFBIG
    assert_untouched(written)


WRITE_FOR_EVER = """
import itertools, sys, numpy
from bitfold.persistence import Stored, read, write

def write_for_ever(path, first):
    for version in itertools.count(first):
        arrays = {name: numpy.full(40_000, version) for name in "abc"}
        write(path, Stored("LOOP", {"version": version}, arrays))
"""

# Children by fork, because starting Python twenty times is slow.
KILL_AND_READ = """
import os, random, signal, time
path = sys.argv[1]
write(path, Stored("LOOP", {"version": 0}, {name: numpy.zeros(40_000) for name in "abc"}))
rng = random.Random(2)
version = 0
for _ in range(20):
    child = os.fork()
    if child == 0:
        write_for_ever(path, version + 1)
    time.sleep(rng.uniform(0, 0.08))
    os.kill(child, signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    kind, meta, arrays = read(path)
    assert meta["version"] >= version
    version = meta["version"]
    assert all((arrays[name] == version).all() for name in "abc")
print(version)
"""


def test_kill_leaves_a_complete_version(path: Path) -> None:
    command = [sys.executable, "-c", WRITE_FOR_EVER + KILL_AND_READ, str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > 0
    assert same(read(path), read(path, mmap=True))


def test_reader_never_meets_a_part(path: Path) -> None:
    write(path, Stored("LOOP", {"version": 0}, {}))
    command = [sys.executable, "-c", WRITE_FOR_EVER + "write_for_ever(sys.argv[1], 1)", str(path)]
    deadline = time.monotonic() + 20
    versions = [0]
    with subprocess.Popen(command) as writer:
        while len(set(versions)) < 10 and time.monotonic() < deadline:
            versions.append(read(path, mmap=len(versions) % 2 == 0).meta["version"])
        writer.kill()
    assert versions == sorted(versions)
    assert len(set(versions)) == 10


def test_everything_reaches_the_disk_in_order(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def watched_fsync(descriptor: int) -> None:
        status = os.fstat(descriptor)
        is_directory = stat.S_ISDIR(status.st_mode)
        events.append("directory" if is_directory else f"{status.st_size} bytes")
        fsync(descriptor)

    def watched_replace(self: Path, target: Path) -> Path:
        events.append("replace")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(Path, "replace", watched_replace)
    write(written, PINNED_CONTENT)
    assert events == [f"{written.stat().st_size} bytes", "replace", "directory"]


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_mode_follows_the_umask(path: Path, umask: int) -> None:
    old = os.umask(umask)
    try:
        write(path, SAMPLE)
        (path.parent / "ordinary").write_bytes(b"")
    finally:
        os.umask(old)
    assert path.stat().st_mode == (path.parent / "ordinary").stat().st_mode


def test_mode_of_a_private_file_stays(written: Path) -> None:
    written.chmod(0o600)
    with replace_atomically(written) as file:
        temporary = Path(file.name)
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
        file.write(b"secret")
    assert stat.S_IMODE(written.stat().st_mode) == 0o600


def test_symbolic_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "there" / "model")
    for _ in range(2):
        write(link, SAMPLE)
        assert link.is_symlink()
        assert same(read(tmp_path / "there" / "model"), SAMPLE)


def test_longest_name(tmp_path: Path) -> None:
    write(tmp_path / ("x" * 255), SAMPLE)
    assert same(read(str(tmp_path / ("x" * 255))), SAMPLE)


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="cannot be written: its directory does not exist"):
        write(tmp_path / "none" / "model", SAMPLE)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for place in (tmp_path, pipe):
        with pytest.raises(OSError, match="cannot be written: it is a directory or a device"):
            write(place, SAMPLE)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]
