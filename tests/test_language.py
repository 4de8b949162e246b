"""The language rules: idioms that must not appear. codespell checks the spelling."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]

_RATED = (
    "one|two|three|four|[0-9]+|points?|rows?|bits?|items?|bytes?|codes?|queries|neighbors?|columns?|"
    "lines?|steps?|times?|values?|labels?|ids?|figures?|centers?|links?"
)
_RATES = "row|query|code|class|block|base point|bit|method|run|item|point|line|column|batch|core"

BANNED = {
    "a rate without 'per'": (
        rf"\b({_RATED}) an? ({_RATES})\b(?! (of|that|is|has|in|with|from|to)\b)"
    ),
    "'is no' for 'is not a'": (
        r"(?<!there )\b(is|are) no [a-z]+\b(?<!no longer)(?<!no more)(?<!no better)(?<!no worse)"
    ),
    "'from which on'": r"from which on",
    "'told'": r"\btold\b",
    "'tells what'": r"\btells? (what|how|whether|of)\b",
    "'goes on' for 'continues'": r"\b(go|goes|went) on (where|after|with)\b",
    "'so many' for a number": r"\bso many\b",
    "'demand'": r"\b_?demand(s|ed|_\w+)?\b",
    "'refuse'": r"\brefus(e|ed|es|al|ing)\b",
    "'settle'": r"\b_?settle(s|d|_\w+)?\b",
}


def text_files() -> list[Path]:
    """Return the tracked files that people read, except data, images and generated reports."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    kinds = (".py", ".md", ".js", ".html", ".css", ".toml", ".yml", "Makefile")
    return [
        REPOSITORY / name
        for name in listed
        if name.endswith(kinds)
        and name != "tests/test_language.py"
        and not name.startswith("docs/report/")
        and (REPOSITORY / name).is_file()
    ]


def findings(text: str) -> list[str]:
    """Return each banned idiom of a text with its line number."""
    return [
        f"line {text.count(chr(10), 0, match.start()) + 1}: {match.group(0)!r} ({rule})"
        for rule, pattern in BANNED.items()
        for match in re.finditer(pattern, text, re.IGNORECASE)
    ]


@pytest.mark.parametrize("path", text_files(), ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_no_banned_idiom(path: Path) -> None:
    assert findings(path.read_text(encoding="utf-8")) == []


def test_idioms_are_found() -> None:
    text = "one a row\nHe is no hasher.\nSettled values are told."
    assert [finding.split(":")[0] for finding in findings(text)] == [
        "line 1",
        "line 2",
        "line 3",
        "line 3",
    ]
