"""Fuzz all targets, or the named ones: ``python -m fuzz --minutes 10 model upload``.

The time is divided equally. Inputs that fail are kept in ``out/fuzz/<target>``; each should become
a regression test.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

from fuzz.targets import TARGETS

START_SECONDS = 600
"""Time that a process may take in addition, to import and to end."""


def fuzz(name: str, seconds: float, folder: Path) -> bool:
    """Fuzz a target in its own process; print the result, and return whether nothing failed."""
    folder.mkdir(parents=True, exist_ok=True)
    line = [sys.executable, "-m", "fuzz.engine", name, str(seconds), str(folder)]
    try:
        done = subprocess.run(
            line,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds + START_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        print(f"{name:9} did not end in time", flush=True)
        return False
    count = re.search(r"number_of_executed_units: (\d+)", done.stdout + done.stderr)
    (folder / "log.txt").write_text(done.stdout + done.stderr)
    result = "clean" if done.returncode == 0 else f"FAILED, see {folder}"
    print(f"{name:9} {int(count[1]) if count else 0:10,} inputs  {result}", flush=True)
    return done.returncode == 0


def main() -> int:
    """Fuzz the targets, and return 1 if one failed."""
    parser = argparse.ArgumentParser("python -m fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help=f"among {', '.join(TARGETS)}")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--out", type=Path, default=Path("out/fuzz"))
    arguments = parser.parse_args()
    chosen = arguments.targets or list(TARGETS)
    seconds = 60 * arguments.minutes / len(chosen)
    # A list, because the other targets run even if one has failed.
    results = [fuzz(name, seconds, arguments.out / name) for name in chosen]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
