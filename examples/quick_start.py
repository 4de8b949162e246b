"""Quick start: find handwritten digits by codes of eight bytes.

Learns 64-bit codes of the digits that come with scikit-learn, puts them into an index, and asks
for the pictures most like some that were never seen before.
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

# The picture: a query a row, then what was found; what is wrong is tinted.
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
