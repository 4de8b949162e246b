"""Find near duplicates: pictures that were saved again, brightened or slightly moved.

Pieces of two photographs are described by GIST; some come a second time, spoiled. The codes are
ITQ's, which keep distances: manifold codes would put one flower beside the next, and rightly so,
but that is not the question here. A radius finds the pairs without comparing all with all. How
wide it should be was read off these very pictures: for yours, look at some pairs that you know.
"""

import io
import sys
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image
from sklearn.datasets import load_sample_images

import bitfold as bf
from bitfold.features import gist
from bitfold.hashers import ITQ

SIDE, RADIUS = 64, 12
Picture = NDArray[Any]
rng = np.random.default_rng(0)


def spoiled(picture: Picture) -> Picture:
    """Brighten a picture and save it as a poor JPEG."""
    brighter = np.clip(1.15 * picture + 8, 0, 255).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(brighter).save(file, "JPEG", quality=30)
    return np.asarray(Image.open(file))


originals, copies = [], []
for photograph in load_sample_images().images:
    gray = photograph.mean(axis=2)
    height, width = gray.shape
    for y in range(0, height - SIDE - 3, SIDE):
        for x in range(0, width - SIDE - 3, SIDE):
            piece = gray[y : y + SIDE, x : x + SIDE]
            if piece.std() > 20:  # a piece of plain sky is like any other
                originals.append(piece)
                right, down = rng.integers(0, 3, 2)
                moved = gray[y + down : y + down + SIDE, x + right : x + right + SIDE]
                copies.append(spoiled(moved))

pictures = np.array(originals + copies[::2])
true_pairs = {(i, len(originals) + i // 2) for i in range(0, len(originals), 2)}

vectors = gist(pictures)
codes = ITQ(128, random_state=0).fit(vectors).encode(vectors)
index = bf.HammingIndex(n_bits=128)
index.add(codes)
near = index.within(codes, radius=RADIUS)

queries = np.repeat(np.arange(len(codes)), np.diff(near.offsets))
pairs = {(int(a), int(b)) for a, b in zip(queries, near.ids, strict=True) if a < b}
found = sorted(pairs & true_pairs)
print(f"{len(pictures)} pictures, {len(pairs)} pairs within {RADIUS} of 128 bits:")
print(f"{len(found)} of {len(true_pairs)} copies, and {len(pairs) - len(found)} that are none.")

figure = Figure(figsize=(6.6, 1.8), layout="constrained")
for panels, pair in zip(figure.subplots(2, 10).T, found, strict=False):
    for panel, item in zip(panels, pair, strict=True):
        panel.imshow(pictures[item], cmap="gray", vmin=0, vmax=255)
        panel.set_axis_off()
figure.suptitle("pairs within the radius: originals above, spoiled copies below", fontsize=9)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "near_duplicates.png")
