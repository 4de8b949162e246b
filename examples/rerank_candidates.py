"""Rescore candidates: find candidates by Hamming distance, then reorder them by exact distance.

If the very nearest vectors matter, take a few hundred candidates by Hamming distance and reorder
them by the original vectors (RerankByVectors) or, if those are no longer available, by the
real-valued embedding of the query (RerankByEmbedding).
"""

import sys

from matplotlib.figure import Figure

import bitfold as bf
from bitfold import datasets, metrics
from bitfold.hashers import ITQ

data = datasets.digits()
nearest = metrics.closest_neighbors(data.database, data.queries, k=10)

hasher = ITQ(32, random_state=0).fit(data.database)
index = bf.HammingIndex(n_bits=32)
index.add(hasher.encode(data.database))
queries, reals = hasher.encode(data.queries), hasher.embed(data.queries)


def recall(rerank: bf.RerankByVectors | bf.RerankByEmbedding | None) -> float:
    """Return the recall of the ten nearest vectors among the first ten hits."""
    hits = index.search(queries, k=10, rerank=rerank)
    return float(metrics.recall_at_k(hits.ids, nearest, 10).mean())


candidates = [10, 20, 50, 100, 200, 400]
exact = [recall(bf.RerankByVectors(data.database, data.queries, n)) for n in candidates]
finer = [recall(bf.RerankByEmbedding(reals, n)) for n in candidates]
alone = recall(None)
print(f"recall of the ten nearest by codes alone: {alone:.1%}")
print(f"after rescoring {candidates[3]} candidates: {exact[3]:.1%}")

figure = Figure(figsize=(5, 3.2), layout="constrained")
axes = figure.subplots()
axes.plot(candidates, exact, "o-", color="#d62728", label="RerankByVectors")
axes.plot(candidates, finer, "s-", color="#1f77b4", label="RerankByEmbedding")
axes.axhline(alone, color="#222222", ls="--", label="32-bit codes alone")
axes.set(xscale="log", xlabel="candidates of 1,497", ylabel="recall of the ten nearest")
axes.set(ylim=(0, 1.03))
axes.legend(frameon=False)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "rerank_candidates.png")
