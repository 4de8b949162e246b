"""A running explorer with handwritten digits, in its own process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

import bitfold as bf
from bitfold.explorer.models import IndexedModel
from bitfold.hashers import LSH, Hasher

N_ITEMS = 600
COMMAND = str(Path(sys.executable).with_name("bitfold"))


@dataclass(frozen=True)
class Server:
    """A running explorer."""

    url: str
    process: subprocess.Popen[str]

    @property
    def origin(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def token(self) -> str:
        return parse_qs(urlsplit(self.url).query)["token"][0]

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


@contextmanager
def running(*arguments: object) -> Iterator[Server]:
    """Start ``bitfold explore``, and stop it with Ctrl-C as a user does."""
    line = [COMMAND, "explore", *map(str, arguments), "--json"]
    with subprocess.Popen(
        line,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        # A background job of a shell ignores Ctrl-C, and its child processes would, too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            if not said:
                raise RuntimeError(process.communicate()[1])
            yield Server(json.loads(said)["url"], process)
            process.send_signal(signal.SIGINT)
            left = process.communicate(timeout=20)[1]
            assert (process.returncode, left) == (130, "")
        finally:
            process.kill()


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with models and indexes of 600 digits, and their images, labels and texts."""
    folder = tmp_path_factory.mktemp("digits")
    X, y = load_digits(return_X_y=True)
    X, y = X[:N_ITEMS].astype(np.float32), y[:N_ITEMS]
    models: dict[str, Hasher] = {
        "long": bf.IMH(32, base=bf.KMeansBase(60), random_state=0),
        "short": bf.IMH(12, base=bf.KMeansBase(60), random_state=0),
        "lsh": LSH(24, random_state=0),
    }
    for name, model in models.items():
        model.fit(X).save(folder / f"{name}.bitfold")
        index = bf.HammingIndex(model.n_bits_)
        index.add(model.encode(X))
        index.save(folder / f"{name}.index")
    np.save(folder / "vectors.npy", X)
    np.save(folder / "labels.npy", y)
    lines = "".join(f"a <b>{digit}</b> & the like\n" for digit in y)
    (folder / "text.txt").write_text(lines, encoding="utf-8")
    (folder / "images").mkdir()
    for i, row in enumerate(X):
        pixels = np.round(row.reshape(8, 8) * (255 / 16)).astype(np.uint8)
        Image.fromarray(pixels).save(folder / "images" / f"{i}.png")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Use a cache folder for these tests only."""
    patch = pytest.MonkeyPatch()
    patch.setenv("BITFOLD_CACHE", str(tmp_path_factory.mktemp("cache")))
    # A proxy would intercept requests to this machine.
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        patch.delenv(name, raising=False)
    yield
    patch.undo()


@pytest.fixture(scope="session")
def server(digits: Path) -> Iterator[Server]:
    """Two models with images, vectors, labels and texts."""
    with running(
        digits / "long.index", digits / "short.index",
        "--model", digits / "long.bitfold", "--model", digits / "short.bitfold",
        "--images", digits / "images", "--vectors", digits / "vectors.npy",
        "--labels", digits / "labels.npy", "--text", digits / "text.txt", "--sample", 400,
    ) as started:  # fmt: skip
        yield started


@pytest.fixture(scope="session")
def bare(digits: Path) -> Iterator[Server]:
    """A model without a base set; only its index is given."""
    with running(digits / "lsh.index", "--model", digits / "lsh.bitfold") as started:
        yield started


@pytest.fixture(scope="session")
def client(server: Server) -> Iterator[httpx.Client]:
    """A client that sends the token."""
    with httpx.Client(base_url=server.origin, headers=server.headers, timeout=30) as asking:
        yield asking


def resident_megabytes(process_id: int) -> float:
    """Return the resident memory of a process."""
    pages = int(Path(f"/proc/{process_id}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def index_vectors(
    folder: Path, X: np.ndarray, ids: np.ndarray | None = None, n_bits: int = 8
) -> IndexedModel:
    """Index vectors by LSH."""
    hasher = LSH(n_bits, random_state=0).fit(np.random.default_rng(0).normal(size=(50, X.shape[1])))
    hasher.save(folder / "m.bitfold")
    index = bf.HammingIndex(n_bits)
    index.add(hasher.encode(X), ids)
    index.save(folder / "m.index")
    return IndexedModel.open(folder / "m.index", folder / "m.bitfold", "m")


def random_vectors(n: int) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(n, 6))
