"""The explorer in Chromium: first paint, frames per second and queries, for three sets of items.

A million synthetic rows, the 70,000 images of MNIST, and the sentences of the text set. Chromium
renders by software. Without Chromium, only the server is measured.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import httpx
import numpy as np
from reproduction.data.text_set import (
    DESCRIPTIONS_FILE,
    FOLDER,
    VECTORS_FILE,
    read_descriptions,
    read_text_set,
)

import bitfold as bf
from benchmarks.measuring import Ratio
from bitfold import datasets
from bitfold.errors import MissingDataError
from bitfold.hashers import ITQ, LSH
from bitfold.io.download import find_file

N_ROWS, N_FEATURES = 1_000_000, 32
N_KINDS = 12
N_RUNS = 5
N_FRAMES = 40

MAX_QUERY_MS, MAX_PAINT_SECONDS, MIN_FRAMES = 100, 2, 15
"""The goals at a million items, which smaller sets keep, too."""

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox"] if os.getuid() == 0 else []
"""Without other flags, Chromium renders as it does for users without a graphics card."""

_FRAMES = """async (n) => {
  const { map } = window.bitfoldExplorer;
  const began = performance.now();
  for (let i = 0; i < n; i += 1) {
    if (i % 8 < 4) map.pan(i % 2 ? 23 : -17, 11); else map.zoom(i % 8 < 6 ? 1.3 : 1 / 1.3);
    await new Promise(requestAnimationFrame);
  }
  return 1000 * n / (performance.now() - began);
}"""
"""The page draws in animation frames, and the next comes when Chromium has shown the last."""

_PAINT = """() => performance.getEntriesByName("bitfold:first-paint")[0]?.startTime"""

_ANSWERED = """(n) => performance.getEntriesByName("bitfold:answer").length > n"""

_ANSWER = """() => {
  const last = (name) => performance.getEntriesByName(name).at(-1).startTime;
  return last("bitfold:answer") - last("bitfold:ask");
}"""


class ItemSet(NamedTuple):
    """A collection, the options that show it, and its name."""

    name: str
    path: Path
    options: tuple[str, ...]


def run() -> list[Ratio]:
    """Return the measures of all sets that are available."""
    with tempfile.TemporaryDirectory() as folder:
        makers = (make_synthetic, make_mnist, make_text)
        sets = filter(None, (make(Path(folder)) for make in makers))
        return [ratio for each in sets for ratio in measure(each)]


def make_synthetic(folder: Path) -> ItemSet:
    """Write a million rows in twelve clusters, with a table of metadata."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, N_KINDS, N_ROWS)
    centers = 3 * rng.standard_normal((N_KINDS, N_FEATURES)).astype(np.float32)
    X = rng.standard_normal((N_ROWS, N_FEATURES), np.float32) + centers[kinds]
    metadata = {
        "kind": [f"kind {kind}" for kind in kinds.tolist()],
        "price": rng.gamma(2.0, 30.0, N_ROWS),
        "year": rng.integers(1990, 2025, N_ROWS),
    }
    path = folder / "synthetic.bitfold"
    hasher = LSH(128, random_state=0).fit(X[:10_000])
    bf.Collection.create(path, X, hasher=hasher, metadata=metadata).close()
    return ItemSet(f"{N_ROWS:,} rows", path, ("--label", "kind"))


def make_mnist(folder: Path) -> ItemSet | None:
    """Write MNIST with its images; None if it is not available."""
    try:
        data = datasets.mnist()
    except MissingDataError:
        return None
    assert data.labels is not None and data.query_labels is not None
    X = np.concatenate([data.database, data.queries])
    labels = np.concatenate([data.labels, data.query_labels])
    np.save(folder / "images.npy", X.reshape(-1, 28, 28).astype(np.uint8))
    path = folder / "mnist.bitfold"
    hasher = ITQ(64, random_state=0).fit(X[:20_000].astype(np.float32))
    metadata = {"digit": labels.astype(int)}
    bf.Collection.create(path, X.astype(np.float32), hasher=hasher, metadata=metadata).close()
    images = ("--image", str(folder / "images.npy"))
    return ItemSet(f"{len(X):,} images", path, ("--label", "digit", *images))


def make_text(folder: Path) -> ItemSet | None:
    """Write the text set with its sentences; None if it is not available."""
    vectors, sentences = (find_file([FOLDER], [name]) for name in (VECTORS_FILE, DESCRIPTIONS_FILE))
    if vectors is None or sentences is None:
        return None
    text = read_text_set(vectors)
    names, titles = zip(*read_descriptions(sentences), strict=True)
    metadata = {
        "name": list(names),
        "title": list(titles),
        "section": [str(text.names[label]) for label in text.labels.tolist()],
    }
    path, X = folder / "text.bitfold", np.asarray(text.vectors, np.float32)
    bf.Collection.create(path, X, metadata=metadata, metric="cosine").close()
    return ItemSet(f"{len(X):,} texts", path, ("--text", "title", "--label", "section"))


def measure(shown: ItemSet) -> list[Ratio]:
    """Measure the server and, with Chromium, the page."""
    with start_explorer(shown) as (url, seconds):
        note = f"ready {seconds:.1f} s after the start, first time"
        queries = Ratio(
            f"query, {shown.name}, ms", query_server(url), MAX_QUERY_MS, note=f"server; {note}"
        )
        return [queries, *(measure_page(shown, url) if CHROMIUM else [])]


@contextmanager
def start_explorer(shown: ItemSet) -> Iterator[tuple[str, float]]:
    """Start an explorer with an empty cache; yield its address and the seconds until ready."""
    line = [sys.executable, "-m", "bitfold", "explore", str(shown.path), *shown.options]
    with tempfile.TemporaryDirectory() as cache:
        began = time.perf_counter()
        with subprocess.Popen(
            [*line, "--no-browser", "--json"],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "BITFOLD_CACHE": cache},
        ) as process:
            try:
                assert process.stdout is not None
                url = json.loads(process.stdout.readline())["url"]
                with connect(url) as client:
                    while not client.get("/progress").json()["ready"]:
                        time.sleep(0.2)
                yield url, time.perf_counter() - began
            finally:
                process.terminate()


def connect(url: str) -> httpx.Client:
    """Return a client of the API of an explorer."""
    parts = urlsplit(url)
    token = parse_qs(parts.query)["token"][0]
    header = {"Authorization": f"Bearer {token}"}
    return httpx.Client(
        base_url=f"{parts.scheme}://{parts.netloc}/api", headers=header, timeout=120
    )


def query_server(url: str) -> float:
    """Return the milliseconds of a search, best of five different queries."""
    times = []
    with connect(url) as client:
        for point in range(N_RUNS + 1):
            began = time.perf_counter()
            client.get("/search", params={"query": f"point:{point}"}).raise_for_status()
            times.append(1000 * (time.perf_counter() - began))
    return min(times[1:])


def measure_page(shown: ItemSet, url: str) -> list[Ratio]:
    """Measure first paint, frames per second and queries in Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        # Starts Chromium's graphics process, which users have running already.
        browser.new_page().evaluate("() => document.createElement('canvas').getContext('webgl2')")
        paint = min(measure_paint(browser, url) for _ in range(N_RUNS))
        page = open_page(browser, url)
        frames = max(page.evaluate(_FRAMES, N_FRAMES) for _ in range(3))
        answer = min(query_page(page, point) for point in range(10, 10 + N_RUNS))
        browser.close()
    return [
        Ratio(f"first paint, {shown.name}, s", paint / 1000, MAX_PAINT_SECONDS),
        Ratio(f"frames per second, {shown.name}", frames, MIN_FRAMES, at_least=True),
        Ratio(f"query, {shown.name}, ms", answer, MAX_QUERY_MS, note="page, best of 5"),
    ]


def measure_paint(browser: Any, url: str) -> float:
    """Return the milliseconds from opening the page until the map is complete."""
    page = open_page(browser, url)
    milliseconds = float(page.evaluate(_PAINT))
    page.context.close()
    return milliseconds


def open_page(browser: Any, url: str) -> Any:
    """Open the page in a new window, and wait until the map is complete."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.goto(url)
    page.wait_for_function(_PAINT, timeout=120_000)
    page.wait_for_function(_ANSWERED, arg=0, timeout=120_000)
    return page


def query_page(page: Any, point: int) -> float:
    """Ask for an item; return the milliseconds until its answer is shown."""
    n_before = page.evaluate("() => performance.getEntriesByName('bitfold:answer').length")
    page.evaluate("(point) => { location.hash = `#explore?query=point:${point}`; }", point)
    page.wait_for_function(_ANSWERED, arg=n_before, timeout=60_000)
    return float(page.evaluate(_ANSWER))
