"""Use labels: how much they help depends on whether the classes are clusters of the data.

Two tasks on the same digits. If a class is one digit, it is a cluster of the data, and labels help
less. If a class consists of two digits that do not look alike (0 and 5, 1 and 6, and so on), only
labels can tell. Two thirds of the rows have a label, the others have -1; the queries are not in the
training data.
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import bitfold as bf
from bitfold import datasets, metrics
from bitfold.hashers import CCAITQ, ITQ, Hasher, LDAHash

data = datasets.digits()


def measure_map(n_classes: int) -> dict[str, float]:
    """Return the MAP of each method with ``n_classes - 1`` bits, the number that LDA provides."""
    classes, query_classes = data.labels % n_classes, data.query_labels % n_classes
    y = np.where(np.arange(len(classes)) % 3 == 0, -1, classes)
    n_bits = n_classes - 1
    hashers: list[Hasher] = [
        ITQ(n_bits, random_state=0),
        bf.IMH(n_bits, random_state=0),
        LDAHash(n_bits, random_state=0),
        CCAITQ(n_bits, random_state=0),
        bf.SupervisedIMH(n_bits, base=bf.KMeansBase(300), random_state=0),
    ]
    found = {}
    for hasher in hashers:
        hasher.fit(data.database, y)
        queries, codes = hasher.encode(data.queries), hasher.encode(data.database)
        quality = metrics.mean_average_precision(queries, codes, query_classes, classes)
        found[type(hasher).__name__] = quality
    return found


figure = Figure(figsize=(7.4, 2.6), layout="constrained")
titles = {10: "one digit per class, 9 bits", 5: "two digits per class, 4 bits"}
for axes, (n_classes, title) in zip(
    figure.subplots(1, 2, sharey=True), titles.items(), strict=True
):
    found = measure_map(n_classes)
    print(f"{title}: " + ", ".join(f"{name} {value:.1%}" for name, value in found.items()))
    colors = ["#bbbbbb" if name in ("ITQ", "IMH") else "#d62728" for name in found]
    bars = axes.barh(list(found), list(found.values()), color=colors)
    axes.bar_label(bars, fmt="{:.0%}", padding=3)
    axes.set(title=title, xlim=(0, 1.15), xlabel="MAP (red: learns from labels)")
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "use_labels.png")
