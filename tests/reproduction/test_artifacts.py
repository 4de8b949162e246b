"""The paper's artifacts as data: which cases they need, and how long those take."""

from __future__ import annotations

import base64
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from reproduction.artifacts import ARTIFACTS, Protocol
from reproduction.data import DATA
from reproduction.estimates import from_records, seconds
from reproduction.methods import METHODS, PAPER, SCAN, make
from reproduction.packing import in_palette, inline_in_palette, pack, pack_photos, unpack
from reproduction.records import Case, Records
from reproduction.run import MEASURES
from reproduction.shown import choose
from tests.reproduction.made_up import made_up

from bitfold.hashers import Hasher

PLACES = {
    "fig-query-digits": "Fig. 2", "fig-embeddings": "Fig. 3", "fig-base-size": "Fig. 4",
    "table-base-method": "Table I", "table-base-size": "Table II", "fig-2d": "Fig. 5",
    "fig-cifar": "Fig. 6", "fig-cifar-pr": "Fig. 7", "fig-retrieved": "Fig. 8",
    "fig-mnist": "Fig. 9", "table-time": "Table III", "fig-sift": "Fig. 10", "fig-gist": "Fig. 11",
    "fig-classify": "Fig. 12", "fig-itq": "Fig. 13", "fig-supervised": "Fig. 14",
}  # fmt: skip
"""As LaTeX numbers them: the source begins with Fig. 2."""


def test_every_artifact_of_the_paper_is_there() -> None:
    assert {a.name: a.place for a in ARTIFACTS.values()} == PLACES


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", PLACES)
def test_cases_can_be_run(name: str, quick: bool) -> None:
    cases = ARTIFACTS[name].cases(Protocol(repeats=2, quick=quick))
    assert len(cases) == len(set(cases))
    for case in cases:
        assert case.data in DATA
        assert case.measure in MEASURES
        assert seconds(case) > 0
        if case.method != SCAN:
            assert isinstance(make(case.method, case.n_bits, 0, dict(case.options)), Hasher)
    if quick:
        assert all(case.rows and case.seed == 0 for case in cases)
    else:
        assert not any(case.rows for case in cases)


def queries(name: str, protocol: Protocol) -> dict[str, set[int]]:
    cases = ARTIFACTS[name].cases(protocol)
    return {c.data: {d.queries for d in cases if d.data == c.data} for c in cases}


def test_the_papers_numbers_are_the_default() -> None:
    every = [case for a in ARTIFACTS.values() for case in a.cases(Protocol())]
    assert {case.seed for case in every} == set(range(10))
    assert queries("fig-embeddings", Protocol()) == {"cifar10": {1000}}
    assert queries("fig-sift", Protocol()) == {"sift_photos": {10_000}, "sift1m": {10_000}}
    # GIST1M comes with a thousand.
    assert queries("fig-gist", Protocol()) == {"gist_cifar": {10_000}, "gist1m": {1000}}
    assert queries("fig-classify", Protocol()) == {"mnist": {10_000}}


def test_repeats_and_queries_are_part_of_every_spec() -> None:
    protocol = Protocol(repeats=3, queries=700)
    assert {case.seed for case in ARTIFACTS["fig-mnist"].cases(protocol)} == {0, 1, 2}
    # The exact scan is measured by the same queries as the methods beside it.
    assert queries("fig-embeddings", protocol) == {"cifar10": {700}}
    assert queries("fig-sift", protocol)["sift_photos"] == {700}
    assert queries("fig-gist", Protocol(queries=5000))["gist1m"] == {1000}


def test_base_points_and_neighbors_are_the_papers() -> None:
    for name, of_imh in (("fig-sift", (1000, 2)), ("fig-classify", (1000, 5))):
        cases = ARTIFACTS[name].cases(Protocol(1))
        options = [dict(case.options) for case in cases if case.method.startswith(("IMH", "AGH"))]
        assert {(o["m"], o["k"]) for o in options} == {of_imh}


def test_a_case_takes_as_long_as_it_did_before() -> None:
    case = Case("mnist", "ITQ", 64)
    records = Records(None)
    records.add(replace(case, seed=1), {"map": 1.0}, 30)
    records.add(replace(case, seed=2), {"map": 1.0}, 50)
    records.add(replace(case, n_bits=32), {"map": 1.0})
    estimate = from_records(records)
    assert estimate(case) == 40
    assert estimate(replace(case, n_bits=32)) == seconds(replace(case, n_bits=32))


def test_estimates_tell_big_from_small() -> None:
    small = Case("mnist", "IMH-tSNE", 64, options=(("m", 100),))
    for bigger in (
        replace(small, options=(("m", 10_000),)),
        replace(small, data="gist1m"),
        replace(small, queries=100_000),
        replace(small, n_bits=128),
        replace(small, measure="classification"),
    ):
        assert seconds(bigger) > seconds(small) > seconds(replace(small, rows=1000))


def test_a_report_shows_all_seeds_but_one_number_of_queries() -> None:
    artifact = ARTIFACTS["fig-mnist"]
    first = artifact.cases(Protocol(1))[:2]
    known = [made_up(replace(case, seed=seed)) for case in first for seed in (0, 1, 7)]
    other = [made_up(replace(case, queries=500)) for case in first]
    stranger = [made_up(replace(first[0], method="LSH"))]
    chosen = choose(artifact, Protocol(1), [*other, *stranger, *known], quick=False)
    assert chosen == known
    assert choose(artifact, Protocol(1, 500), other + known, quick=False) == other
    # What was run at another time with other queries is shown as well.
    assert choose(artifact, Protocol(1, 123), other + known, quick=False) == known
    assert choose(artifact, Protocol(1), known, quick=True) == []


def test_arrays_survive_json() -> None:
    array = np.arange(12, dtype=np.uint16).reshape(3, 4)
    np.testing.assert_array_equal(unpack(pack(array)), array)


def test_photos_survive_a_record_but_for_what_no_eye_sees() -> None:
    # Smooth, and each of another brightness: tiles that were mixed up would differ by far more.
    shade = np.linspace(0, 40, 32)[:, None, None] + 20 * np.arange(8).reshape(2, 4, 1, 1, 1)
    tiles = np.broadcast_to(shade, (2, 4, 32, 32, 3)).astype(np.uint8)
    packed = json.loads(json.dumps(pack_photos(tiles)))
    assert len(packed["jpeg"]) < tiles.size / 4
    assert np.abs(unpack(packed).astype(int) - tiles).max() < 8


@pytest.mark.parametrize("transparent", [False, True])
def test_a_picture_in_a_palette_is_smaller_and_looks_the_same(transparent: bool) -> None:
    y, x = np.mgrid[:128, :128]
    noise = np.random.default_rng(0).integers(0, 8, (128, 128))
    picture = np.stack([x + noise, y + noise, x, np.full_like(x, 255)], axis=2).astype(np.uint8)
    picture[:32, :32, 3] = 0 if transparent else 255
    png = io.BytesIO()
    Image.fromarray(picture).save(png, "PNG")
    inline = b'<image href="data:image/png;base64,%s"/>' % base64.b64encode(png.getvalue())
    few = in_palette(png.getvalue())
    assert len(few) < 0.6 * len(png.getvalue())
    assert inline_in_palette(inline).split(b",")[1] == base64.b64encode(few) + b'"/>'
    read = np.asarray(Image.open(io.BytesIO(few)).convert("RGBA")).astype(int)
    assert (read[:, :, 3] == picture[:, :, 3]).all()
    seen = picture[:, :, 3] > 0
    assert np.abs(read - picture)[seen].mean() < 8
    assert set(PAPER) <= METHODS.keys()
