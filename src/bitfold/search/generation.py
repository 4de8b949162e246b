"""A generation: everything that a reader of an index needs, as one object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bitfold._types import Ids, Words
from bitfold.codes import Codes, combine_digests, count_bytes
from bitfold.search.contract import check_codes
from bitfold.search.filters import check_among
from bitfold.search.ids import raise_duplicate_ids, raise_unknown_ids
from bitfold.search.results import Batch, Buckets
from bitfold.search.segments import SegmentList, Selection

_OWNER = "HammingIndex"

_CODES_PER_BATCH = 1 << 17
"""Number of codes per batch: a few megabytes, enough for one request to a database."""


class Generation(NamedTuple):
    """The content of an index between two changes; never modified, only replaced.

    A thread that holds one sees the same codes until it is done, whatever other threads change.

    Parameters
    ----------
    segments
        The codes with their ids.
    next_id
        The next automatic id.
    model_digest
        Digest of the model that made the codes, None if it is unknown.
    """

    segments: SegmentList
    next_id: int = 0
    model_digest: str | None = None

    def check_codes(self, codes: Any, call: str) -> None:
        """Raise unless these are codes of the right length, and not of another model.

        ``call`` is what the user should call instead if they are vectors.
        """
        check_codes(codes, self.segments.n_bits, _OWNER, call)
        combine_digests([self.model_digest, codes.model_digest])

    def check_new(self, ids: Ids) -> None:
        """Raise if there are already codes with these ids."""
        known = self.segments.contains(ids)
        if known.any():
            raise_duplicate_ids(np.sort(ids[known]), _OWNER)

    def check_known(self, ids: Ids) -> None:
        """Raise unless there are codes with these ids."""
        known = self.segments.contains(ids)
        if not known.all():
            raise_unknown_ids(ids[~known], _OWNER)

    def select(self, among: ArrayLike, owner: str) -> Selection:
        """Return the segments with the items that a filter leaves; raise if an id is unknown."""
        checked = check_among(among, len(self.segments), owner)
        selection = self.segments.select(checked)
        if checked.dtype != bool and sum(len(items) for _, items in selection) < len(checked):
            self.check_known(checked)
        return selection

    def codes(self, ids: Ids) -> Codes:
        """Return the codes of some ids, in the order of the ids; raise if one is unknown."""
        self.check_known(ids)
        return self._to_codes(self.segments.words_of(ids))

    def batches(self) -> Iterator[Batch]:
        """Iterate over all codes with their ids, in batches of bounded size."""
        for ids, words in self.segments.batches(_CODES_PER_BATCH):
            yield Batch(ids, self._to_codes(words))

    def buckets(self) -> Buckets:
        """Return the distinct codes with the ids of the items that have each."""
        segment = self.segments.unify()
        codes = self._to_codes(np.ascontiguousarray(segment.words.T))
        if not len(segment.starts):
            return Buckets(codes, np.arange(len(codes) + 1), segment.ids)
        return Buckets(codes, segment.starts.astype(np.int64), segment.ids_of(segment.members))

    def _to_codes(self, words: Words) -> Codes:
        n_bits = self.segments.n_bits
        packed = words.view(np.uint8)[:, : count_bytes(n_bits)]
        return Codes(packed, n_bits, self.model_digest)
