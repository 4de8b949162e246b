"""``bitfold dedup``."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pyarrow import parquet
from tests.cli.helpers import Run, X, assert_fails, list_names, parse_json

import bitfold as bf
from bitfold.io import open_codes, save_codes
from bitfold.search import VectorCheck, group_duplicates, match_duplicates

N = 300
"""Rows of the data, of which the last ten are copies of the first ten with some noise."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with vectors, some of them nearly equal, a model, codes and hexadecimal codes."""
    folder = tmp_path_factory.mktemp("data")
    rows = X[:N].copy()
    rows[-10:] = rows[:10] + np.random.default_rng(0).normal(0, 0.01, (10, 64))
    np.save(folder / "x.npy", rows)
    hasher = bf.hashers.LSH(128, random_state=0).fit(rows)
    hasher.save(folder / "m.bitfold")
    codes = hasher.encode(rows)
    save_codes(codes, folder / "x.codes")
    (folder / "x.hex").write_text("\n".join(bytes(row).hex() for row in codes.packed))
    make_index(codes, folder / "x.index")
    make_index(codes[:200], folder / "old.index")
    return folder


def make_index(codes: bf.Codes, path: Path) -> bf.HammingIndex:
    index = bf.HammingIndex(codes.n_bits)
    index.add(codes)
    index.save(path)
    return index


def read(path: Path) -> dict[str, list[Any]]:
    """Return the columns of a result."""
    if path.suffix == ".parquet":
        columns: dict[str, list[Any]] = parquet.read_table(path).to_pydict()
        return columns
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


@pytest.mark.parametrize(
    ("name", "linkage"),
    [("x.codes", "star"), ("x.hex", "connected"), ("x.index", "connected"), ("x.npy", "star")],
)
def test_inputs(name: str, linkage: str, warm: Run, data: Path, tmp_path: Path) -> None:
    out = tmp_path / ("groups.parquet" if name == "x.codes" else "groups.jsonl")
    options = ["--model", str(data / "m.bitfold")] if name == "x.npy" else []
    done = warm(
        *("dedup", str(data / name), "--out", str(out), "--linkage", linkage, "--json"), *options
    )
    summary = parse_json(done)
    with bf.HammingIndex.open(data / "x.index") as index:
        expected = index.clusters(8, linkage=linkage)
    columns = read(out)
    assert list(columns) == ["group", "id", "representative", "distance", "keep"]
    assert columns["id"] == expected.ids.tolist()
    assert columns["distance"] == expected.distances.tolist()
    group = np.repeat(np.arange(len(expected.sizes)), expected.sizes)
    assert columns["group"] == group.tolist()
    assert columns["representative"] == expected.representatives[group].tolist()
    kept = [i == r for i, r in zip(columns["id"], columns["representative"], strict=True)]
    assert columns["keep"] == kept
    assert (summary["radius"], summary["bits"], summary["items"]) == (8, 128, N)
    assert summary["groups"] == len(expected.sizes) >= 10
    assert summary["dropped"] == N - summary["kept"] == len(kept) - sum(kept)
    assert list_names(tmp_path) == [out.name]


def test_default_codes_find_the_copies(warm: Run, data: Path, tmp_path: Path) -> None:
    done = warm("dedup", str(data / "x.npy"), "--out", "g.jsonl", within=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"10 groups .*radius 16 of 256 bits \(star\)", done.stdout)
    assert "290 of 300 items to keep, 10 (3.33%) to drop." in done.stdout
    columns = read(tmp_path / "g.jsonl")
    dropped = [i for i, keep in zip(columns["id"], columns["keep"], strict=True) if not keep]
    assert dropped == list(range(N - 10, N))


def test_all_items(warm: Run, data: Path, tmp_path: Path) -> None:
    run = ["dedup", str(data / "x.codes"), "--out", "g.jsonl"]
    some = parse_json(warm(*run, "--json", within=tmp_path))
    whole = parse_json(warm(*run, "--json", "--all", "--force", within=tmp_path))
    assert whole == some
    columns = read(tmp_path / "g.jsonl")
    assert sorted(columns["id"]) == list(range(N))
    assert sum(columns["keep"]) == whole["kept"]


@pytest.mark.parametrize("name", ["x.npy", "x.codes"])
def test_verification(name: str, warm: Run, data: Path, tmp_path: Path) -> None:
    options = ["--model", str(data / "m.bitfold")]
    if name == "x.codes":
        options = ["--vectors", str(data / "x.npy")]
    run = ["dedup", str(data / name), "--out", "g.jsonl", "--json", *options]
    parse_json(warm(*run, "--radius", "30", "--max-distance", "12.5", within=tmp_path))
    with bf.HammingIndex.open(data / "x.index") as index:
        check = VectorCheck(np.load(data / "x.npy"), 12.5)
        expected = group_duplicates(index, 30, check=check)
        assert len(expected.ids) < len(index.clusters(30, linkage="star").ids)
    columns = read(tmp_path / "g.jsonl")
    assert columns["id"] == expected.ids.tolist()
    measured = check.measure(np.array(columns["id"]), np.array(columns["representative"]))
    np.testing.assert_allclose(columns["exact_distance"], measured)


def test_precision(warm: Run, data: Path, tmp_path: Path) -> None:
    run = ["dedup", str(data / "x.npy"), "--out", "g.jsonl", "--max-distance", "15"]
    done = warm(*run, "--precision", "0.9", within=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    said = re.search(r"Radius (\d+): ([\d.]+) of the \d+ sampled pairs", done.stdout)
    assert said
    assert int(said[1]) >= 0
    assert float(said[2]) >= 0.9
    cosine = ["--cosine", "--precision", "0.95", "--max-distance", "0.03", "--json", "--force"]
    summary = parse_json(warm(*run, *cosine, within=tmp_path))
    assert summary["precision"] >= 0.95
    assert max(read(tmp_path / "g.jsonl")["exact_distance"]) <= 0.03


def test_against_an_index(warm: Run, data: Path, tmp_path: Path) -> None:
    index = shutil.copytree(data / "old.index", tmp_path / "my.index")
    codes = open_codes(data / "x.codes")
    new = bf.HammingIndex(128)
    new.add(codes[190:])
    save_codes(codes[190:], tmp_path / "new.codes")
    run = ["dedup", str(tmp_path / "new.codes"), "--against", str(index), "--out", "g.parquet"]
    with bf.HammingIndex.open(index) as old:
        expected = match_duplicates(new, old, 8)
    summary = parse_json(warm(*run, "--update", "--json", within=tmp_path))
    assert summary["in_index"] == len(expected.ids) >= 20
    columns = read(tmp_path / "g.parquet")
    matched = {
        i: match
        for i, match, there in zip(
            columns["id"], columns["representative"], columns["in_index"], strict=True
        )
        if there
    }
    assert matched == dict(zip(expected.ids.tolist(), expected.matches.tolist(), strict=True))
    n_added = summary["kept"]
    assert summary["added_ids"] == [200, 199 + n_added]
    with bf.HammingIndex.open(index) as old:
        assert len(old) == 200 + n_added
    again = parse_json(warm(*run, "--update", "--json", "--force", within=tmp_path))
    assert (again["kept"], again["in_index"]) == (0, N - 190)
    assert "added_ids" not in again


def test_verified_against_an_index(warm: Run, data: Path, tmp_path: Path) -> None:
    run = [
        *("dedup", str(data / "x.npy"), "--model", str(data / "m.bitfold"), "--out", "g.jsonl"),
        *("--against", str(data / "old.index"), "--against-vectors", str(data / "x.npy")),
    ]
    done = warm(*run, "--max-distance", "0.001", "--radius", "40", within=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "200 items are near items of the index." in done.stdout
    columns = read(tmp_path / "g.jsonl")
    assert columns["id"] == columns["representative"] == list(range(200))


def test_incremental_runs_keep_what_one_run_keeps(warm: Run, data: Path, tmp_path: Path) -> None:
    codes = open_codes(data / "x.codes")
    for name, part in ("a", codes[:150]), ("b", codes[150:]):
        save_codes(part, tmp_path / f"{name}.codes")
    run = ["dedup", "--radius", "20", "--json"]
    whole = parse_json(warm(*run, str(data / "x.codes"), "--out", "x.jsonl", within=tmp_path))
    parse_json(warm(*run, "a.codes", "--out", "a.jsonl", "--kept", "my.index", within=tmp_path))
    parse_json(
        warm(
            *(*run, "b.codes", "--out", "b.jsonl", "--against", "my.index", "--update"),
            within=tmp_path,
        )
    )
    with bf.HammingIndex.open(tmp_path / "my.index") as index:
        assert len(index) == whole["kept"]


def test_page(warm: Run, data: Path, tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for number, row in enumerate(np.load(data / "x.npy")):
        pixels = np.clip(row.reshape(8, 8) * 16, 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(tmp_path / "images" / f"{number}.png")
    (tmp_path / "images" / "290.png").write_bytes(b"no image")
    texts = [f"<script>alert({i})</script> & more" for i in range(N)]
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    show = ["--page", "g.html", "--images", "images", "--texts", "texts.txt"]
    done = warm("dedup", str(data / "x.codes"), "--out", "g.jsonl", *show, within=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    page = (tmp_path / "g.html").read_text("utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;alert(0)&lt;/script&gt; &amp; more" in page
    assert page.count("data:image/png;base64,") == page.count("<li") - 1
    assert not re.search(r"(src|href)=.?(http|//|file)", page)


def test_page_cannot_be_made(warm: Run, data: Path, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("only one\n")
    run = ["dedup", str(data / "x.codes"), "--out", "g.jsonl"]
    done = warm(*run, "--page", "g.html", "--texts", "texts.txt", within=tmp_path)
    assert_fails(done, "texts.txt has no line for item 1", 3)
    (tmp_path / "texts.txt").write_bytes(b"\xff\xfe\n" * N)
    done = warm(*run, "--page", "g.html", "--texts", "texts.txt", within=tmp_path)
    assert_fails(done, "UTF-8", 4)
    assert_fails(warm(*run, "--texts", "texts.txt", within=tmp_path), "use --page", 2)
    assert list_names(tmp_path) == ["texts.txt"]


def test_resuming(warm: Run, data: Path, tmp_path: Path) -> None:
    run = ["dedup", str(data / "x.npy"), "--out", "g.jsonl"]
    (tmp_path / "texts.txt").write_text("only one\n")
    done = warm(*run, "--page", "g.html", "--texts", "texts.txt", within=tmp_path)
    assert done.returncode == 3
    work = tmp_path / "g.jsonl.work"
    assert list_names(work) == ["inputs.json", "model.bitfold", "vectors.codes"]
    # Other codes show that they are used again.
    codes = open_codes(work / "vectors.codes")
    save_codes(bf.Codes(np.zeros_like(codes.packed), 256, codes.model_digest), work / "v")
    (work / "v").replace(work / "vectors.codes")
    assert parse_json(warm(*run, "--json", within=tmp_path))["largest_groups"] == [N]
    assert not work.exists()
    (tmp_path / "mine").write_text("important")
    work.mkdir()
    (tmp_path / "mine").replace(work / "mine")
    assert_fails(warm(*run, "--force", within=tmp_path), "did not make it", 6)
    assert list_names(work) == ["mine"]


@pytest.mark.parametrize(
    ("stage", "left"),
    [
        ("encode_to_file", ["inputs.json", "model.bitfold"]),
        ("open_codes", ["inputs.json", "model.bitfold", "vectors.codes"]),
    ],
)
def test_killed_run_is_resumed(
    stage: str, left: list[str], warm: Run, data: Path, tmp_path: Path
) -> None:
    """A kill before a stage loses nothing that was finished."""
    run = ["dedup", str(data / "x.npy"), "--out", "g.jsonl"]
    warm(*run, "--out", "expected.jsonl", within=tmp_path)
    program = (
        "import os, signal; from bitfold.cli import _dedup_items;"
        f"_dedup_items.{stage} = lambda *a, **o: os.kill(os.getpid(), signal.SIGKILL);"
        "from bitfold.cli import main; main()"
    )
    killed = subprocess.run([sys.executable, "-c", program, *run], cwd=tmp_path)
    assert killed.returncode == -signal.SIGKILL
    work = tmp_path / "g.jsonl.work"
    assert list_names(work) == left
    assert warm(*run, within=tmp_path).returncode == 0
    assert (tmp_path / "g.jsonl").read_bytes() == (tmp_path / "expected.jsonl").read_bytes()
    assert list_names(tmp_path) == ["expected.jsonl", "g.jsonl"]


def test_work_of_other_inputs_is_not_used(warm: Run, data: Path, tmp_path: Path) -> None:
    run = ["dedup", str(data / "x.npy"), "--out", "g.jsonl", "--json"]
    work = tmp_path / "g.jsonl.work"
    work.mkdir()
    (work / "inputs.json").write_text("other")
    (work / "vectors.codes").write_text("other")
    assert parse_json(warm(*run, within=tmp_path))["groups"] == 10


def test_wrong_vectors(warm: Run, tmp_path: Path) -> None:
    rows = X[:50].copy()
    rows[30, 3] = np.nan
    np.save(tmp_path / "x.npy", rows)
    done = warm("dedup", "x.npy", "--out", "g.jsonl", within=tmp_path)
    assert_fails(done, "30", 3)
    assert list_names(tmp_path) == ["x.npy"]


@pytest.mark.parametrize(
    ("options", "message", "code"),
    [
        (["--out", "g.csv"], ".parquet or .jsonl", 2),
        (["--linkage", "single"], "star or connected", 2),
        (["--max-distance", "1"], "--vectors", 2),
        (["--precision", "0.9"], "--max-distance", 2),
        (["--precision", "0.9", "--radius", "1"], "--precision .*--radius", 2),
        (["--update"], "--against", 2),
        (["--model", "{data}/m.bitfold"], "--model", 2),
        (["--against", "{data}/x.npy"], "not an index", 4),
        (["--against", "none.index"], "none.index does not exist", 5),
        (["--kept", "{data}/x.index"], "already exists", 6),
        (["--page", "g.jsonl"], "different files", 2),
        (
            ["--against", "{data}/old.index", "--max-distance", "1", "--vectors", "{data}/x.npy"],
            "--against-vectors",
            2,
        ),
    ],
)
def test_wrong_options(
    options: list[str], message: str, code: int, warm: Run, data: Path, tmp_path: Path
) -> None:
    filled = [option.format(data=data) for option in options]
    done = warm("dedup", str(data / "x.codes"), "--out", "g.jsonl", *filled, within=tmp_path)
    assert_fails(done, message, code)
    assert list_names(tmp_path) == []


def test_wrong_indexes(warm: Run, data: Path, files: Path, tmp_path: Path) -> None:
    against = ["--out", "g.jsonl", "--against"]
    done = warm("dedup", str(data / "x.codes"), *against, str(files / "my.index"), within=tmp_path)
    assert_fails(done, "128 bits.*60", 2)
    done = warm("dedup", str(data / "x.npy"), *against, str(data / "x.index"), within=tmp_path)
    assert_fails(done, "--model", 2)
    model = ["--model", str(files / "m.bitfold")]
    run = ["dedup", str(data / "x.npy"), *against, str(data / "x.index"), *model]
    assert_fails(warm(*run, within=tmp_path), "did not make the codes", 3)
    index = ["dedup", str(data / "x.index"), *against, str(data / "x.index")]
    assert_fails(warm(*index, within=tmp_path), "another index", 2)
    assert list_names(tmp_path) == []


def test_output_is_not_replaced(warm: Run, data: Path, tmp_path: Path) -> None:
    (tmp_path / "g.jsonl").write_text("mine")
    done = warm("dedup", str(data / "x.codes"), "--out", "g.jsonl", within=tmp_path)
    assert_fails(done, "g.jsonl already exists", 6)
    assert (tmp_path / "g.jsonl").read_text() == "mine"


def test_nothing_found(warm: Run, data: Path, tmp_path: Path) -> None:
    save_codes(open_codes(data / "x.codes")[:1], tmp_path / "one.codes")
    for out in ("g.jsonl", "g.parquet"):
        run = ["dedup", "one.codes", "--out", out, "--page", f"{out}.html"]
        done = warm(*run, within=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert "1 of 1 items to keep" in done.stdout
        assert read(tmp_path / out).get("id", []) == []
