"""The language rules: idioms that must not appear. codespell checks the spelling."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
FOLDERS = ("src", "tests", "docs", "examples", "benchmarks", "fuzz", "notebooks", "reproduction")
KINDS = (".py", ".md", ".js", ".html", ".css", ".toml", ".yml", ".ipynb", ".cff", "Makefile")

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
    "'demand'": r"\bdemand(s|ed|ing)?\b",
    "'refuse'": r"\brefus(e|ed|es|al|ing)\b",
    "'settle'": r"\bsettl(e|es|ed|ing)\b",
    "'beside' for 'next to'": r"\bbeside\b",
    "'each two' for 'every two'": r"\beach two\b",
    "'anew' for 'again'": r"\banew\b",
    "'less' for 'fewer'": r"\bless (rows|points|bits|items|codes|queries|neighbors|columns)\b",
}


def text_files() -> list[Path]:
    """Return the files that people read, except this one, data, images and generated reports."""
    folders = (REPOSITORY / name for name in FOLDERS)
    found = [*REPOSITORY.glob("*"), *(path for folder in folders for path in folder.rglob("*"))]
    report = REPOSITORY / "docs" / "report"
    return sorted(
        path
        for path in found
        if path.name.endswith(KINDS)
        and path != Path(__file__)
        and report not in path.parents
        and path.is_file()
    )


def findings(text: str) -> list[str]:
    """Return each banned idiom of a text with its line number, also within names_like_this."""
    words = text.replace("_", " ")
    return [
        f"line {text.count(chr(10), 0, match.start()) + 1}: {match.group(0)!r} ({rule})"
        for rule, pattern in BANNED.items()
        for match in re.finditer(pattern, words, re.IGNORECASE)
    ]


@pytest.mark.parametrize("path", text_files(), ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_no_banned_idiom(path: Path) -> None:
    assert findings(path.read_text(encoding="utf-8")) == []


def test_idioms_are_found() -> None:
    text = "one a row\nHe is no hasher.\nSettled values are told.\ndef test_nothing_is_told():"
    lines = [finding.split(":")[0] for finding in findings(text)]
    assert sorted(lines) == ["line 1", "line 2", "line 3", "line 3", "line 4"]
