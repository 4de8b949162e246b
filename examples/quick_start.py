"""Quick start: find handwritten digits by codes of eight bytes.

Learns 64-bit codes of the digits included in scikit-learn, indexes them, and searches for the
images most similar to images that were not in the training data.
"""

import sys

from matplotlib.figure import Figure

import bitfold as bf
from bitfold import datasets

data = datasets.digits()

hasher = bf.IMH(n_bits=64, random_state=0).fit(data.database)
index = bf.HammingIndex(n_bits=64)
index.add(hasher.encode(data.database))
hits = index.search(hasher.encode(data.queries), k=10)

right = data.labels[hits.ids] == data.query_labels[:, None]
print(f"{right.mean():.1%} of the ten nearest show the same digit as the query.")

# One row per query, followed by its results; wrong results are tinted.
figure = Figure(figsize=(6.6, 3.6), layout="constrained")
rows = range(0, 300, 50)
for panels, query in zip(figure.subplots(len(rows), 11), rows, strict=True):
    for panel in panels:
        panel.set_axis_off()
    panels[0].imshow(data.queries[query].reshape(8, 8), cmap="Blues")
    for panel, found, same in zip(panels[1:], hits.ids[query], right[query], strict=True):
        panel.imshow(data.database[found].reshape(8, 8), cmap="gray_r" if same else "Reds")
figure.suptitle("queries (blue), and their ten nearest by Hamming distance", fontsize=9)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "quick_start.png")
