from __future__ import annotations

import copy
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from tests.search.disk.conftest import (
    ARRAYS,
    Header,
    flip_bits,
    forge,
    forge_header,
    make_segment,
    make_sparse_segment,
    make_words,
    parse_header,
    read_content,
    read_index,
    same_arrays,
    write_index,
    write_manifest_for,
)

from bitfold.errors import FormatError
from bitfold.io.array_file import write_arrays
from bitfold.search.disk.index_folder import IndexFolder, verify
from bitfold.search.segment import Segment

SHAPES: dict[str, Callable[[], Segment]] = {
    "all distinct": lambda: make_segment(100),
    "duplicates": lambda: make_segment(100, n_values=7),
    "one value": lambda: make_segment(100, n_values=1),
    "gaps in the ids": lambda: make_sparse_segment(),
    "one item": lambda: make_segment(1),
    "nothing": lambda: make_segment(0),
    "negative ids": lambda: make_segment(9, first=-20),
    "extreme ids": lambda: Segment.build(make_words(2, 96), np.array([-(2**63), 2**63 - 1])),
    "the last ids": lambda: Segment.build(make_words(2, 96), np.array([2**63 - 2, 2**63 - 1])),
    "removals": lambda: make_segment(100, n_values=30).without(np.arange(0, 100, 7)),
    "all removed": lambda: make_segment(20).without(np.arange(20)),
    "larger than is read at once": lambda: make_segment(9000, n_values=8000).without(np.array([8])),
}


@pytest.mark.parametrize("make", SHAPES.values(), ids=SHAPES)
def test_segment_round_trip(tmp_path: Path, make: Callable[[], Segment]) -> None:
    segment = make()
    folder = IndexFolder.open(write_index(tmp_path / "index", segment))
    (back,) = folder.segments
    counts = ("n_items", "n_deleted", "n_distinct")
    assert [getattr(back, name) for name in counts] == [getattr(segment, name) for name in counts]
    assert (folder.n_bits, folder.next_id, len(back)) == (96, 7, len(segment))
    assert same_arrays(back, segment)
    items = np.arange(segment.n_items)[::-3]
    assert np.array_equal(back.ids_of(items), segment.ids[items])
    probes = np.array([-(2**63), -20, -12, 0, 5, 7, 98, 99, 100, 2**63 - 2, 2**63 - 1])
    assert np.array_equal(back.find(probes), segment.find(probes))
    assert np.array_equal(back.find(segment.ids), segment.find(segment.ids))


@pytest.mark.parametrize("n_bits", [1, 8, 63, 64, 65, 128, 1000, 1024])
def test_every_code_length(tmp_path: Path, n_bits: int) -> None:
    segment = make_segment(50, n_bits)
    (back,) = IndexFolder.open(write_index(tmp_path / "index", segment, n_bits=n_bits)).segments
    assert same_arrays(back, segment)


def test_consecutive_ids_are_not_stored(tmp_path: Path) -> None:
    dense, gaps = make_segment(1000), make_segment(1000)
    gaps = Segment(gaps.words, gaps.starts, gaps.members, gaps.ids * 2, gaps.deleted)
    sizes = [
        verify(write_index(tmp_path / name, segment)).n_bytes
        for name, segment in (("dense", dense), ("gaps", gaps))
    ]
    assert 8000 <= sizes[1] - sizes[0] <= 8064


def test_all_arrays_have_the_same_numba_types(index: Path) -> None:
    read = IndexFolder.open(index).segments
    built = make_sparse_segment().without(np.array([0]))
    typeof: Any = numba.typeof
    kinds = {
        tuple(typeof(getattr(segment, name)) for name in ARRAYS)
        for segment in [*read, built, make_segment(), read[0].without(np.array([1]))]
    }
    assert len(kinds) == 1
    with pytest.raises(ValueError, match="read-only"):
        read[1].words[0, 0] = 0


def test_arrays_are_verified_on_first_use(index: Path) -> None:
    flip_bits(index / "segment-1-0.bin", -70)
    (first, second) = IndexFolder.open(index).segments
    assert (len(first), first.n_distinct, first.n_items) == (60, 60, 60)
    assert first.ids_of(np.array([3])).tolist() == [10_003]
    with pytest.raises(FormatError) as caught:
        _ = first.words
    assert str(index / "segment-1-0.bin") in str(caught.value)
    assert "'words' fails its checksum" in str(caught.value)
    assert second.words is second.words
    assert second.without(np.array([9])).words is second.words


HUGE = 1 << 62


EDITS: dict[str, Any] = {
    "arrays.words.shape": [[2, HUGE], [HUGE, HUGE], [2, -1], [-2, -20], [2, 1.0], [40], [],
                           [2, 20, 1], "ab", None, [1, 40], [40, 1],
                           [4, 10], [[2], 20], [True, 40], [0, HUGE]],
    "arrays.words.data_offsets": [[-64, 256], [64, 384], [0, 321], [0, HUGE], [HUGE, HUGE], "0",
                                  None, 0.5, [0], [0, 320, 640], [320, 0], [[0], [320]]],
    "arrays.words.dtype": ["F64", "O", "I64", "U32", "BOOL", 5, None, [], {}],
    "arrays.words": [None, [], 5, {}],
    "arrays.starts.shape": [[0], [HUGE], [20], [22]],
    "arrays.starts.data_offsets": [[0, 84]],
    "arrays.members.shape": [[0], [99], [101]],
    "arrays.ids.shape": [[0], [99]],
    "arrays.more": [{"dtype": "U64", "shape": [0], "data_offsets": [0, 0]}],
    "arrays": [{}],
    "content": [{}],
    "content.crc32": [None, [], {}, 5, {"words": 1}],
    "content.crc32.words": [0, -1, None, "a", 1e300],
    "content.meta": [None, [], {}, 5],
    "content.kind": [None, "codes", "deleted", 5],
    "content.format_version": [None, 0, "1", 1.0, True, -1, [1]],
    "content.meta.n_items": [0, 19, 99, 101, -1, HUGE, 1.0, "100", None, True, [100]],
    "content.meta.first_id": [0, -(1 << 63), 1 << 63, HUGE * 4, 0.5, "0", True, []],
}  # fmt: skip


@pytest.mark.parametrize("key", EDITS)
def test_hostile_headers(tmp_path: Path, key: str) -> None:
    path = write_index(tmp_path / "index", make_sparse_segment())
    file = path / "segment-1-0.bin"
    header = parse_header(file)
    *parents, last = key.split(".")
    for value in EDITS[key]:
        tree = copy.deepcopy(header._asdict())
        branch = tree
        for name in parents:
            branch = branch[name]
        branch[last] = value
        forge(file, Header(**tree))
        write_manifest_for(path, 96, file)
        with pytest.raises(FormatError):
            read_index(path)
    forge(file, header)
    write_manifest_for(path, 96, file)
    assert read_index(path) == read_content([make_sparse_segment()])


@pytest.mark.parametrize("first", [2**63, 2**63 - 99, -(2**63) - 1, 0.5, "0", True])
def test_hostile_first_id(tmp_path: Path, first: Any) -> None:
    path = write_index(tmp_path / "index", make_segment(100))
    file = path / "segment-1-0.bin"
    header = parse_header(file)
    header.content["meta"]["first_id"] = first
    forge(file, header)
    write_manifest_for(path, 96, file)
    with pytest.raises(FormatError, match="contradict"):
        IndexFolder.open(path)


@pytest.mark.parametrize(("n_spaces", "n_more"), [(0, 64), (0, 1), (0, -1), (4, 0), (64, -64)])
def test_gaps_and_missing_bytes(tmp_path: Path, n_spaces: int, n_more: int) -> None:
    path = write_index(tmp_path / "index", make_segment(100))
    file = path / "segment-1-0.bin"
    header = parse_header(file)
    data = (header.data + bytes(64))[: len(header.data) + n_more]
    forge(file, header._replace(data=data), n_spaces)
    write_manifest_for(path, 96, file)
    with pytest.raises(FormatError, match="arrays do not match its header"):
        IndexFolder.open(path)


DEEP = b'{"a":' * 100_000


@pytest.mark.parametrize(
    "rest",
    [
        b"", b"[]", b"nul", b"1" * 10_000, b"[" * 100_000, DEEP, b"\xff\xfe", b'"}}', b'"},"a":1}',
        b'","bitfold":5}}', b'","bitfold":"5"}}', b'","bitfold":"[]"}}', b'","bitfold":"{}"}}',
        b'","bitfold":"{"}}', b'","bitfold":' + DEEP,
        b'","bitfold":"' + b"[" * 100_000 + b'"}}', b'"},"__metadata__":[]}',
    ],
)  # fmt: skip
def test_hostile_json(tmp_path: Path, rest: bytes) -> None:
    path = write_index(tmp_path / "index", make_sparse_segment())
    file = path / "segment-1-0.bin"
    forge_header(file, rest, parse_header(file).data)
    write_manifest_for(path, 96, file)
    with pytest.raises(FormatError):
        IndexFolder.open(path)
    (path / "manifest.json").write_bytes(rest)
    with pytest.raises(FormatError):
        IndexFolder.open(path)


@pytest.mark.parametrize(
    ("length", "size"), [(1 << 63, 128), (HUGE, 20), (1 << 32, 64), (45, 65), (0, 20), (34, 42)]
)
def test_hostile_header_lengths(tmp_path: Path, length: int, size: int) -> None:
    path = write_index(tmp_path / "index", make_segment())
    file = path / "segment-1-0.bin"
    text = file.read_bytes()[8:]
    file.write_bytes((struct.pack("<Q", length) + text)[:size])
    write_manifest_for(path, 96, file)
    with pytest.raises(FormatError):
        IndexFolder.open(path)


def invalid_arrays() -> Iterator[tuple[str, dict[str, Any], int]]:
    """Yield arrays that no kernel may see: the invalid one, all, and the stated n_deleted."""
    right = {name: np.array(getattr(make_sparse_segment(), name)) for name in ARRAYS[:4]}

    def but(name: str, place: Any, value: Any) -> tuple[str, dict[str, Any], int]:
        array = right[name].copy()
        array[place] = value
        return name, right | {name: array}, 2

    yield but("words", (1, 3), 1 << 63)
    yield but("starts", 0, 1)
    yield but("starts", -1, 99)
    yield but("starts", -1, 2**32 - 1)
    yield but("starts", 4, 2**32 - 1)
    yield but("starts", 4, right["starts"][3])
    yield but("members", 7, 100)
    yield but("members", 7, 2**32 - 1)
    yield but("members", 7, right["members"][8])
    yield but("members", slice(0, 2), right["members"][[1, 0]])
    yield but("members", slice(1, 3), right["members"][[2, 1]])
    # The last item of the first code becomes the next item: still in order, but one is missing.
    yield but("members", right["starts"][1] - 1, right["members"][right["starts"][1] - 1] + 1)
    yield but("members", slice(None), right["members"][::-1])
    yield but("ids", 50, right["ids"][49])
    yield but("ids", 50, -(2**63))
    yield "deleted", right, 3
    yield "deleted", right, 1


def test_invalid_values_with_valid_checksums(tmp_path: Path) -> None:
    path = write_index(tmp_path / "index", make_sparse_segment())
    file, deleted = path / "segment-9-0.bin", path / "deleted-9-0.bin"
    bits = np.packbits(np.arange(100) < 2)
    for name, arrays, n_deleted in invalid_arrays():
        write_arrays(file, "segment", {"n_items": 100, "first_id": None}, arrays)
        write_arrays(
            deleted, "deleted", {"n_items": 100, "n_deleted": n_deleted}, {"deleted": bits}
        )
        write_manifest_for(path, 96, file, deleted)
        (segment,) = IndexFolder.open(path).segments
        with pytest.raises(FormatError) as caught:
            getattr(segment, name)
        damaged = deleted if name == "deleted" else file
        assert str(caught.value) == f"{damaged} is damaged: array {name!r} contains invalid values."


@pytest.mark.parametrize(
    "meta",
    [
        {},
        {"n_deleted": 0},
        {"n_deleted": -1},
        {"n_deleted": 101},
        {"n_deleted": "2"},
        {"n_items": 99},
    ],
)
def test_hostile_deleted_file(tmp_path: Path, meta: dict[str, Any]) -> None:
    path = write_index(tmp_path / "index", make_sparse_segment())
    deleted, bits = path / "deleted-9-0.bin", np.packbits(np.arange(100) < 2)
    right = {"n_items": 100, "n_deleted": 2}
    for values, array in ((meta and right | meta, bits), (right, bits[1:])):
        write_arrays(deleted, "deleted", values, {"deleted": array})
        write_manifest_for(path, 96, path / "segment-1-0.bin", deleted)
        with pytest.raises(FormatError, match=r"deleted-9-0\.bin is damaged: .* contradict"):
            IndexFolder.open(path)
