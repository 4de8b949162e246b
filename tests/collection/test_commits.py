"""Writers that are killed: a change is there completely, or not at all."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.platforms import posix_only
from tests.search.disk.conftest import fork, wait_for

import bitfold as bf
from bitfold.hashers import LSH


def write(path: Path, start: int, say: Callable[[str], object]) -> None:
    """Change a collection until the process is killed."""
    c = bf.Collection.open(path, "a")
    for number in range(start, start + 10_000):
        ids = [f"{number}-{i}" for i in range(7)]
        X = np.full((7, 4), number, np.float32)
        c.add(X, ids=ids, metadata={"n": [number] * 7})
        say(f"added {number}")
        if number % 3 == 0:
            c.remove(ids[1:])
            say(f"removed {number}")
        if number % 7 == 0:
            c.compact()
        if number % 11 == 0:
            c.rebuild(LSH(8 + number % 5, random_state=0))


def read_numbers(path: Path) -> dict[int, int]:
    """Return the number of items of each addition, after checking that all parts agree."""
    with bf.Collection.open(path) as c:
        c.verify()
        ids = c.ids().tolist()
        numbers = c.metadata(ids)["n"]
        vectors = c.vectors()
        assert [int(item.split("-")[0]) for item in ids] == numbers
        assert (vectors == np.array(numbers)[:, None]).all()
        if ids:
            hits = c.search(vectors[-1:], k=1, where=f"n = {numbers[-1]}")
            assert hits.ids[0, 0].split("-")[0] == str(numbers[-1])
    return {number: numbers.count(number) for number in numbers}


def run_and_kill(path: Path, start: int, seconds: float) -> list[str]:
    """Run a writer for a while, kill it, and return what it said."""
    reading, writing = os.pipe()
    child = fork(lambda: write(path, start, lambda line: os.write(writing, f"{line}\n".encode())))
    os.close(writing)
    with os.fdopen(reading) as pipe:
        first = pipe.readline()
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        lines = [first, *pipe]
    assert wait_for(child) == -signal.SIGKILL
    return [line for line in lines if line.endswith("\n")]


@posix_only("forks and SIGKILL")
@pytest.mark.filterwarnings("ignore:.*removed an unfinished commit")
def test_a_kill_leaves_whole_changes(tmp_path: Path) -> None:
    path, start = tmp_path / "c", 1
    bf.Collection.create(path, hasher=LSH(8), metadata={"n": int}).close()
    rng = np.random.default_rng(0)
    for _ in range(8):
        said = run_and_kill(path, start, rng.uniform(0, 0.15))
        counts = read_numbers(path)
        for line in said:
            word, number = line.split()
            expected = {"added": (7, 1), "removed": (1,)}[word]
            assert counts[int(number)] in expected, line
        assert set(counts.values()) <= {1, 7}
        start = max(counts, default=start) + 1
        # The next writer removes what is left over.
        with bf.Collection.open(path, "a") as c:
            c.verify()
            assert len(c) == sum(counts.values())
        assert read_numbers(path) == counts
