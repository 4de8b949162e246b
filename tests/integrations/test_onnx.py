"""Hashers as ONNX graphs: the bits of onnxruntime are those of ``encode``."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from tests.integrations.frameworks import ROOT, require

require("onnx")

import onnx
import onnxruntime

import bitfold as bf
from bitfold import hashers
from bitfold.errors import ParameterTypeError
from bitfold.integrations.onnx import export

DATA = load_digits()
X = (DATA.data + np.random.default_rng(0).normal(size=DATA.data.shape)).astype(np.float32)
FIT = slice(0, 1200)

HASHERS = sorted(set(hashers.__all__) - {"Hasher", "load"})

MIN_AGREEMENT = 0.9999
"""Fraction of equal bits that an export must reach."""


def make(name: str, **parameters: Any) -> bf.hashers.Hasher:
    kind = getattr(hashers, name)
    # With labels, some have at most one bit per class but one.
    small = {"n_bits": 9 if name in ("CCAITQ", "LDAHash", "SupervisedIMH") else 20}
    quick = {"random_state": 0, "base": bf.KMeansBase(100)}
    known = {name: value for name, value in quick.items() if name in kind().get_params()}
    hasher: bf.hashers.Hasher = kind(**small, **known, **parameters)
    return hasher.fit(X[FIT], DATA.target[FIT])


def run(path: Path, rows: Any) -> Any:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(["codes"], {"vectors": rows})[0]


def agreement(hasher: bf.hashers.Hasher, rows: Any, path: Path) -> float:
    export(hasher, path)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    ours = hasher.transform(rows)
    theirs = np.unpackbits(run(path, rows), axis=1)
    # Bits beyond the last are zeros.
    assert not theirs[:, hasher.n_bits_ :].any()
    return float((ours == theirs[:, : hasher.n_bits_]).mean())


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("name", HASHERS)
def test_bits_are_those_of_encode(name: str, normalize: bool, tmp_path: Path) -> None:
    hasher = make(name, normalize=normalize)
    assert agreement(hasher, X, tmp_path / "h.onnx") >= MIN_AGREEMENT


@pytest.mark.parametrize("name", ["BRE", "RMMH"])
def test_kernels_of_hashers_with_a_choice(name: str, tmp_path: Path) -> None:
    assert agreement(make(name, kernel="rbf"), X, tmp_path / "h.onnx") >= MIN_AGREEMENT


def test_projected_base_sets_and_odd_numbers_of_bits(tmp_path: Path) -> None:
    wide = np.hstack([X, X @ np.random.default_rng(1).normal(size=(64, 200)).astype(np.float32)])
    dual = bf.DualHasher(77, n_coarse_bits=13, random_state=0).fit(wide[FIT])
    coarse: Any = dual.coarse_
    assert coarse.directions_ is not None
    assert agreement(dual, wide, tmp_path / "h.onnx") >= MIN_AGREEMENT


def test_any_batch_gives_the_same_codes(tmp_path: Path) -> None:
    hasher = make("LLH")
    export(hasher, tmp_path / "h.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "h.onnx")
    parts = [session.run(None, {"vectors": X[i : i + 7]})[0] for i in range(0, 28, 7)]
    assert (np.vstack(parts) == run(tmp_path / "h.onnx", X[:28])).all()
    assert run(tmp_path / "h.onnx", X[:0]).shape == (0, 3)


@pytest.mark.parametrize("normalize", [False, True])
def test_base_points_zeros_and_rows_far_away(normalize: bool, tmp_path: Path) -> None:
    base_set: Any = make("IMH")
    rows = np.vstack([np.zeros((1, 64)), 20 * X[:500], base_set.base_points_]).astype(np.float32)
    for name in ("IMH", "ITQ", "LLH"):
        hasher = make(name, normalize=normalize)
        assert agreement(hasher, rows, tmp_path / f"{name}.onnx") >= 0.999


def test_the_file_names_its_model(tmp_path: Path) -> None:
    hasher = make("ITQ")
    export(hasher, tmp_path / "h.onnx")
    stored = {each.key: each.value for each in onnx.load(tmp_path / "h.onnx").metadata_props}
    assert stored["bitfold_hasher"] == "ITQ"
    assert stored["bitfold_model_digest"] == hasher.model_digest


def test_large_models_have_their_constants_in_a_second_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bitfold.integrations import onnx as module

    monkeypatch.setattr(module, "_MAX_SINGLE_FILE", 1000)
    assert agreement(make("ITQ"), X, tmp_path / "h.onnx") == 1
    assert (tmp_path / "h.onnx.data").exists()


class Flipped(bf.ITQ):
    """Changes the reals, which a graph cannot know."""

    def _embed_block(self, values: Any) -> Any:
        return -super()._embed_block(values)


def test_what_cannot_be_exported(tmp_path: Path) -> None:
    with pytest.raises(ParameterTypeError, match="a hasher"):
        export("ITQ", tmp_path / "h.onnx")  # type: ignore[arg-type]
    with pytest.raises(NotFittedError):
        export(bf.ITQ(8), tmp_path / "h.onnx")
    with pytest.raises(ParameterTypeError, match="Flipped"):
        export(Flipped(8).fit(X), tmp_path / "h.onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.node
@pytest.mark.parametrize("name", HASHERS)
def test_javascript_gives_the_same_bits(name: str, tmp_path: Path) -> None:
    packages = ROOT / "build" / "onnx-node"
    hasher = make(name)
    export(hasher, tmp_path / "h.onnx")
    (tmp_path / "vectors.bin").write_bytes(X.tobytes())
    script = ROOT / "tests" / "integrations" / "run_onnx.mjs"
    files = [str(tmp_path / name) for name in ("h.onnx", "vectors.bin", "codes.bin")]
    words = [str(script), str(packages), *files[:2], str(X.shape[1]), files[2]]
    subprocess.run(["node", *words], check=True, timeout=120)
    codes = np.frombuffer((tmp_path / "codes.bin").read_bytes(), np.uint8).reshape(len(X), -1)
    bits = np.unpackbits(codes, axis=1, count=hasher.n_bits_)
    assert (bits == hasher.transform(X)).mean() >= MIN_AGREEMENT
