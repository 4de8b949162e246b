"""Fuzz one target: ``python -m fuzz.engine TARGET SECONDS FOLDER``.

With atheris the search is guided by the coverage of bitfold's code; without it, valid inputs are
changed at random. An input that fails is kept in the folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import random
import sys
import time
import traceback
from pathlib import Path
from typing import Any

MAX_MEGABYTES = 3000
MAX_SECONDS_PER_INPUT = 60
MAX_INPUT_BYTES = 8192


def list_kernels() -> list[str]:
    """Return the modules that numba compiles from their bytecode, which must stay as it is."""
    package = importlib.util.find_spec("bitfold")
    assert package and package.origin
    files = Path(package.origin).parent.glob("_kernels/*.py")
    return [f"bitfold._kernels.{file.stem}" for file in files]


def mutate(content: bytes, rng: random.Random) -> bytes:
    """Change an input: flip bits, replace, insert, repeat, remove or cut."""
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 5, 20])):
        at, n = rng.randrange(len(changed) + 1), rng.choice([1, 1, 2, 4, 8, 64])
        kind = rng.randrange(6)
        if kind == 0 and at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            changed[at : at + n] = rng.randbytes(n)
        elif kind == 2:
            changed[at:at] = rng.choice([rng.randbytes(n), bytes(n), b"\xff" * n])
        elif kind == 3:
            changed[at:at] = changed[rng.randrange(len(changed) + 1) :][:n]
        elif kind == 4:
            del changed[at : at + n]
        elif kind == 5 and rng.random() < 0.1:
            del changed[at:]
    return bytes(changed)


def fuzz_by_mutation(target: Any, seconds: float, folder: Path) -> int:
    """Check changed seeds until the time is over; return the number of inputs."""
    rng, seeds, n_inputs = random.Random(time.time_ns()), target.seeds(), 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        content = mutate(rng.choice(seeds), rng)
        try:
            target.check(content)
        except BaseException:
            (folder / f"crash-{hashlib.sha1(content).hexdigest()}").write_bytes(content)
            traceback.print_exc()
            sys.exit(77)
        n_inputs += 1
    return n_inputs


def fuzz_by_coverage(atheris: Any, target: Any, seconds: float, folder: Path) -> None:
    """Let libFuzzer search; it ends the process."""
    corpus = folder / "corpus"
    corpus.mkdir(exist_ok=True)
    for number, seed in enumerate(target.seeds()):
        (corpus / f"seed-{number}").write_bytes(seed)
    options = [
        f"-max_total_time={seconds:.0f}", f"-rss_limit_mb={MAX_MEGABYTES}",
        f"-timeout={MAX_SECONDS_PER_INPUT}", f"-max_len={MAX_INPUT_BYTES}",
        f"-artifact_prefix={folder}/", "-print_final_stats=1",
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *options, str(corpus)], target.check)
    atheris.Fuzz()


def main() -> None:
    """Fuzz the target that the arguments name."""
    name, seconds, folder = sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])
    try:
        import atheris
    except ImportError:
        atheris = None
    watched = (
        atheris.instrument_imports(include=["bitfold"], exclude=list_kernels())
        if atheris
        else contextlib.nullcontext()
    )
    with watched:
        from fuzz.targets import TARGETS
    if atheris:
        fuzz_by_coverage(atheris, TARGETS[name], seconds, folder)
    print(f"stat::number_of_executed_units: {fuzz_by_mutation(TARGETS[name], seconds, folder)}")


if __name__ == "__main__":
    main()
