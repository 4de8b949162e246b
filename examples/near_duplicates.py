"""Find near duplicates: images that were saved again, brightened or slightly moved.

The data are parts of two photographs, described by GIST features; some of them have an altered
copy. ITQ codes preserve distances, which is right for duplicates. A radius search finds the pairs
without comparing all images with each other. The radius was chosen on these images; for your own
images, choose it on pairs that you know.
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
rng = np.random.default_rng(0)


def alter(image: NDArray[Any]) -> NDArray[Any]:
    """Brighten an image and save it as a JPEG of low quality."""
    brighter = np.clip(1.15 * image + 8, 0, 255).astype(np.uint8)
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
            if piece.std() > 20:  # without contrast, all parts look alike
                originals.append(piece)
                right, down = rng.integers(0, 3, 2)
                moved = gray[y + down : y + down + SIDE, x + right : x + right + SIDE]
                copies.append(alter(moved))

images = np.array(originals + copies[::2])
true_pairs = {(i, len(originals) + i // 2) for i in range(0, len(originals), 2)}

vectors = gist(images)
codes = ITQ(128, random_state=0).fit(vectors).encode(vectors)
index = bf.HammingIndex(n_bits=128)
index.add(codes)
near = index.within(codes, radius=RADIUS)

queries = np.repeat(np.arange(len(codes)), np.diff(near.offsets))
pairs = {(int(a), int(b)) for a, b in zip(queries, near.ids, strict=True) if a < b}
found = sorted(pairs & true_pairs)
print(f"{len(images)} images, {len(pairs)} pairs within {RADIUS} of 128 bits:")
print(f"{len(found)} of {len(true_pairs)} copies, and {len(pairs) - len(found)} false pairs.")

figure = Figure(figsize=(6.6, 1.8), layout="constrained")
for panels, pair in zip(figure.subplots(2, 10).T, found, strict=False):
    for panel, item in zip(panels, pair, strict=True):
        panel.imshow(images[item], cmap="gray", vmin=0, vmax=255)
        panel.set_axis_off()
figure.suptitle("pairs within the radius: originals above, altered copies below", fontsize=9)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "near_duplicates.png")
