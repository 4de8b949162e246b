"""``bitfold info``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.cli.helpers import Run, X, assert_fails, parse_json

import bitfold as bf


def test_model(warm: Run, files: Path) -> None:
    model = parse_json(warm("info", str(files / "m.bitfold"), "--json"))
    assert (model["kind"], model["bits"], model["features"]) == ("model, LSH", 60, 64)
    assert model["parameters"]["n_bits"] == 60
    assert model["bytes"] == (files / "m.bitfold").stat().st_size
    assert model["digest"] == bf.load(files / "m.bitfold").model_digest


def test_base_set(warm: Run, tmp_path: Path) -> None:
    vectors, model = str(tmp_path / "x.npy"), str(tmp_path / "m.bitfold")
    np.save(vectors, X[:300])
    fitted = parse_json(warm("fit", vectors, "--bits", "8", "--out", model, "--json"))
    shown = parse_json(warm("info", model, "--json"))
    assert shown["base_points"] == fitted["base_points"] == 300
    assert shown["base_size_reason"] == fitted["base_size_reason"]
    lines = warm("info", model).stdout.splitlines()
    assert f"base size reason  {fitted['base_size_reason']}" in lines


def test_index(warm: Run, files: Path) -> None:
    index = parse_json(warm("info", str(files / "my.index"), "--json"))
    assert (index["kind"], index["codes"], index["bits"]) == ("index", len(X), 60)
    assert index["model_digest"] == bf.load(files / "m.bitfold").model_digest
    lines = warm("info", str(files / "my.index")).stdout.splitlines()
    assert "codes         1,797" in lines


def test_codes_file(warm: Run, files: Path) -> None:
    codes = parse_json(warm("info", str(files / "x.codes"), "--json"))
    assert (codes["kind"], codes["codes"], codes["bits"]) == ("codes", len(X), 60)
    assert codes["model_digest"] == bf.load(files / "m.bitfold").model_digest


def test_missing_file(warm: Run, tmp_path: Path) -> None:
    assert_fails(warm("info", str(tmp_path / "none")), "none does not exist", 5)
