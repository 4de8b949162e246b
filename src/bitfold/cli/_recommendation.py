"""A recommended code in words, and the command to continue with."""

from __future__ import annotations

import shlex

from bitfold.cli._methods import find_method, uses_labels
from bitfold.cli._sampled_data import DataRequest
from bitfold.codes import count_bytes
from bitfold.evaluation import CodeOption


def describe_option(option: CodeOption, heading: str, *, with_map: bool = True) -> str:
    """Return a code with its size and quality in words."""
    n_bytes = count_bytes(option.n_bits)
    unit = "byte" if n_bytes == 1 else "bytes"
    size = f"{option.n_bits} bits ({n_bytes} {unit} per vector)"
    quality = f"{heading} {option.score:.3f}"
    if with_map:
        quality += f", MAP {option.map:.3f}"
    return f"{option.method} with {size}: {quality}"


def format_next_step(option: CodeOption, request: DataRequest) -> str:
    """Return the line with the command that fits the recommended method."""
    words = ["bitfold", "fit", request.data if request.is_file else "vectors.npy"]
    if uses_labels(find_method(option.method)):
        words += ["--labels", str(request.labels or "labels.npy")]
    words += ["--method", option.method, "--bits", str(option.n_bits)]
    if request.cosine:
        words.append("--cosine")
    words += ["--out", "model.bitfold"]
    own = "" if request.is_file else ", with your own vectors"
    return f"Next step{own}: {shlex.join(words)}"


def is_unsupervised(option: CodeOption) -> bool:
    """Return whether the method of a code does not learn from labels."""
    return not uses_labels(find_method(option.method))
