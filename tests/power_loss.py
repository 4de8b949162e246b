"""Power failures at every call that changes a file; ``make power-loss`` runs all of them.

A scenario changes files step by step on a :class:`SimulatedDisk`. After a power failure, reading
the files must give the content after the last step that returned, or after the step that was
running. Nothing else is accepted, also not an error.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.simulated_disk import KilledError, SimulatedDisk, write_files

import bitfold as bf
from bitfold._types import AnyArray, ProgressCallback
from bitfold.collection import database, fitting, is_collection
from bitfold.hashers import LSH
from bitfold.io import encode_to_file, open_codes, resumable, save_codes
from bitfold.io.records import RunRecords

N_VARIANTS = 4
N_BITS = 70

Content = Any


class Step(NamedTuple):
    """A step: the number of calls before and after it, and the content after it."""

    begin: int
    end: float
    content: Content


class History:
    """The steps of a scenario.

    Parameters
    ----------
    disk
        Where they write.
    first
        The content before the first step.
    """

    def __init__(self, disk: SimulatedDisk, first: Content = None) -> None:
        self.disk = disk
        self.steps = [Step(0, 0, first)]

    def run(self, change: Callable[[], object], content: Content) -> None:
        """Make a change that leads to a content; a kill leaves it unfinished."""
        begin, end = len(self.disk.changes), float("inf")
        try:
            change()
            end = len(self.disk.changes)
        finally:
            self.steps.append(Step(begin, end, content))

    def allowed(self, position: int) -> list[Content]:
        """Return what may be read after a number of calls."""
        finished = [step for step in self.steps if step.end <= position]
        running = [step for step in self.steps if step.begin < position < step.end]
        # After a kill the next process starts from either content.
        last = finished[-1] if finished else self.steps[0]
        return [last.content, *(step.content for step in running if step.begin >= last.begin)]


class Scenario(NamedTuple):
    """Changes of files, and how to read them afterward."""

    name: str
    change: Callable[[SimulatedDisk, History], None]
    read: Callable[[Path], Content]
    resume: Callable[[Path, Content], None]


def make_codes(n: int, seed: int) -> bf.Codes:
    bits = np.random.default_rng(seed).integers(0, 2, (n, N_BITS), np.uint8)
    return bf.Codes.from_bits(bits)


def content_of(index: bf.HammingIndex) -> dict[int, bytes]:
    return {
        item: row.tobytes()
        for batch in index.batches()
        for item, row in zip(np.asarray(batch.ids).tolist(), batch.codes.packed, strict=True)
    }


def read_index(root: Path) -> Content:
    """Return the content of the index; None before the first commit."""
    path = root / "index"
    if not (path / "manifest.json").exists():
        return None
    return content_of(bf.HammingIndex.open(path))


def append_to_index(root: Path, content: Content) -> None:
    """Open the index for writing after the power failure, and add to it."""
    if content is None:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *args, **kwargs: None)  # about leftover files
        index = bf.HammingIndex.open(root / "index", "a")
    codes = make_codes(2, 77)
    index.add(codes, ids=[1 << 40, 1 << 41])
    index.close()
    expected = dict(zip([1 << 40, 1 << 41], (row.tobytes() for row in codes.packed), strict=True))
    assert read_index(root) == content | expected


def save_first(disk: SimulatedDisk, history: History) -> bf.HammingIndex:
    path = disk.root / "index"
    history.run(lambda: bf.HammingIndex(N_BITS).save(path), {})
    return bf.HammingIndex.open(path, "a")


def change_once(history: History, index: bf.HammingIndex, rng: random.Random, seed: int) -> None:
    """Add or remove codes; segments are merged from time to time."""
    before = content_of(index)
    if before and rng.random() < 0.35:
        gone = rng.sample(sorted(before), rng.randint(1, len(before)))
        kept = {item: code for item, code in before.items() if item not in gone}
        history.run(lambda: index.remove(gone), kept)
    else:
        codes = make_codes(rng.randint(1, 40), seed)
        ids = [1000 * seed + number for number in range(len(codes))]
        added = dict(zip(ids, (row.tobytes() for row in codes.packed), strict=True))
        history.run(lambda: index.add(codes, ids=ids), before | added)


def change_index(disk: SimulatedDisk, history: History) -> None:
    index, rng = save_first(disk, history), random.Random(1)
    for seed in range(1, 71):
        change_once(history, index, rng, seed)
    index.close()


def replace_index(disk: SimulatedDisk, history: History) -> None:
    """Save other indexes over an index."""
    for seed in range(12):
        index = bf.HammingIndex(N_BITS)
        for part in range(seed % 3 + 1):
            index.add(make_codes(30 - 8 * part, 100 * seed + part))
        if seed % 2:
            index.remove([0, 5])
        content = content_of(index)
        history.run(partial(index.save, disk.root / "index"), content)


def kill_and_continue(disk: SimulatedDisk, history: History) -> None:
    """Kill the writer at every call of a change; another process opens the index and changes it."""
    index, rng = save_first(disk, history), random.Random(2)
    for seed in range(1, 26):
        disk.kill_at = len(disk.changes) + seed
        with suppress(KilledError):
            change_once(history, index, rng, seed)
            change_once(history, index, rng, 100 + seed)
        index.close()
        disk.restart()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("warnings.warn", lambda *args, **kwargs: None)
            begin = len(disk.changes)
            index = bf.HammingIndex.open(disk.root / "index", "a")
        # What the new writer found is on the disk now.
        history.steps.append(Step(begin, len(disk.changes), content_of(index)))
    index.close()


def kill_first_save(disk: SimulatedDisk, history: History, n_calls: int) -> None:
    """Kill the process that saves an index for the first time; another process saves it."""
    index = bf.HammingIndex(N_BITS)
    index.add(make_codes(9, 0))
    content = content_of(index)
    disk.kill_at = n_calls
    with suppress(KilledError):
        history.run(lambda: index.save(disk.root / "index"), content)
    disk.restart()
    history.run(lambda: index.save(disk.root / "index"), content)


def store_tables(disk: SimulatedDisk, history: History) -> None:
    """Build tables between changes; they are written outside of commits."""
    index = save_first(disk, history)
    content: dict[int, bytes] = {}
    for seed in range(1, 6):
        # With this many codes, every processor finds tables faster than a scan.
        codes, ids = make_codes(2000, seed), np.arange(10_000 * seed, 10_000 * seed + 2000)
        rows = (row.tobytes() for row in codes.packed)
        content = content | dict(zip(ids.tolist(), rows, strict=True))
        history.run(partial(index.add, codes, ids), content)
        history.run(partial(index.build_tables, 1), content)
        assert list(disk.root.glob("index/tables-*"))
    index.close()


def look_up(root: Path) -> Content:
    """Return the content, after a lookup with whatever tables are there."""
    content = read_index(root)
    if content:
        index, others = bf.HammingIndex.open(root / "index"), bf.HammingIndex(N_BITS)
        others.add(index.codes(list(content)), list(content))
        index.build_tables(1)
        queries = make_codes(5, 1)
        for found, expected in zip(
            index.within(queries, 1), others.within(queries, 1), strict=True
        ):
            np.testing.assert_array_equal(found, expected)
    return content


@dataclass
class Case:
    """A case of an experiment."""

    number: int


def append_records(disk: SimulatedDisk, history: History) -> None:
    records = RunRecords(disk.root / "runs" / "records.jsonl")
    for number in range(30):
        content = list(range(number + 1))
        history.run(partial(records.add, Case(number), {"x": 1}), content)


def read_records(root: Path) -> Content:
    records = RunRecords(root / "runs" / "records.jsonl")
    return [record["case"]["number"] for record in records] or None


def read_model(root: Path) -> Content:
    path = root / "model.bitfold"
    return bf.load(path).model_digest if path.exists() else None


def save_models(disk: SimulatedDisk, history: History) -> None:
    X = np.random.default_rng(0).normal(size=(50, 6))
    for seed in range(40):
        hasher = LSH(n_bits=64 + 64 * (seed % 3), random_state=seed).fit(X)
        path = disk.root / "model.bitfold"
        history.run(partial(hasher.save, path), hasher.model_digest)


class BlockHasher:
    """Encodes a few rows per block.

    Parameters
    ----------
    seed
        Selects the codes.
    """

    n_bits_ = N_BITS

    def __init__(self, seed: int) -> None:
        self.model_digest = f"{seed:032x}"
        self.codes = make_codes(20, seed)

    def encode_blocks(
        self, X: Any, *, first: int = 0, progress: ProgressCallback | None = None
    ) -> Iterator[bf.Codes]:
        for start in range(first, len(self.codes), 6):
            yield self.codes[start : start + 6]


VECTORS: AnyArray = np.arange(40.0).reshape(20, 2)


def encode(root: Path, name: str, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resumable, "_SYNC_SECONDS", -1.0)
        encode_to_file(BlockHasher(seed), VECTORS, root / name, restart=True)


def read_codes(root: Path) -> Content:
    found = {}
    for path in sorted(root.iterdir()):
        if path.name in ("a.codes", "b.npy", "c.codes"):
            found[path.name] = open_codes(path, N_BITS).packed.tobytes()
    return found


def encode_files(disk: SimulatedDisk, history: History) -> None:
    content: dict[str, bytes] = {}
    for seed in range(10):
        name = ("a.codes", "b.npy")[seed % 2]
        content = content | {name: make_codes(20, seed).packed.tobytes()}
        history.run(partial(encode, disk.root, name, seed), content)


def resume_encoding(root: Path, content: Content) -> None:
    """Encode again after the power failure, continuing what is there if the inputs are equal."""
    for seed in range(10):
        name = ("a.codes", "b.npy")[seed % 2]
        with suppress(bf.errors.InputChangedError):
            encode_to_file(BlockHasher(seed), VECTORS, root / name)
            assert read_codes(root)[name] == make_codes(20, seed).packed.tobytes()


def save_code_files(disk: SimulatedDisk, history: History) -> None:
    content: dict[str, bytes] = {}
    for seed in range(20):
        name, codes = ("c.codes", "b.npy")[seed % 2], make_codes(25, seed)
        content = content | {name: codes.packed.tobytes()}
        path = disk.root / name
        history.run(partial(save_codes, codes, path), content)


N_FEATURES = 3


@contextmanager
def small_collections() -> Iterator[None]:
    """Let collections have codes from ten items on, and SQLite not wait for the real disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "MIN_CODED_ITEMS", 10)
        patch.setattr(database, "_SYNCHRONOUS", "OFF")
        patch.setattr("warnings.warn", lambda *args, **kwargs: None)  # about leftover files
        yield


def content_of_collection(c: bf.Collection) -> dict[Any, Any]:
    ids = c.ids().tolist()
    rows = zip(c.vectors().tolist(), c.metadata(ids)["n"], strict=True)
    return dict(zip(ids, rows, strict=True))


def read_collection(root: Path) -> Content:
    """Return the content of the collection; None before the first commit."""
    path = root / "collection"
    if not is_collection(path) or not database.Database(path).has_state():
        return None
    with small_collections(), bf.Collection.open(path) as c:
        c.verify()
        found = content_of_collection(c)
        assert c.hasher is None or not found or c.hasher.encode(c.vectors()) == c.codes()
        return found


def append_to_collection(root: Path, content: Content) -> None:
    """Open the collection for writing after the power failure, and add to it."""
    if content is None:
        return
    with small_collections(), bf.Collection.open(root / "collection", "a") as c:
        c.add(np.zeros((1, N_FEATURES)), ids=[1 << 40], metadata={"n": [7]})
    expected = content | {1 << 40: ([0.0] * N_FEATURES, 7)}
    assert read_collection(root) == expected


def change_collection_once(
    history: History, c: bf.Collection, rng: random.Random, seed: int
) -> None:
    """Add or remove items, compact, or rebuild."""
    before = content_of_collection(c)
    kind = rng.choice(["add", "add", "add", "remove", "compact", "rebuild"])
    if kind == "remove" and before:
        gone = rng.sample(sorted(before), rng.randint(1, len(before) // 2 + 1))
        kept = {item: row for item, row in before.items() if item not in gone}
        history.run(lambda: c.remove(gone), kept)
    elif kind == "compact":
        history.run(c.compact, before)
    elif kind == "rebuild":
        history.run(lambda: c.rebuild(LSH(8 + seed, random_state=seed)), before)
    else:
        n = rng.randint(1, 12)
        X = np.random.default_rng(seed).normal(size=(n, N_FEATURES)).astype(np.float32)
        ids = [100 * seed + number for number in range(n)] if seed > 3 else None
        first = max([-1, *before]) + 1
        keys = ids or list(range(first, first + n))
        added = dict(zip(keys, ((row, seed) for row in X.tolist()), strict=True))
        metadata = {"n": [seed] * n}
        history.run(lambda: c.add(X, ids=ids, metadata=metadata), before | added)


def create_on(disk: SimulatedDisk, history: History) -> bf.Collection:
    made: list[bf.Collection] = []
    options: Any = {"keep_vectors": "float32", "hasher": LSH(8), "metadata": {"n": int}}
    path = disk.root / "collection"
    history.run(lambda: made.append(bf.Collection.create(path, **options)), {})
    return made[0]


def change_collection(disk: SimulatedDisk, history: History) -> None:
    with small_collections():
        c, rng = create_on(disk, history), random.Random(1)
        for seed in range(1, 17):
            change_collection_once(history, c, rng, seed)
        c.close()


def kill_and_continue_collection(disk: SimulatedDisk, history: History) -> None:
    """Kill the writer at every call of a change; another process opens the collection."""
    with small_collections():
        c, rng = create_on(disk, history), random.Random(2)
        for seed in range(1, 22):
            disk.kill_at = len(disk.changes) + seed
            with suppress(KilledError):
                change_collection_once(history, c, rng, seed)
                change_collection_once(history, c, rng, 100 + seed)
            c.close()
            disk.restart()
            begin = len(disk.changes)
            c = bf.Collection.open(disk.root / "collection", "a")
            # What the new writer found is on the disk now.
            history.steps.append(Step(begin, len(disk.changes), content_of_collection(c)))
        c.close()


def keep_as_it_is(root: Path, content: Content) -> None:
    pass


SCENARIOS = (
    Scenario("add, remove and merge", change_index, read_index, append_to_index),
    Scenario("save over an index", replace_index, read_index, append_to_index),
    Scenario("kill, then power loss", kill_and_continue, read_index, append_to_index),
    Scenario("save models", save_models, read_model, keep_as_it_is),
    Scenario("encode to files", encode_files, read_codes, resume_encoding),
    Scenario("save codes", save_code_files, read_codes, keep_as_it_is),
    Scenario("append records", append_records, read_records, keep_as_it_is),
    Scenario("change a collection", change_collection, read_collection, append_to_collection),
    Scenario(
        "kill the writer of a collection, then power loss",
        kill_and_continue_collection,
        read_collection,
        append_to_collection,
    ),
    *(
        Scenario(
            f"kill the first save after {n_calls} calls",
            partial(kill_first_save, n_calls=n_calls),
            read_index,
            append_to_index,
        )
        for n_calls in range(1, 13)
    ),
    Scenario("store tables", store_tables, look_up, append_to_index),
)


class Outcome(NamedTuple):
    """Number of calls after which the power failed, and of states that were opened."""

    n_points: int
    n_states: int


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder in memory if possible: the disk is simulated anyway."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder).resolve()


def run_scenario(scenario: Scenario, *, n_variants: int = N_VARIANTS, stride: int = 1) -> Outcome:
    """Run a scenario, and open its files after every ``stride``-th power failure."""
    points, n_states = set(), 0
    with scratch_folder() as folder:
        disk = SimulatedDisk(folder / "disk")
        disk.root.mkdir()
        history = History(disk, {} if scenario.read is read_codes else None)
        with pytest.MonkeyPatch.context() as patch:
            disk.install(patch)
            scenario.change(disk, history)
        for position, files in disk.crashes(random.Random(0), n_variants, stride):
            root = folder / "after"
            root.mkdir()
            write_files(files, disk.root, root)
            found = scenario.read(root)
            assert found in history.allowed(position), (scenario.name, position)
            if n_states % 5 == 0:
                scenario.resume(root, found)
            shutil.rmtree(root)
            points.add(position)
            n_states += 1
    return Outcome(len(points), n_states)


def main() -> None:
    """Run all scenarios at every call, and print the counts."""
    start, outcomes = time.monotonic(), []
    for scenario in SCENARIOS:
        outcomes.append(run_scenario(scenario))
        points, states = outcomes[-1]
        print(f"{scenario.name}: {points} crash points, {states} states of the disk", flush=True)
    n_points, n_states = (sum(column) for column in zip(*outcomes, strict=True))
    seconds = time.monotonic() - start
    print(f"{n_points} crash points, {n_states} states, 0 errors, in {seconds:.0f} s")


if __name__ == "__main__":
    main()
