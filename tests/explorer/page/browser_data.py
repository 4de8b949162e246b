"""Collections for the tests of the page: digits, rows of a table, and the large ones."""

from __future__ import annotations

import lzma
import os
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

import bitfold as bf
from bitfold._types import AnyArray
from bitfold.datasets.mnist import load_mnist_images
from bitfold.hashers import LSH

N_DIGITS = 600


def make_digits(folder: Path) -> tuple[Path, Path]:
    """Create two collections of the same digits: a dual code, and a short one with many ties."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:N_DIGITS].astype(np.float32), y[:N_DIGITS]
    images = folder / "images"
    images.mkdir(parents=True)
    for i, row in enumerate(X):
        pixels = np.round(row.reshape(8, 8) * (255 / 16)).astype(np.uint8)
        Image.fromarray(pixels).save(images / f"d{i:03}.png")
    ids = [f"d{i:03}" for i in range(N_DIGITS)]
    metadata = {
        "digit": [str(label) for label in y],
        "note": [f"a <b>{label}</b> & the like, number {i}" for i, label in enumerate(y)],
        "ink": X.sum(axis=1).astype(float).tolist(),
        "is even": [bool(label % 2 == 0) for label in y],
        "file": [str(images / f"{each}.png") for each in ids],
    }
    coarse = bf.IMH(16, base=bf.KMeansBase(60), random_state=0)
    hashers = {
        "dual": bf.DualHasher(48, coarse=coarse, n_coarse_bits=16, random_state=0),
        "short": bf.IMH(8, base=bf.KMeansBase(40), random_state=0),
    }
    for name, hasher in hashers.items():
        bf.Collection.create(
            folder / f"{name}.bitfold",
            X,
            hasher=hasher.fit(X),
            keep_vectors="float32",
            ids=ids,
            metadata=metadata,
        ).close()
    return folder / "dual.bitfold", folder / "short.bitfold"


def make_rows(folder: Path, n: int = 500, n_features: int = 8) -> Path:
    """Create a collection of table rows without labels, images or kept vectors."""
    X, groups = make_blobs(n, n_features)
    shops = np.array(["Lagos", "Lima", "Oslo", "Pune"])[groups % 4]
    metadata = {"shop": shops.tolist(), "price": np.round(np.exp(X[:, 0] / 4), 2).tolist()}
    hasher = LSH(24, random_state=0).fit(X)
    bf.Collection.create(
        folder / "rows.bitfold", X, hasher=hasher, keep_vectors=False, metadata=metadata
    ).close()
    return folder / "rows.bitfold"


def make_blobs(n: int, n_features: int) -> tuple[AnyArray, AnyArray]:
    """Return points around 24 centers of different size, and the number of the center of each."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(24, n_features)).astype(np.float32) * 4
    groups = rng.choice(24, n, p=rng.dirichlet(np.full(24, 2.0)))
    noise = rng.standard_normal((n, n_features), dtype=np.float32)
    return centers[groups] + noise * (0.4 + groups[:, None] / 24).astype(np.float32), groups


def make_million(folder: Path, n: int = 1_000_000) -> Path:
    """Create a collection of a million rows with a text, a category and a number."""
    path = folder / "million.bitfold"
    if path.exists():
        return path
    X, groups = make_blobs(n, 32)
    kinds = np.array([f"kind {group:02}" for group in range(24)])[groups]
    numbers = np.arange(n)
    metadata = {
        "title": [f"row {i} of {kind}" for i, kind in enumerate(kinds)],
        "kind": kinds.tolist(),
        "price": np.round(np.exp(X[:, 0] / 4), 2).astype(float).tolist(),
        "year": (1990 + numbers % 35).tolist(),
    }
    hasher = LSH(64, random_state=0).fit(X[:50_000])
    bf.Collection.create(path, X, hasher=hasher, keep_vectors="int8", metadata=metadata).close()
    return path


def make_mnist(folder: Path) -> tuple[Path, Path, Path]:
    """Create two collections of the 70,000 digits of MNIST, and an array of their images."""
    images = folder / "mnist.npy"
    paths = folder / "mnist-dual.bitfold", folder / "mnist-imh.bitfold"
    if paths[1].exists():
        return *paths, images
    pixels, labels = load_mnist_images()
    X = pixels.reshape(len(pixels), -1).astype(np.float32)
    np.save(images, pixels.reshape(-1, 28, 28))
    metadata = {"digit": [str(label) for label in labels]}
    hashers = bf.DualHasher(64, random_state=0), bf.IMH(32, random_state=0)
    for path, hasher in zip(paths, hashers, strict=True):
        bf.Collection.create(
            path, X, hasher=hasher.fit(X[:20_000]), keep_vectors="int8", metadata=metadata
        ).close()
    return *paths, images


def make_texts(folder: Path) -> Path:
    """Create a collection of the 59,979 descriptions of Debian packages."""
    path = folder / "texts.bitfold"
    if path.exists():
        return path
    source = Path(os.environ["BITFOLD_DATA"]) / "text"
    stored = np.load(source / "debian.npz")
    with lzma.open(source / "debian-descriptions.txt.xz", "rt", encoding="utf-8") as lines:
        pairs = [line.rstrip("\n").split("\t", 1) for line in lines]
    names = [name for name, _ in pairs]
    sections = np.asarray(stored["names"])[stored["labels"]]
    metadata = {"description": [text for _, text in pairs], "section": sections.tolist()}
    X = stored["vectors"].astype(np.float32)
    hasher = bf.DualHasher(128, normalize=True, random_state=0).fit(X[:20_000])
    bf.Collection.create(path, X, hasher=hasher, ids=names, metadata=metadata).close()
    return path
