"""Choose the code length.

It depends on the question. A few bits that follow the manifold are enough to find items of the
same kind (the same digit); finding the very nearest vectors takes many bits, or re-ranking.
"""

import sys

from matplotlib.figure import Figure

import bitfold as bf
from bitfold import datasets, metrics
from bitfold.hashers import ITQ

data = datasets.digits()
nearest = metrics.closest_neighbors(data.database, data.queries, k=10)
lengths = [8, 24, 64]
figure = Figure(figsize=(7, 3.2), layout="constrained")
kinds, neighbors = figure.subplots(1, 2)

for method, color in ((bf.IMH, "#d62728"), (ITQ, "#1f77b4")):
    same_kind, same_neighbors = [], []
    for n_bits in lengths:
        hasher = method(n_bits, random_state=0).fit(data.database)
        codes, queries = hasher.encode(data.database), hasher.encode(data.queries)
        same_kind.append(
            metrics.mean_average_precision(queries, codes, data.query_labels, data.labels)
        )
        index = bf.HammingIndex(n_bits)
        index.add(codes)
        hits = index.search(queries, k=10)
        same_neighbors.append(metrics.recall_at_k(hits.ids, nearest, 10).mean())
        print(
            f"{method.__name__:3} {n_bits:3} bits: MAP of the same digit {same_kind[-1]:.1%}, "
            f"{same_neighbors[-1]:.1%} of the ten nearest"
        )
    kinds.plot(lengths, same_kind, "o-", color=color, label=method.__name__)
    neighbors.plot(lengths, same_neighbors, "o-", color=color, label=method.__name__)

kinds.set(title="items of the same kind: MAP", xlabel="bits", ylim=(0, 1))
neighbors.set(title="the ten nearest: recall", xlabel="bits", ylim=(0, 1))
kinds.legend(frameon=False)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "choose_bits.png")
