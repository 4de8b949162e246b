"""Tune a pipeline: a hasher is a scikit-learn transformer.

A linear classifier on codes of a few bytes, as in the paper. Grid search can set the parameters of
the hasher's embedding by name.
"""

import sys

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import bitfold as bf
from bitfold.embedding import TSNE

X, y = load_digits(return_X_y=True)
model = make_pipeline(
    bf.IMH(base=bf.KMeansBase(100), embedding=TSNE(max_iter=100), random_state=0),
    LogisticRegression(max_iter=1000),
)
lengths, perplexities = [8, 16, 32], [3, 20]
search = GridSearchCV(
    model,
    {"imh__n_bits": lengths, "imh__embedding__perplexity": perplexities},
    cv=2,
    refit=False,
).fit(X, y)
print(f"best: {search.best_params_}, accuracy {search.best_score_:.1%}")

scores = search.cv_results_["mean_test_score"].reshape(len(perplexities), len(lengths))
figure = Figure(figsize=(5, 3.2), layout="constrained")
axes = figure.subplots()
for perplexity, row in zip(perplexities, scores, strict=True):
    axes.plot(lengths, row, "o-", label=f"perplexity {perplexity}")
axes.set(xlabel="bits", ylabel="accuracy, 2-fold", xticks=lengths)
axes.set(ylim=(np.floor(10 * scores.min()) / 10, 1))
axes.legend(frameon=False)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "tune_a_pipeline.png")
