"""Exported hashers: the fraction of bits that onnxruntime computes as ``encode`` does."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnxruntime
from reproduction.data.text_set import load_text

import bitfold as bf
from benchmarks.measuring import Ratio
from bitfold import hashers
from bitfold.hashers import Hasher
from bitfold.integrations.onnx import export

N_TRAINING_ROWS, N_ROWS = 4000, 20_000

MIN_AGREEMENT = 0.9999

_ROWS_PER_CALL = 1000


def run() -> list[Ratio]:
    """Return the agreement of every hasher with 64 bits, on the text set."""
    data = load_text()
    X, labels = data.database[:N_ROWS], data.labels
    names = sorted(set(hashers.__all__) - {"Hasher", "load"})
    fitted = {name: fit(getattr(hashers, name), X, labels) for name in names}
    # More base points than are searched exhaustively: encoding uses inverted lists.
    fitted["IMH, 3,000 base points"] = bf.IMH(64, base=bf.KMeansBase(3000), random_state=0).fit(X)
    return [measure_agreement(name, hasher, X) for name, hasher in fitted.items()]


def fit(kind: Any, X: Any, labels: Any) -> Hasher:
    """Return a fitted hasher with 64 bits, or 48 if it cannot have as many."""
    quick = {"random_state": 0, "base": bf.KMeansBase(400)}
    known = {name: value for name, value in quick.items() if name in kind().get_params()}
    # At most one bit per class but one.
    n_bits = 48 if kind in (hashers.CCAITQ, hashers.SupervisedIMH) else 64
    hasher: Hasher = kind(n_bits, **known)
    return hasher.fit(X[:N_TRAINING_ROWS], labels[:N_TRAINING_ROWS])


def measure_agreement(name: str, hasher: Hasher, X: Any) -> Ratio:
    """Return the fraction of equal bits."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "hasher.onnx"
        export(hasher, path)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        parts = [
            session.run(["codes"], {"vectors": X[i : i + _ROWS_PER_CALL]})[0]
            for i in range(0, len(X), _ROWS_PER_CALL)
        ]
    bits = np.unpackbits(np.vstack(parts), axis=1, count=hasher.n_bits_)
    differing = bits != hasher.transform(X)
    note = f"{int(differing.sum()):,} of {differing.size:,} bits differ"
    return Ratio(name, float(1 - differing.mean()), MIN_AGREEMENT, at_least=True, note=note)
