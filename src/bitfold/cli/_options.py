"""Options of several commands, each with one help text."""

from __future__ import annotations

from typing import Annotated

from typer import Option

AsJson = Annotated[bool, Option("--json", help="Print JSON.")]
Cosine = Annotated[
    bool, Option("--cosine", help="Compare directions only: scale rows to unit length.")
]
Force = Annotated[bool, Option("--force", help="Replace the output if it exists.")]
HeldOutRows = Annotated[
    int | None,
    Option(min=1, help="Rows to hold out; by default 1000, or a tenth of a small file."),
]
RandomSeed = Annotated[int, Option(min=0, help="Random seed.")]
SampledRows = Annotated[
    int,
    Option(min=0, help="Rows to learn from and to search in, chosen at random; 0 takes all."),
]
