"""A running explorer with handwritten digits, in its own process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
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
from bitfold.explorer.items import Items
from bitfold.explorer.opening import ItemSources, OpenedModel, open_items, open_models
from bitfold.explorer.preparation import prepare_workspace
from bitfold.explorer.workspace import Workspace
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

    def wait(self) -> None:
        """Wait until the maps are ready."""
        while not httpx.get(f"{self.origin}/api/progress", headers=self.headers).json()["ready"]:
            time.sleep(0.05)


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
            server = Server(json.loads(said)["url"], process)
            server.wait()
            yield server
            process.send_signal(signal.SIGINT)
            left = process.communicate(timeout=100)[1]
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
        "--labels", digits / "labels.npy", "--text", digits / "text.txt",
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
    with httpx.Client(base_url=server.origin, headers=server.headers, timeout=100) as asking:
        yield asking


def resident_megabytes(process_id: int) -> float:
    """Return the resident memory of a process."""
    pages = int(Path(f"/proc/{process_id}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def index_vectors(
    folder: Path, X: np.ndarray, ids: np.ndarray | None = None, n_bits: int = 8
) -> OpenedModel:
    """Index vectors by LSH."""
    hasher = LSH(n_bits, random_state=0).fit(np.random.default_rng(0).normal(size=(50, X.shape[1])))
    hasher.save(folder / "m.bitfold")
    index = bf.HammingIndex(n_bits)
    index.add(hasher.encode(X), ids)
    index.save(folder / "m.index")
    return open_models([folder / "m.index"], [folder / "m.bitfold"])[0]


def index_bits(folder: Path, bits: np.ndarray) -> OpenedModel:
    """Index given bits, as if a model had made them."""
    index_vectors(folder, random_vectors(3), n_bits=bits.shape[1])
    index = bf.HammingIndex(bits.shape[1])
    index.add(bf.Codes.from_bits(bits))
    index.save(folder / "m.index")
    return open_models([folder / "m.index"], [folder / "m.bitfold"])[0]


def items_of(opened: OpenedModel, sources: ItemSources | None = None) -> Items:
    """Return what is known about the items of a model."""
    return open_items([opened], sources or ItemSources(), lambda stage, done, total: None)


def shown(opened: OpenedModel, sources: ItemSources | None = None) -> Workspace:
    """Return a workspace of one model."""
    items = items_of(opened, sources)
    return prepare_workspace([opened.model], items, lambda stage, done, total: None)


def random_vectors(n: int) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(n, 6))


WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


@pytest.fixture(scope="session")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of digits with string ids, removed items, texts and a DualHasher."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:N_ITEMS].astype(np.float32), y[:N_ITEMS]
    hasher = bf.DualHasher(32, coarse=bf.IMH(base=bf.KMeansBase(60)), random_state=0).fit(X)
    metadata = {
        "digit": [WORDS[label] for label in y],
        "title": [f"A picture of a {WORDS[label]}, 100% real" for label in y],
        "year": [None if i % 50 == 0 else 1990 + i % 30 for i in range(N_ITEMS)],
        "when": [np.datetime64("2024-01-01") + i for i in range(N_ITEMS)],
        "odd": [bool(label % 2) for label in y],
    }
    path = tmp_path_factory.mktemp("named") / "digits.bitfold"
    ids = [f"d/{i}" for i in range(N_ITEMS)]
    with bf.Collection.create(path, X, hasher=hasher, ids=ids, metadata=metadata) as c:
        c.remove(["d/0", "d/7"])
    return path


@pytest.fixture(scope="session")
def workspace(named: Path, _own_cache: None) -> Workspace:
    """A workspace of the collection above, colored by the digits."""
    return shown(open_models([named], [])[0], ItemSources(label="digit"))
