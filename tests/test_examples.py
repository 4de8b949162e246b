"""Every example runs in its own process, prints something, and draws its figure."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGE = ROOT / "docs" / "examples.md"

Done = subprocess.CompletedProcess[str]


def run(example: Path, picture: Path) -> Done:
    # One thread each, because two examples run at a time.
    alone = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "error::UserWarning"}
    command = [sys.executable, str(example), str(picture)]
    return subprocess.run(
        command, env=alone, cwd=picture.parent, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("examples")


@pytest.fixture(scope="module")
def running(folder: Path) -> Iterator[dict[str, Future[Done]]]:
    """The running examples, by name."""
    with ThreadPoolExecutor(2) as pool:
        yield {
            example.stem: pool.submit(run, example, folder / f"{example.stem}.png")
            for example in EXAMPLES
        }


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example: Path, running: dict[str, Future[Done]], folder: Path) -> None:
    done = running[example.stem].result()
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.strip()
    with Image.open(folder / f"{example.stem}.png") as picture:
        assert min(picture.size) > 150
    # No other files are left behind.
    assert {path.suffix for path in folder.iterdir()} == {".png"}


def test_page_shows_every_example() -> None:
    text = PAGE.read_text("utf-8")
    pictures = re.findall(r"!\[[^\]]+\]\(images/examples/(\w+)\.png\)", text)
    linked = re.findall(r"\[examples/(\w+)\.py\]\(\.\./examples/\1\.py\)", text)
    names = sorted(example.stem for example in EXAMPLES)
    assert sorted(pictures) == sorted(linked) == names
    for name in names:
        assert (PAGE.parent / "images" / "examples" / f"{name}.png").stat().st_size < 120_000
