"""Check a running explorer with schemathesis: ``python -m fuzz.explorer PATH/TO/schemathesis``."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np

from bitfold import IMH, HammingIndex, KMeansBase

CONFIG = """
[[operations]]
include-name = "POST /api/uploads"
checks.positive_data_acceptance.enabled = false
"""
"""A schema cannot say which bytes are an image, so uploads of other bytes may be rejected."""


def write_collection(folder: Path) -> None:
    """Write a model, an index, vectors and images of random pixels."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 255, (200, 64)).astype(np.float32)
    hasher = IMH(16, base=KMeansBase(40), random_state=0).fit(X)
    hasher.save(folder / "m.bitfold")
    index = HammingIndex(16)
    index.add(hasher.encode(X))
    index.save(folder / "i")
    np.save(folder / "x.npy", X)
    np.save(folder / "images.npy", X.reshape(-1, 8, 8).astype(np.uint8))


@contextmanager
def run_explorer(folder: Path) -> Iterator[str]:
    """Start an explorer; yield its address, with the token."""
    paths = ["--model", "m.bitfold", "--vectors", "x.npy", "--images", "images.npy"]
    line = [sys.executable, "-m", "bitfold", "explore", "i", *paths, "--no-browser", "--json"]
    with subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


def main() -> int:
    """Run schemathesis against an explorer, and return its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        write_collection(Path(folder))
        with run_explorer(Path(folder)) as url:
            parts = urlsplit(url)
            token = parse_qs(parts.query)["token"][0]
            schema = f"{parts.scheme}://{parts.netloc}/openapi.json"
            header = f"Authorization: Bearer {token}"
            config = Path(folder, "schemathesis.toml")
            config.write_text(CONFIG)
            command = [sys.argv[1], "--config-file", str(config), "run", schema]
            line = [*command, "--header", header, *sys.argv[2:]]
            return subprocess.run(line, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
