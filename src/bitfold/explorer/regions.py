"""Names of the regions of the map: their labels, the words of their texts, typical items."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from bitfold._types import Int64Array
from bitfold.explorer.density import MapRegions
from bitfold.explorer.items import UNLABELED, Items, format_value
from bitfold.explorer.models import IndexedModel
from bitfold.explorer.schemas import Item, RegionOut

N_SAMPLE = 400
"""Number of items of a region whose texts and codes are read."""

N_WORDS = 3
N_TYPICAL = 3

_MIN_LABEL_SHARE = 0.5
"""Share of a label from which it names a region."""

_WORD = re.compile(r"[^\W\d_]{3,}")


def name_regions(model: IndexedModel, items: Items, regions: MapRegions) -> list[RegionOut]:
    """Describe the regions of a map.

    Parameters
    ----------
    model
        The model, whose codes say which items are typical.
    items
        What is known about the items.
    regions
        The regions.

    Returns
    -------
    list
        One description per region, in the same order.
    """
    rng = np.random.default_rng(0)
    samples = []
    for number in range(len(regions.sizes)):
        members = np.flatnonzero(regions.numbers == number)
        samples.append(np.sort(rng.permutation(members)[:N_SAMPLE]))
    words = _find_words(items, samples)
    return [
        _describe(model, items, regions, number, rows, words[number])
        for number, rows in enumerate(samples)
    ]


def _describe(
    model: IndexedModel,
    items: Items,
    regions: MapRegions,
    number: int,
    rows: Int64Array,
    words: list[str],
) -> RegionOut:
    label, share = _find_label(items, rows)
    name = " · ".join(words) or None
    if items.labels is not None and share >= _MIN_LABEL_SHARE:
        name = items.labels.names[label]
    x, y = regions.peaks[number].tolist()
    return RegionOut(
        x=x,
        y=y,
        n_items=int(regions.sizes[number]),
        name=name,
        words=words,
        label=label,
        label_share=share,
        items=_find_typical(model, items, rows),
    )


def _find_label(items: Items, rows: Int64Array) -> tuple[int, float]:
    """Return the most frequent label, and its share."""
    labels = items.labels_of(rows)
    labels = labels[labels != UNLABELED]
    if not len(labels):
        return UNLABELED, 0.0
    counts = np.bincount(labels)
    return int(counts.argmax()), float(counts.max() / len(rows))


def _find_typical(model: IndexedModel, items: Items, rows: Int64Array) -> list[Item]:
    """Return the items whose codes are nearest to the majority of the bits."""
    bits = model.codes(rows).unpack()
    center = bits.mean(axis=0) > 0.5
    distances = (bits != center).sum(axis=1)
    order = np.argsort(distances, kind="stable")
    # Equal codes are one example.
    _, first = np.unique(model.bucket_of[rows[order]], return_index=True)
    chosen = np.sort(first)[:N_TYPICAL]
    return items.describe(rows[order[chosen]])


def _find_words(items: Items, samples: list[Int64Array]) -> list[list[str]]:
    """Return the words that are more frequent in the texts of a region than elsewhere."""
    if items.text_column is None or not samples:
        return [[] for _ in samples]
    counts = [_count_words(items, rows) for rows in samples]
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    n_texts = sum(map(len, samples))
    return [_choose_words(c, total, len(s), n_texts) for c, s in zip(counts, samples, strict=True)]


def _count_words(items: Items, rows: Int64Array) -> Counter[str]:
    """Return the number of texts that contain each word."""
    column = items.text_column or ""
    texts = items.table.values(rows, [column])[column]
    found: Counter[str] = Counter()
    for text in texts:
        if text is not None:
            found.update(set(_WORD.findall(format_value(text).lower())))
    return found


def _choose_words(counts: Counter[str], total: Counter[str], n: int, n_all: int) -> list[str]:
    """Return the words that are typical of a region.

    The score of a word is its share of the texts in the region times the logarithm of the ratio of
    this share to its share of all texts.
    """
    scores = {
        word: count / n * np.log(count / n * n_all / total[word])
        for word, count in counts.items()
        if count > 1
    }
    best = sorted(scores, key=lambda word: (-scores[word], word))
    return [word for word in best if scores[word] > 0][:N_WORDS]
