"""A target that runs operations on an index, and compares each answer with a plain numpy scan."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import bitfold as bf
from bitfold import Codes, HammingIndex
from bitfold.errors import DataError

N_BITS = (1, 3, 8, 17, 64, 65, 130)
"""Lengths of codes: one word and several, full and not."""

ID_STARTS = (-(2**63), -5, 0, 7, 2**62, 2**63 - 9)
"""Where explicit ids start: the ends of the range, and ordinary places."""


class Choices:
    """Numbers that the bytes of an input choose; zeros after the last byte."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def below(self, limit: int) -> int:
        """Return a number from 0 to ``limit`` - 1, at most 256."""
        self._at += 1
        return self._content[self._at - 1] % limit if self._at <= len(self._content) else 0

    @property
    def are_left(self) -> bool:
        """Whether there are bytes left."""
        return self._at < len(self._content)


class CheckedIndex:
    """An index and a dictionary of the same codes.

    Parameters
    ----------
    choices
        Decide what is done.
    folder
        Where the index is saved.
    """

    def __init__(self, choices: Choices, folder: Path) -> None:
        self.choices = choices
        self.folder = folder
        self.n_bits = N_BITS[choices.below(len(N_BITS))]
        self.index = HammingIndex(self.n_bits)
        self.items: dict[int, np.ndarray] = {}
        self.next_id = 0

    def run(self) -> None:
        """Run operations until the bytes are used up."""
        steps: list[Callable[[], None]] = [
            self.add, self.add, self.add_with_ids, self.remove, self.search, self.within,
            self.compare, self.reopen,
        ]  # fmt: skip
        while self.choices.are_left:
            steps[self.choices.below(len(steps))]()
        self.search()
        self.within()
        self.compare()
        self.index.close()

    def draw_bits(self, n: int) -> np.ndarray:
        """Return random codes, among which many are equal or near."""
        rng = np.random.default_rng(self.choices.below(4))
        bits = rng.integers(0, 2, (n, self.n_bits), dtype=np.uint8)
        bits[:, self.choices.below(256) % self.n_bits :] = 0
        return bits

    def add(self) -> None:
        """Add codes with automatic ids."""
        bits = self.draw_bits(self.choices.below(40))
        if self.next_id + len(bits) > 2**63 and len(bits):
            self._expect_error(lambda: self.index.add(Codes.from_bits(bits)))
            return
        self.index.add(Codes.from_bits(bits))
        self._remember(range(self.next_id, self.next_id + len(bits)), bits)

    def add_with_ids(self) -> None:
        """Add codes with ids that may be taken."""
        start = ID_STARTS[self.choices.below(len(ID_STARTS))]
        ids = range(start, min(start + self.choices.below(9), 2**63))
        bits = self.draw_bits(len(ids))
        if any(item in self.items for item in ids):
            self._expect_error(lambda: self.index.add(Codes.from_bits(bits), list(ids)))
            return
        self.index.add(Codes.from_bits(bits), list(ids))
        self._remember(ids, bits)

    def _remember(self, ids: range, bits: np.ndarray) -> None:
        self.items.update(zip(ids, bits, strict=True))
        if len(ids):
            self.next_id = max(self.next_id, ids[-1] + 1)

    def remove(self) -> None:
        """Remove some items, or try to remove one that is not present."""
        known = sorted(self.items)
        chosen = known[self.choices.below(5) :: 1 + self.choices.below(7)]
        if self.choices.below(8) == 0:
            absent = next(item for item in range(50, 10_000) if item not in self.items)
            self._expect_error(lambda: self.index.remove([*chosen, absent]))
            return
        self.index.remove(chosen)
        for item in chosen:
            del self.items[item]

    def _expect_error(self, work: Callable[[], None]) -> None:
        try:
            work()
        except DataError:
            return
        raise AssertionError("no error was raised")

    def _scan(self, query: np.ndarray) -> list[tuple[int, int]]:
        """Return (distance, id) of all items, nearest first."""
        return sorted((int((query != bits).sum()), item) for item, bits in self.items.items())

    def search(self) -> None:
        """Compare the nearest codes."""
        queries, k = self.draw_bits(1 + self.choices.below(3)), 1 + self.choices.below(60)
        hits = self.index.search(Codes.from_bits(queries), k)
        for query, ids, distances in zip(queries, hits.ids, hits.distances, strict=True):
            found = list(zip(distances.tolist(), ids.tolist(), strict=True))
            assert found == self._scan(query)[:k]

    def within(self) -> None:
        """Compare the codes within a radius."""
        queries, radius = self.draw_bits(1 + self.choices.below(3)), self.choices.below(140)
        hits = self.index.within(Codes.from_bits(queries), radius)
        for number, query in enumerate(queries):
            part = slice(hits.offsets[number], hits.offsets[number + 1])
            found = list(zip(hits.distances[part].tolist(), hits.ids[part].tolist(), strict=True))
            assert found == [pair for pair in self._scan(query) if pair[0] <= radius]

    def compare(self) -> None:
        """Compare the whole content."""
        stored = {
            item: bits.tolist()
            for batch in self.index.batches()
            for item, bits in zip(batch.ids.tolist(), batch.codes.unpack(), strict=True)
        }
        assert stored == {item: bits.tolist() for item, bits in self.items.items()}
        assert len(self.index) == len(self.items)
        known = sorted(self.items)[::-1]
        if known:
            expected = Codes.from_bits(np.array([self.items[item] for item in known]))
            assert self.index.codes(known) == expected

    def reopen(self) -> None:
        """Save the index and open it, for reading and writing."""
        self.index.save(self.folder)
        self.index.close()
        self.index = bf.HammingIndex.open(self.folder, "a")


def check_operations(content: bytes) -> None:
    """Run the operations that an input describes."""
    folder = Path(tempfile.mkdtemp())
    try:
        CheckedIndex(Choices(content), folder / "i").run()
    finally:
        shutil.rmtree(folder)


def make_operation_seeds() -> list[bytes]:
    """Return random sequences of operations."""
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, 60, dtype=np.uint8).tobytes() for _ in range(20)]
