"""Model files: round trips, and what damaged or hostile files cannot do."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import mmap as memory_map
import os
import random
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
from tests.platforms import posix_only

from bitfold import Codes
from bitfold._types import AnyArray
from bitfold.errors import FormatError, NewerFormatError, ParameterError
from bitfold.io import model_file, save_codes
from bitfold.io.model_file import StoredModel, read_model, write_model

DTYPES = [
    "bool", "uint8", "int8", "uint16", "int16", "float16",
    "uint32", "int32", "float32", "uint64", "int64", "float64",
]  # fmt: skip

SAMPLE = StoredModel(
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
arrays_of_any_type = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0))
)
models = st.builds(
    StoredModel,
    names,
    st.dictionaries(st.text(max_size=5), trees, max_size=4),
    st.dictionaries(names, arrays_of_any_type, max_size=4),
)


def same_bytes(a: AnyArray, b: AnyArray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def same_content(a: StoredModel, b: StoredModel) -> bool:
    return (
        (a.kind, a.meta) == (b.kind, b.meta)
        and a.arrays.keys() == b.arrays.keys()
        and all(same_bytes(a.arrays[name], b.arrays[name]) for name in a.arrays)
    )


def find_origin(array: Any) -> object:
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


def read_error(path: Path, *, mmap: bool = False) -> str:
    """Return the message about a file that cannot be read: one sentence that names the file."""
    with pytest.raises(FormatError) as caught:
        read_model(path, mmap=mmap)
    text = str(caught.value)
    assert text.startswith(f"{path} ")
    assert text.endswith(".")
    assert "\n" not in text
    return text.removeprefix(f"{path} ")


def frame(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def forge(header: dict[str, Any], data: bytes, meta: Any = None, **changes: Any) -> bytes:
    """Return a file whose checksum matches, whatever else is wrong; arrays in name order."""
    about = {
        name: [entry.get("dtype"), entry.get("shape")]
        for name, entry in header.items()
        if isinstance(entry, dict)
    }
    content = {"format_version": 1, "kind": "X", "meta": {} if meta is None else meta} | changes
    text = json.dumps([content, about], sort_keys=True, separators=(",", ":"))
    content |= {"sha256": hashlib.sha256(text.encode() + data).hexdigest()}
    return frame({"__metadata__": {"bitfold": json.dumps(content)}} | header, data)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.bitfold"


@pytest.fixture
def written(path: Path) -> Path:
    write_without_sync(path, SAMPLE)
    return path


def write_without_sync(path: Path, stored: StoredModel) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        write_model(path, stored)


# Round trips


@settings(deadline=None)
@given(stored=models)
def test_round_trip(stored: StoredModel, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "round-trip.bitfold"
    write_without_sync(path, stored)
    assert same_content(read_model(path), stored)
    assert same_content(read_model(path, mmap=True), stored)
    loaded = safetensors.numpy.load_file(path)
    assert loaded.keys() == stored.arrays.keys()
    assert all(same_bytes(loaded[name], stored.arrays[name]) for name in loaded)


def test_file_rewritten_by_safetensors(written: Path, tmp_path: Path) -> None:
    with safetensors.safe_open(written, framework="np") as opened:
        metadata = opened.metadata()
    again = tmp_path / "again"
    safetensors.numpy.save_file(safetensors.numpy.load_file(written), again, metadata)
    assert same_content(read_model(again), SAMPLE)
    assert same_content(read_model(again, mmap=True), SAMPLE)


def test_types_of_meta_are_kept(path: Path) -> None:
    meta: dict[str, Any] = {
        "a": True, "b": 1, "c": 1.0, "d": None, "e": "\ud800", "f": [{}], "g": 2**70,
    }  # fmt: skip
    write_model(path, StoredModel("X", meta, {}))
    assert repr(read_model(path).meta) == repr(meta)


def test_arrays_in_memory_are_writable(written: Path) -> None:
    before = written.read_bytes()
    for array in read_model(written).arrays.values():
        assert type(array) is np.ndarray
        assert array.flags["W"]
        assert array.flags.aligned
        array[...] = 0
    assert written.read_bytes() == before


def test_mapped_arrays_lie_in_the_file(written: Path) -> None:
    arrays = read_model(written, mmap=True).arrays
    for name in ("base", "mean", "signs", "words"):
        assert isinstance(find_origin(arrays[name]), memory_map.mmap)
    for array in arrays.values():
        assert array.flags.aligned
        assert not array.flags["W"]
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_mapped_arrays_outlive_the_file(written: Path) -> None:
    old = read_model(written, mmap=True)
    write_model(written, StoredModel("X", {}, {"base": np.zeros(3)}))
    assert same_content(old, SAMPLE)
    assert read_model(written).kind == "X"


@pytest.mark.parametrize("n_spaces", [0, 1, 3])
def test_unaligned_arrays(path: Path, n_spaces: int) -> None:
    header = {"a": entry("U8", [3], 0, 3), "b": entry("F32", [3], 3, 15)}
    data = b"abc" + np.arange(3, dtype=np.float32).tobytes()
    content = forge(header, data)
    length = struct.unpack("<Q", content[:8])[0]
    text = content[8 : 8 + length] + b" " * n_spaces
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    for mmap in (False, True):
        array = read_model(path, mmap=mmap).arrays["b"]
        assert array.flags.aligned
        assert array.flags["W"] != mmap
        assert array.tolist() == [0, 1, 2]


def test_any_memory_order(path: Path) -> None:
    square = np.arange(24.0).reshape(4, 6)
    arrays = {
        "fortran": np.asfortranarray(square),
        "strided": square[::2, ::-3],
        "swapped": square.astype(">f8"),
        "broadcast": np.broadcast_to(np.float32(3), (2, 3)),
        "long long": np.arange(3, dtype=np.longlong),
        "scalar": np.array(7, np.int32),
    }
    write_model(path, StoredModel("X", {}, arrays))
    for mmap in (False, True):
        back = read_model(path, mmap=mmap).arrays
        for name, array in arrays.items():
            np.testing.assert_array_equal(back[name], array, strict=name != "swapped")
            assert back[name].flags.c_contiguous


def test_equal_models_give_equal_files(written: Path, tmp_path: Path) -> None:
    backward = dict(reversed(SAMPLE.arrays.items()))
    for number in range(5):
        write_model(tmp_path / f"{number}", SAMPLE._replace(arrays=backward))
        assert (tmp_path / f"{number}").read_bytes() == written.read_bytes()


# Format version 1: these constants never change

CHECKED = (
    b'[{"format_version":1,"kind":"LSH","meta":{"n_bits":8}},'
    b'{"bits":["BOOL",[2]],"mean":["F32",[1,2]],"n":["I64",[]]}]'
)
N, MEAN, BITS = (
    b"\xfe\xff\xff\xff\xff\xff\xff\xff",
    b"\x00\x00\x80\x3f\x00\x00\x20\xc0",
    b"\x01\x00",
)
VERSION_1 = frame(
    b'{"__metadata__":{"bitfold":"{\\"format_version\\": 1, \\"kind\\": \\"LSH\\", '
    b'\\"meta\\": {\\"n_bits\\": 8}, \\"sha256\\": '
    b'\\"1b63ad073ff49924920ca2423263a7a8c5fd05521b5c77f206c4ac3ded3b8e17\\"}"},'
    b'"n":{"dtype":"I64","shape":[],"data_offsets":[0,8]},'
    b'"mean":{"dtype":"F32","shape":[1,2],"data_offsets":[8,16]},'
    b'"bits":{"dtype":"BOOL","shape":[2],"data_offsets":[16,18]}}',
    N + MEAN + BITS,
)
VERSION_1_CONTENT = StoredModel(
    "LSH",
    {"n_bits": 8},
    {
        "n": np.array(-2, np.int64),
        "mean": np.array([[1, -2.5]], np.float32),
        "bits": np.array([True, False]),
    },
)


@pytest.mark.parametrize("mmap", [False, True])
def test_version_1_stays_readable(path: Path, mmap: bool) -> None:
    path.write_bytes(VERSION_1)
    assert same_content(read_model(path, mmap=mmap), VERSION_1_CONTENT)


def test_checksum_of_version_1(path: Path) -> None:
    # Arrays by name, unlike their order in the file.
    digest = hashlib.sha256(CHECKED + BITS + MEAN + N).hexdigest().encode()
    assert digest in VERSION_1
    write_model(path, VERSION_1_CONTENT)
    assert digest in path.read_bytes()


# Files of other formats


def test_missing_file(path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_model(path)


def test_directory_and_device(tmp_path: Path) -> None:
    for place in (tmp_path, Path(os.devnull)):
        assert "directory or a device" in read_error(place)


def make_npy(tmp_path: Path) -> bytes:
    np.save(tmp_path / "x.npy", np.arange(99))
    return (tmp_path / "x.npy").read_bytes()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00",
        b"\x00" * 8,
        b"\x00" * 500,
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(64),
        b"PK\x03\x04" + bytes(200),
        b"a,b,c\n1,2,3\n" * 9,
        random.Random(0).randbytes(4096),
        frame(b"[1, 2]  "),
        frame(b"\xff\xfe{}    "),
        frame(b'{"a": "\x01"}'),
        frame(b"{}")[:-1],
    ],
)
@pytest.mark.parametrize("mmap", [False, True])
def test_other_formats(path: Path, content: bytes, mmap: bool) -> None:
    path.write_bytes(content)
    assert "is not a model, or it is damaged" in read_error(path, mmap=mmap)


def test_npy(path: Path, tmp_path: Path) -> None:
    path.write_bytes(make_npy(tmp_path))
    assert "is not a model" in read_error(path)


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}, {"kind": "IMH"}])
def test_safetensors_of_others(path: Path, metadata: dict[str, str] | None) -> None:
    safetensors.numpy.save_file(SAMPLE.arrays, path, metadata)
    assert "is a safetensors file, but not one of bitfold" in read_error(path)


def test_codes_file(path: Path) -> None:
    save_codes(Codes.from_bits([[0, 1]]), path)
    assert "codes" in read_error(path)


@pytest.mark.parametrize("version", [2, 10, 17])
def test_newer_version(path: Path, version: int) -> None:
    # A newer format can contain anything that is valid safetensors.
    content = {"format_version": version, "layers": [1]}
    header = {"__metadata__": {"bitfold": json.dumps(content)}, "a": entry("BF16", [1], 0, 2)}
    path.write_bytes(frame(header, bytes(2)))
    with pytest.raises(NewerFormatError, match=rf"version {version}; .* version 1\. Upgrade"):
        read_model(path)


@pytest.mark.parametrize("version", [0, "1", "", "q", None, 1.0, True, -1, [1], 2.0, "2"])
def test_invalid_version(path: Path, version: Any) -> None:
    path.write_bytes(forge({}, b"", format_version=version))
    assert "format version" in read_error(path)


# Hostile metadata


@pytest.mark.parametrize("key", ["format_version", "kind", "meta", "sha256"])
@pytest.mark.parametrize("value", [None, 3, [1], True])
def test_incomplete_metadata(path: Path, key: str, value: object) -> None:
    content: dict[str, object] = {"format_version": 1, "kind": "X", "meta": {}, "sha256": ""}
    content[key] = value
    if value is None:
        del content[key]
    path.write_bytes(frame({"__metadata__": {"bitfold": json.dumps(content)}}))
    read_error(path)


def test_more_metadata(path: Path) -> None:
    path.write_bytes(forge({}, b"", extra=3))
    assert "metadata" in read_error(path)
    text = json.dumps({"format_version": 1, "kind": "X", "meta": {}, "sha256": ""})
    path.write_bytes(frame({"__metadata__": {"bitfold": text, "extra": "x"}}))
    assert "metadata" in read_error(path)
    path.write_bytes(frame({"__metadata__": {"bitfold": text, "extra": 3}}))
    assert "is not a model" in read_error(path)


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"a":' * 200_000, "", "[]", "3", "{", "1" * 9999, "\ud800"]
)
def test_metadata_without_an_object(path: Path, text: str) -> None:
    path.write_bytes(frame({"__metadata__": {"bitfold": text}}))
    read_error(path)


def test_lone_surrogates(path: Path) -> None:
    path.write_bytes(forge({"\ud800": entry("U8", [1], 0, 1)}, b"\x07"))
    read_error(path)
    path.write_bytes(forge({}, b"", kind="\udfff"))
    assert read_model(path).kind == "\udfff"


# Hostile headers


@pytest.mark.parametrize("length", [2**63, 2**64 - 8, 2**62, 2**40, 104, 100_000_008])
def test_hostile_header_length_allocates_nothing(path: Path, length: int) -> None:
    # The file is sparse, and really as long as it says where possible.
    with path.open("wb") as file:
        file.write(struct.pack("<Q", length) + b'{"__metadata__":{"format":"bitfold"')
        file.truncate(100_000_100 if length > 104 else 100)
    tracemalloc.start()
    try:
        assert "is not a model" in read_error(path)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'{"__metadata__":{"bitfold":['])
def test_deeply_nested_header(path: Path, opening: bytes) -> None:
    path.write_bytes(frame(opening * 200_000))
    assert "is not a model" in read_error(path)


@pytest.mark.parametrize("mmap", [False, True])
def test_deeply_nested_entry(path: Path, mmap: bool) -> None:
    good = forge({}, b"")[8:].rstrip()
    for depth in [*range(1, 1100, 50), 100_000]:
        nested = b"[" * depth + b"]" * depth
        for fields in (
            b'"shape":' + nested + b',"data_offsets":[0,0]',
            b'"shape":[],"data_offsets":[' + nested + b"," + nested + b"]",
        ):
            path.unlink(missing_ok=True)
            path.write_bytes(frame(good[:-1] + b',"x":{"dtype":"F32",' + fields + b"}}"))
            read_error(path, mmap=mmap)


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
        {"a": entry("F32", [-1], 0, 16)},
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
        {"a": entry("C64", [2], 0, 16)},
        {"a": entry("F8_E4M3", [16], 0, 16)},
        {"a": entry("object", [2], 0, 16)},
        {"a": entry(["F32"], [4], 0, 16)},
        {"a": entry("F32", [2], 0, 8), "b": entry("F32", [4], 0, 16)},
        {"a": entry("F32", [1], 0, 4), "b": entry("F32", [2], 8, 16)},
        {"a": entry("F32", [4], 0, 16), "b": entry("F32", [4], 0, 16)},
        {"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 8, 16]}},
        {"a": {"dtype": "F32", "shape": [4]}},
        {"a": {}},
        {"a": None},
        {"a": "F32"},
        {"a": [[0, 16]]},
        {"a": 3, "b": entry("F32", [4], 0, 16)},
        {},
    ],
)
@pytest.mark.parametrize("mmap", [False, True])
def test_hostile_arrays(path: Path, header: dict[str, Any], mmap: bool) -> None:
    path.write_bytes(forge(header, bytes(16)))
    assert "damaged" in read_error(path, mmap=mmap)


@pytest.mark.parametrize("second", [[0, 16], [16, 32], [-16, 0], [0, 2**62], [0, 8]])
@pytest.mark.parametrize("mmap", [False, True])
def test_duplicate_names(path: Path, second: list[int], mmap: bool) -> None:
    """Two readers may use different entries; neither may lead out of the file."""
    content = forge({"a": entry("F32", [4], 0, 16)}, bytes(16))
    header = content[8 : -16 or None].rstrip()[:-1]
    for first, last in (([0, 16], second), (second, [0, 16])):
        text = header
        for offsets in (first, last):
            text += b"," + json.dumps({"a": entry("F32", [4], *offsets)}).encode()[1:-1]
        path.write_bytes(frame(text + b"}", bytes(16)))
        try:
            arrays = read_model(path, mmap=mmap).arrays
        except FormatError:
            continue
        assert arrays["a"].tolist() == [0, 0, 0, 0]


def test_forged_files_are_valid_otherwise(path: Path) -> None:
    """The tests above fail for the reason they state."""
    header = {"a": entry("F32", [2], 0, 8), "b": entry("F64", [1], 8, 16)}
    path.write_bytes(forge(header, bytes(16), meta={"x": 1}))
    expected = StoredModel("X", {"x": 1}, {"a": np.zeros(2, "f4"), "b": np.zeros(1)})
    assert same_content(read_model(path), expected)


# Damage


def is_harmless(path: Path, content: bytes, mmap: bool) -> bool:
    """Return whether a damaged file still has the same content; otherwise it must raise."""
    path.unlink()  # Overwriting is slow on some file systems.
    path.write_bytes(content)
    try:
        damaged = read_model(path, mmap=mmap)
    except FormatError as error:
        assert str(error).startswith(f"{path} ")
        return False
    assert same_content(damaged, SAMPLE)
    return True


def test_flipped_bits_are_detected(written: Path) -> None:
    """Every bit of the header's length, and two bits of every other byte."""
    whole = written.read_bytes()
    header = 8 + struct.unpack("<Q", whole[:8])[0]
    rng = random.Random(0)
    bits = [(place, bit) for place in range(8) for bit in range(8)]
    bits += [(place, bit) for place in range(8, len(whole)) for bit in rng.sample(range(8), 2)]
    harmless = []
    for place, bit in bits:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << bit
        if is_harmless(written, bytes(damaged), mmap=bit % 3 == 0):
            harmless.append(place)
    # Every bit of the data and the length matters, and nearly every bit of the header.
    assert all(8 <= place < header for place in harmless)
    assert len(harmless) < 40


def test_truncations_are_detected(written: Path) -> None:
    whole = written.read_bytes()
    assert not any(is_harmless(written, whole[:n], mmap=n % 2 == 0) for n in range(len(whole)))


def test_appended_bytes_are_detected(written: Path) -> None:
    whole = written.read_bytes()
    tails = (b"\x00", b" " * 64, whole)
    assert not any(is_harmless(written, whole + tail, False) for tail in tails)


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
        is_harmless(written, bytes(damaged), mmap=turn % 2 == 0)


# Values that cannot be written


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (StoredModel("IMH", {}, {"y": np.array([{}, None])}), "array 'y' of IMH .* dtype object"),
        (StoredModel("IMH", {}, {"y": np.array(["a"])}), "dtype <U1"),
        (StoredModel("IMH", {}, {"y": np.zeros(2, complex)}), "dtype complex128"),
        (StoredModel("IMH", {}, {"y": np.zeros(2, "M8[s]")}), "dtype datetime64"),
        (StoredModel("IMH", {}, {"y": np.zeros(2, [("a", "f4")])}), r"dtype \[\('a'"),
        (StoredModel("IMH", {}, {"__metadata__": np.zeros(2)}), "name of an array of IMH"),
        (StoredModel("IMH", {}, {"\ud800": np.zeros(2)}), r"'\\ud800'"),
        (StoredModel("IMH", {}, {1: np.zeros(2)}), "got 1"),  # type: ignore[dict-item]
        (StoredModel("I\nH", {}, {}), "kind of StoredModel"),
        (StoredModel("IMH", {"a": np.zeros(2)}, {}), "meta of IMH .* ndarray"),
        (StoredModel("IMH", {"a": math.nan}, {}), "meta of IMH"),
        (StoredModel("IMH", {"a": [-math.inf]}, {}), "meta of IMH"),
        (StoredModel("IMH", {"a": (1, 2)}, {}), "meta of IMH .* tuple"),
        (StoredModel("IMH", {"a": {1: 2}}, {}), "meta of IMH .* key"),
        (StoredModel("IMH", [], {}), "meta of IMH .* dict"),  # type: ignore[arg-type]
    ],
)
def test_invalid_content_leaves_the_old_file(
    written: Path, stored: StoredModel, message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        write_model(written, stored)
    assert_unchanged(written)


def test_circular_and_deep_meta(written: Path) -> None:
    circle: dict[str, Any] = {}
    circle["self"] = circle
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for meta in (circle, {"deep": deep}):
        with pytest.raises(ParameterError, match="meta of X"):
            write_model(written, StoredModel("X", meta, {}))
    assert_unchanged(written)
    while deep:
        deep = deep.pop()


def test_too_much_meta(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_file, "_MAX_META_BYTES", 2000)
    with pytest.raises(ParameterError, match=r"meta of X .* 2000 bytes of JSON, got 2009"):
        write_model(written, StoredModel("X", {"a": "b" * 2000}, {}))
    assert_unchanged(written)


def assert_unchanged(path: Path) -> None:
    assert same_content(read_model(path), SAMPLE)
    assert list(path.parent.iterdir()) == [path]


# Kills and concurrent readers

WRITE_FOREVER = """
import itertools, sys, numpy
from bitfold.io.model_file import StoredModel, read_model, write_model

def write_forever(path, first):
    for version in itertools.count(first):
        arrays = {name: numpy.full(40_000, version) for name in "abc"}
        write_model(path, StoredModel("LOOP", {"version": version}, arrays))
"""

# Children are forked, because starting Python twenty times is slow.
KILL_AND_READ = """
import os, random, signal, time
path = sys.argv[1]
zeros = {name: numpy.zeros(40_000) for name in "abc"}
write_model(path, StoredModel("LOOP", {"version": 0}, zeros))
rng = random.Random(2)
version = 0
for number in range(20):
    child = os.fork()
    if child == 0:
        write_forever(path, version + 1)
    while number % 2 and read_model(path).meta["version"] == version:
        time.sleep(0.001)  # at least one version is finished
    time.sleep(rng.uniform(0, 0.04))
    os.kill(child, signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    kind, meta, arrays = read_model(path)
    assert meta["version"] >= version
    version = meta["version"]
    assert all((arrays[name] == version).all() for name in "abc")
print(version)
"""


@posix_only("forks and SIGKILL")
def test_kill_leaves_a_complete_version(path: Path) -> None:
    command = [sys.executable, "-c", WRITE_FOREVER + KILL_AND_READ, str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) >= 10
    assert same_content(read_model(path), read_model(path, mmap=True))


def test_readers_see_complete_versions(path: Path) -> None:
    write_model(path, StoredModel("LOOP", {"version": 0}, {}))
    command = [sys.executable, "-c", WRITE_FOREVER + "write_forever(sys.argv[1], 1)", str(path)]
    deadline = time.monotonic() + 100
    versions = [0]
    with subprocess.Popen(command) as writer:
        try:
            while len(set(versions)) < 10 and time.monotonic() < deadline:
                versions.append(read_model(path, mmap=len(versions) % 2 == 0).meta["version"])
        finally:
            writer.kill()
    assert versions == sorted(versions)
    assert len(set(versions)) == 10


def test_a_header_of_very_many_arrays_is_rejected_at_once(tmp_path: Path) -> None:
    arrays = {f"a{number}": np.zeros(1, np.float32) for number in range(1001)}
    with pytest.raises(ParameterError, match="at most 1000 arrays"):
        write_model(tmp_path / "m", StoredModel("IMH", {}, arrays))
    text = json.dumps({"format_version": 1, "kind": "IMH", "meta": {}, "sha256": ""})
    safetensors.numpy.save_file(arrays, tmp_path / "m", {"bitfold": text})
    with pytest.raises(FormatError, match="1001 arrays"):
        read_model(tmp_path / "m")


def test_a_full_disk_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match=r"model\.bitfold") as caught:
        write_model(tmp_path / "model.bitfold", StoredModel("IMH", {}, {}))
    assert caught.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []
