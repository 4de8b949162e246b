"""The explanations of the page."""

from __future__ import annotations

from bitfold.base_set import size

HEAD = """# Kind and order

`DualHasher` concatenates two codes. This page explains the two parts, and compares its defaults
with other splits of the bits, weights and numbers of base points.

- The **coarse bits**, the first `n_coarse_bits_`, come from `IMH`. They say which kind of item a
  vector is. Items of one kind share a code or differ in few bits, so that
  `codes.prefix(hasher.n_coarse_bits_)` gives buckets, but the order within a bucket is lost.
- The **fine bits** come from `ITQ`. They preserve the order of the nearest neighbors, but say less
  about the kind.

By Hamming distance, every bit counts the same. `hasher.embed(Q)` returns real values for an
asymmetric search. The two parts have different units, so each is divided by its root mean square,
which is measured on a sample of the training rows. The coarse part is then multiplied by
`coarse_weight`. One dot product with the stored bits, read as −1 and 1, is the score.
"""

SPLIT = """## The split

More coarse bits leave fewer for the order of neighbors. Change `n_coarse_bits` before `fit`:

- **more coarse bits** if whole rankings count (MAP), up to a point that the figure shows;
- **fewer coarse bits** if you look for the nearest neighbors by distance;
- **`ITQ` alone** if only exact neighbors count; [which code should I use?](which-code.md) has its
  figures.

The best value of each column is bold. Columns without "Hamming" are asymmetric searches.

![Quality by number of coarse bits, by asymmetric search and by Hamming distance]({chart})
"""

WEIGHT = """## The weight

`coarse_weight` changes only `embed`: set it after `fit`, and neither the model nor stored codes
change. Raise it if more results of the same kind matter, lower it if the order of the nearest
neighbors matters. "In first 40" is how many of the ten exact neighbors are among the first 40
results, which is recall@10 after rescoring 40 candidates by the exact vectors. `DualHasher(128)`
with 32 coarse bits, asymmetric:
"""

BASE_SETS = """## The number of base points

The coarse hasher represents all vectors by base points. With too few, whole regions look alike;
with too many, neighbors no longer share any, and the fit takes longer. `KMeansBase("auto")`, the
default, measures this on training rows that are held out:

1. Sample up to {n_held_out:,} rows, and find their ten nearest neighbors within the sample.
2. Represent each sampled row by its five nearest base points. Here, base points are other rows
   chosen at random: {sizes}, as long as there are {rows_per_point} rows for each,
   and one for every {rows_per_point} rows.
3. Count how many of the ten neighbors are among the rows that share base points most.
4. Stop when twice as many base points find less than {min_gain:.0%} more.

It needs no labels, and its cost does not depend on the number of rows. With fewer than {n_rows:,}
rows, {minimum} base points are used without measuring. `hasher.base_size_reason_` states the
result. To fix a number, pass `coarse=IMH(base=KMeansBase(2000))`. `DualHasher(128)` with 32 coarse
bits, asymmetric:
""".format(
    n_held_out=size.N_HELD_OUT,
    sizes=", then ".join(f"{n:,}" for n in size.SIZES),
    rows_per_point=size.MIN_ROWS_PER_BASE_POINT,
    min_gain=size.MIN_GAIN,
    n_rows=size.SIZES[0] * size.MIN_ROWS_PER_BASE_POINT,
    minimum=size.MIN_BASE_POINTS,
)

METHOD = """## How this was measured

- The **first half** of the 1,000 queries, which is for tuning. The figures on
  [which code should I use?](which-code.md) are from the other half.
- One seed, so that small differences may be due to chance. Where "auto" chose a number that is in
  the table, the two rows differ only in their random numbers.
- MAP and P@k count results with the label of the query, recall@10 counts the ten exact Euclidean
  neighbors among the first ten results. All are in percent. SIFT descriptors have no labels.
- Ties in Hamming distance count as the mean over their orders in MAP and P@k, and go by id in
  recall.
- Each coarse part is fitted once. Codes of 64 bits have the coarse part of 128 bits with another
  fine part. Times to fit are CPU seconds of the whole hasher, summed over cores; they depend on the
  machine, but little on its load. A dash means that the time was not measured.

`python -m reproduction kind-and-order docs` measures what is missing in
`docs/kind-and-order.jsonl`, CIFAR-10 included, and writes this page.
"""
