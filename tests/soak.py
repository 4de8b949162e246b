"""Hours of use: ``make soak MINUTES=60`` changes, kills, reopens and checks an index in a loop.

Child processes add, remove and encode until they are killed; what they acknowledged must be there
afterward. This process searches, reopens and changes the index with threads, and compares every
answer with a dictionary. Memory and open files must stay flat.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import struct
import tempfile
import time
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import numpy as np

import bitfold as bf
from bitfold.hashers import LSH
from bitfold.io import encode_to_file, open_codes

N_BITS = 96
N_FEATURES = 24
MAX_CODES = 60_000
MAX_GROWTH_BYTES = 16 << 20


CODES = np.random.default_rng(0).integers(0, 256, (10_007, N_BITS // 8), np.uint8)


def make_codes(ids: list[int]) -> bf.Codes:
    """Return the code of each item; some items have equal codes."""
    return bf.Codes(CODES[np.array(ids, np.int64) % len(CODES)], N_BITS)


def open_index(path: Path, mode: str = "r") -> bf.HammingIndex:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # files of a writer that was killed
        return bf.HammingIndex.open(path, mode)


def ids_of(index: bf.HammingIndex) -> set[int]:
    return {item for batch in index.batches() for item in np.asarray(batch.ids).tolist()}


class Soak:
    """The index, what it must contain, and what has been done.

    Parameters
    ----------
    folder
        Where to write.
    seed
        Selects sizes and moments.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.path, self.rng = folder / "index", random.Random(seed)
        self.vectors = np.random.default_rng(seed).normal(size=(30_000, N_FEATURES))
        self.hasher = LSH(n_bits=N_BITS, random_state=seed).fit(self.vectors)
        self.codes_path = folder / "vectors.codes"
        self.encoded = self.hasher.encode(self.vectors).packed
        self.ids: set[int] = set()
        self.next_id = 0
        self.counts: Counter[str] = Counter()
        bf.HammingIndex(N_BITS).save(self.path)

    def step(self) -> None:
        """Do one thing at random, and check the result."""
        name = self.rng.choice(("change", "share", "kill_writer", "kill_encoder", "search"))
        getattr(self, name)()
        self.counts[name] += 1

    def new_ids(self) -> list[int]:
        n = self.rng.choice((1, 10, 100, 1000, 4000))
        self.next_id += n
        return list(range(self.next_id - n, self.next_id))

    def change(self) -> None:
        """Add and remove in this process."""
        with open_index(self.path, "a") as index:
            for _ in range(self.rng.randint(1, 5)):
                ids = self.new_ids()
                index.add(make_codes(ids), ids)
                self.ids |= set(ids)
                share = 0.5 if len(self.ids) > MAX_CODES else 0.1 * self.rng.random()
                gone = self.rng.sample(sorted(self.ids), int(share * len(self.ids)))
                index.remove(gone)
                self.ids -= set(gone)
                self.counts["commits"] += 2
        self.check()

    def share(self) -> None:
        """Add in several threads while others search."""
        parts = [self.new_ids() for _ in range(4)]
        query = make_codes([0])
        with open_index(self.path, "a") as index, ThreadPoolExecutor(6) as pool:
            reading = [pool.submit(index.search, query, 20) for _ in range(8)]
            list(pool.map(lambda ids: index.add(make_codes(ids), ids), parts))
            for future in reading:
                assert (np.diff(future.result().distances[0]) >= 0).all()
        self.ids |= {item for ids in parts for item in ids}
        self.check()

    def kill_writer(self) -> None:
        """Kill a process that adds and removes; everything it acknowledged must be there."""
        first, out, back = self.next_id, *os.pipe()
        child = os.fork()
        if child == 0:
            self._write_until_killed(first, back)
        os.close(back)
        with open(out, "rb") as pipe:  # noqa: PTH123
            pipe.read(8)  # it has opened the index
            time.sleep(self.rng.uniform(0, 0.4))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            data = pipe.read()
        n_done = struct.unpack("<q", data[-8:])[0] if len(data) >= 8 else 0
        found = ids_of(open_index(self.path))
        before = self.ids
        allowed = [before | self._written(first, n) for n in (n_done, n_done + 1)]
        assert found in allowed, f"{len(found)} codes after {n_done} acknowledged changes"
        self.ids, self.next_id = found, first + 100 * (n_done + 2)
        self.counts["changes of killed writers"] += n_done
        self.check()

    @staticmethod
    def _written(first: int, n_changes: int) -> set[int]:
        """Return the ids after some changes: additions of 50, every third one removed again."""
        changes = range(n_changes)
        added = [100 * number for number in changes if number % 3 < 2]
        gone = {100 * (number - 1) for number in changes if number % 3 == 2}
        return {first + start + i for start in added if start not in gone for i in range(50)}

    def _write_until_killed(self, first: int, back: int) -> None:
        try:
            index = open_index(self.path, "a")
            os.write(back, bytes(8))
            for number in range(1 << 40):
                start = first + 100 * number
                if number % 3 < 2:
                    ids = list(range(start, start + 50))
                    index.add(make_codes(ids), ids)
                else:
                    index.remove(np.arange(start - 100, start - 50))
                os.write(back, struct.pack("<q", number + 1))
        finally:
            os._exit(1)

    def kill_encoder(self) -> None:
        """Kill a process that encodes to a file; another run completes it."""
        child = os.fork()
        if child == 0:
            try:
                encode_to_file(self.hasher, self.vectors, self.codes_path)
            finally:
                os._exit(0)
        time.sleep(self.rng.uniform(0, 0.1))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        n_codes = encode_to_file(self.hasher, self.vectors, self.codes_path)
        assert n_codes == len(self.encoded)
        assert np.array_equal(open_codes(self.codes_path).packed, self.encoded)
        if self.rng.random() < 0.5:
            self.codes_path.unlink()

    def search(self) -> None:
        """Compare search and radius lookup with a scan of the dictionary."""
        index, ids = open_index(self.path), np.array(sorted(self.ids), np.int64)
        if not len(ids):
            return
        query = make_codes([self.rng.choice(ids.tolist())])
        bits = make_codes(ids.tolist()).packed ^ query.packed
        distances = np.bitwise_count(bits).sum(axis=1, dtype=np.int64)
        order = np.lexsort((ids, distances))[: self.rng.randint(1, 50)]
        hits = index.search(query, len(order))
        assert np.array_equal(hits.ids[0], ids[order])
        assert np.array_equal(hits.distances[0], distances[order])
        radius = self.rng.randint(0, 30)
        near = index.within(query, radius)
        assert set(near.ids.tolist()) == set(ids[distances <= radius].tolist())
        self.counts["answers compared"] += 2

    def check(self) -> None:
        """Compare the whole index with the dictionary."""
        index, n_found = open_index(self.path), 0
        for batch in index.batches():
            ids = np.asarray(batch.ids).tolist()
            assert self.ids.issuperset(ids)
            assert np.array_equal(batch.codes.packed, make_codes(ids).packed)
            n_found += len(ids)
        assert n_found == len(index) == len(self.ids)
        self.counts["comparisons of the whole index"] += 1


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def count_open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def typical(samples: list[tuple[int, int]], column: int) -> int:
    return int(median(sample[column] for sample in samples))


def run(minutes: float, seed: int) -> None:
    """Run for some minutes, and print the figures."""
    start, end = time.monotonic(), time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory() as folder:
        soak, samples = Soak(Path(folder), seed), []
        while time.monotonic() < end:
            soak.step()
            samples.append((resident_bytes(), count_open_files()))
        soak.check()
    for name, count in sorted(soak.counts.items()):
        print(f"{name}: {count}")
    print(f"codes at the end: {len(soak.ids)}")
    quarter = len(samples) // 4
    # The first quarter warms up: kernels are compiled, and the allocator keeps memory.
    before, after = samples[quarter : 2 * quarter], samples[-quarter:]
    for label, part in (("second quarter", before), ("last quarter", after)):
        print(f"{label}: {typical(part, 0) / 1e6:.0f} MB of memory, {typical(part, 1)} open files")
    assert typical(after, 0) - typical(before, 0) < MAX_GROWTH_BYTES, "the memory grew"
    assert typical(after, 1) <= typical(before, 1), "the number of open files grew"
    print(f"0 errors in {(time.monotonic() - start) / 60:.1f} minutes, seed {seed}")


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    run(arguments.minutes, arguments.seed)


if __name__ == "__main__":
    main()
