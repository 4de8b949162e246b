"""Run the numerical tests on processors of several levels, and compare codes between them.

``python -m tests.portable`` emulates each level that the processor of this machine includes, with
environment variables of numba, OpenBLAS, faiss, numpy and the C library. On each level, all
hashers are fitted and saved; then every level loads all of these models and encodes with them.
``--codes`` does only this.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from tests.reproducibility import Digests, small_cases

from bitfold import load
from bitfold.testing._hasher_checks.processors import Environment, list_levels

NUMERICAL_TESTS = (
    *("tests/_kernels", "tests/_linalg", "tests/base_set", "tests/embedding", "tests/hashers"),
    *("tests/induction", "tests/metrics", "tests/testing", "tests/test_neighbors.py"),
    *("tests/test_rotation.py", "tests/test_subspace.py"),
)

N_SHIFTS = 6
"""Copies of the training rows that are encoded, each shifted by another amount."""


def list_all_levels() -> dict[str, Environment]:
    """Return the level of this machine, and those that can be emulated."""
    return {"native": {}, **list_levels()}


def save_models(folder: Path) -> None:
    """Fit and save all hashers."""
    for name, hasher, X, y in small_cases():
        hasher.fit(X, y).save(folder / f"{name}.bitfold")


def encode_with_models(folder: Path) -> Digests:
    """Return a digest of the codes of each model in the folders of all levels."""
    found = {}
    for name, _, X, _ in small_cases():
        rows = np.concatenate([X + np.float32(0.013 * shift) for shift in range(N_SHIFTS)])
        for path in sorted(folder.glob(f"*/{name}.bitfold")):
            codes = load(path).encode(rows)
            found[f"{path.parent.name}/{name}"] = hashlib.sha256(codes.packed.tobytes()).hexdigest()
    return found


def compare_codes() -> int:
    """Encode on all levels with the models of all levels; return the number of differences."""
    levels = list_all_levels()
    n_different = 0
    with tempfile.TemporaryDirectory() as name:
        for level, environment in levels.items():
            (Path(name) / level).mkdir()
            _run(["-m", "tests.portable", "--save", f"{name}/{level}"], environment, level)
        expected: Digests = {}
        for level, environment in levels.items():
            found = json.loads(_run(["-m", "tests.portable", "--encode", name], environment, level))
            expected = expected or found
            assert found.keys() == expected.keys()
            different = [model for model in expected if found[model] != expected[model]]
            n_different += len(different)
            print(f"{level}: {len(found)} models, {len(different)} give other codes", flush=True)
            for model in different:
                print(f"  {model}", flush=True)
    return n_different


def run_tests() -> int:
    """Run the numerical tests on all levels; return the number of levels on which they fail."""
    n_failed = 0
    for level, environment in list_all_levels().items():
        print(f"{level}: {' '.join(f'{key}={value}' for key, value in environment.items())}")
        try:
            command = ["-m", "pytest", "-n", "2", "--dist", "worksteal", *NUMERICAL_TESTS]
            print(_run(command, environment, level)[-200:], flush=True)
        except subprocess.CalledProcessError as error:
            print(error.stdout, flush=True)
            n_failed += 1
    return n_failed


def _run(arguments: list[str], environment: Environment, level: str) -> str:
    """Run Python on a level, with the kernels of that level in a cache of their own."""
    cache = Path(tempfile.gettempdir()) / f"bitfold-kernels-{os.getuid()}" / level
    run = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **environment, "NUMBA_CACHE_DIR": str(cache)},
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return run.stdout


def main() -> int:
    """Compare codes and run the tests, or do one part of it on this level."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--encode", type=Path)
    parser.add_argument("--codes", action="store_true")
    arguments = parser.parse_args()
    if arguments.save:
        save_models(arguments.save)
    elif arguments.encode:
        print(json.dumps(encode_with_models(arguments.encode)))
    else:
        missing = {"haswell", "skylake"} - list_levels().keys()
        if missing:
            print(f"not included in the processor of this machine: {', '.join(sorted(missing))}")
        failures = compare_codes()
        if not arguments.codes:
            failures += run_tests()
        return min(failures, 1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
