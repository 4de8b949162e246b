"""Check a running explorer with schemathesis: ``python -m fuzz.explorer PATH/TO/schemathesis``."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import numpy as np

from bitfold import IMH, Collection, KMeansBase

REJECTING = (
    "uploads|search|bucket|exact|within|counts|items|matches|random|legend|colors|python|selection"
)
"""Routes that may reject what their schema allows: a schema cannot say which bytes are an image,
which conditions can be parsed, or which columns exist."""

CONFIG = f"""
[[operations]]
include-name-regex = "({REJECTING})"
checks.positive_data_acceptance.enabled = false
"""


def write_collection(folder: Path) -> None:
    """Write a collection of random pixels with metadata, and its images."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 255, (1200, 64)).astype(np.float32)
    hasher = IMH(16, base=KMeansBase(40), random_state=0)
    metadata = {
        "kind": [f"kind {i % 5}" for i in range(len(X))],
        "year": [1990 + i % 30 for i in range(len(X))],
        "title": [f"The title of item {i}" for i in range(len(X))],
    }
    ids = [f"item {i}" for i in range(len(X))]
    Collection.create(folder / "c", X, hasher=hasher, ids=ids, metadata=metadata).close()
    np.save(folder / "images.npy", X.reshape(-1, 8, 8).astype(np.uint8))


@contextmanager
def run_explorer(folder: Path) -> Iterator[str]:
    """Start an explorer; yield its address, with the token."""
    options = ["--image", "images.npy", "--label", "kind", "--no-browser", "--json"]
    line = [sys.executable, "-m", "bitfold", "explore", "c", *options]
    with subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


def wait_until_ready(address: str, token: str) -> None:
    """Wait until the explorer has computed its map."""
    header = {"Authorization": f"Bearer {token}"}
    while not httpx.get(address, headers=header).json()["ready"]:
        time.sleep(0.1)


def main() -> int:
    """Run schemathesis against an explorer, and return its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        write_collection(Path(folder))
        with run_explorer(Path(folder)) as url:
            parts = urlsplit(url)
            token = parse_qs(parts.query)["token"][0]
            wait_until_ready(f"{parts.scheme}://{parts.netloc}/api/progress", token)
            schema = f"{parts.scheme}://{parts.netloc}/openapi.json"
            header = f"Authorization: Bearer {token}"
            config = Path(folder, "schemathesis.toml")
            config.write_text(CONFIG)
            command = [Path(sys.argv[1]).absolute(), "--config-file", config, "run", schema]
            # The first request of some routes compiles kernels.
            limit = ["--request-timeout", "60"]
            line = [*map(str, command), "--header", header, *limit, *sys.argv[2:]]
            # It writes what it found to the current folder.
            return subprocess.run(line, check=False, cwd=folder).returncode


if __name__ == "__main__":
    sys.exit(main())
