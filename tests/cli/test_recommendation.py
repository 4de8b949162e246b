"""The recommended code in words, and the next command."""

from __future__ import annotations

from pathlib import Path

import pytest

from bitfold.cli._recommendation import describe_option, format_next_step, is_unsupervised
from bitfold.cli._sampled_data import DataRequest
from bitfold.evaluation import CodeOption

FILE = DataRequest("my vectors.npy", Path("y.npy"), 10, 0, True, "")
NAMED = DataRequest("digits", None, 10, 0, True, "")


def test_size_and_quality() -> None:
    option = CodeOption("itq", 8, 0.51234, 0.4)
    assert (
        describe_option(option, "P@10")
        == "itq with 8 bits (1 byte per vector): P@10 0.512, MAP 0.400"
    )
    longer = CodeOption("itq", 12, 0.5, 0)
    assert describe_option(longer, "recall@10", with_map=False) == (
        "itq with 12 bits (2 bytes per vector): recall@10 0.500"
    )


@pytest.mark.parametrize(
    ("method", "request_", "command"),
    [
        ("itq", FILE, "bitfold fit 'my vectors.npy' --method itq"),
        ("ksh", FILE, "bitfold fit 'my vectors.npy' --labels y.npy --method ksh"),
        ("ksh", NAMED, "with your own vectors: bitfold fit vectors.npy --labels labels.npy"),
        ("itq", FILE._replace(cosine=True), "--bits 64 --cosine --out model.bitfold"),
    ],
)
def test_next_command(method: str, request_: DataRequest, command: str) -> None:
    option = CodeOption(method, 64, 0.9, 0.9)
    assert command in format_next_step(option, request_)
    assert is_unsupervised(option) is (method == "itq")
