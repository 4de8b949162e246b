"""Use labels: what they give depends on whether the kinds that matter are the data's own clusters.

Two questions about the same digits. Where a kind is one digit, the data show it by themselves and
labels help less. Where a kind is two digits that do not look alike (0 and 5, 1 and 6, and so
on), no method can know without them. Two thirds of the rows have a label, the others have -1; the
queries are new to all methods.
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import bitfold as bf
from bitfold import datasets, metrics
from bitfold.hashers import CCAITQ, ITQ, Hasher, LDAHash

data = datasets.digits()


def scores(n_kinds: int) -> dict[str, float]:
    """MAP of each method with one bit less than there are kinds, as many as LDA gives."""
    kinds, query_kinds = data.labels % n_kinds, data.query_labels % n_kinds
    y = np.where(np.arange(len(kinds)) % 3 == 0, -1, kinds)
    n_bits = n_kinds - 1
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
        quality = metrics.mean_average_precision(queries, codes, query_kinds, kinds)
        found[type(hasher).__name__] = quality
    return found


figure = Figure(figsize=(7.4, 2.6), layout="constrained")
titles = {10: "a kind is one digit, 9 bits", 5: "a kind is two digits, 4 bits"}
for axes, (n_kinds, title) in zip(figure.subplots(1, 2, sharey=True), titles.items(), strict=True):
    found = scores(n_kinds)
    print(f"{title}: " + ", ".join(f"{name} {value:.1%}" for name, value in found.items()))
    colors = ["#bbbbbb" if name in ("ITQ", "IMH") else "#d62728" for name in found]
    bars = axes.barh(list(found), list(found.values()), color=colors)
    axes.bar_label(bars, fmt="{:.0%}", padding=3)
    axes.set(title=title, xlim=(0, 1.15), xlabel="MAP; red learns from labels")
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "use_labels.png")
