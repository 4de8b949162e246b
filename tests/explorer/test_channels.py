"""Colors: every channel has one number per row that its legend explains."""

from __future__ import annotations

import numpy as np
import pytest

from bitfold.errors import ParameterError
from bitfold.explorer.channels import MAX_NUMBER, MISSING_COLOR, OTHER_COLOR
from bitfold.explorer.models import hamming_distances
from bitfold.explorer.workspace import Workspace


def test_categories_count_their_rows(workspace: Workspace) -> None:
    view = workspace.views[0]
    for by in ("label", "bucket", "coarse", "bit:31", "column:digit", "column:odd", "region"):
        channel = view.channels.find(by)
        counts = np.bincount(channel.colors, minlength=OTHER_COLOR + 2)
        listed = [each.count for each in channel.legend.categories]
        assert counts[: len(listed)].tolist() == listed
        assert counts[MISSING_COLOR] == channel.legend.n_missing
        legend = channel.legend
        assert counts[OTHER_COLOR] == legend.n_other
        assert counts[len(listed) : OTHER_COLOR].sum() == legend.n_unlisted
        n_all = sum(listed) + legend.n_unlisted + legend.n_other + legend.n_missing
        assert len(channel.colors) == n_all == 598
    odd = view.channels.find("column:odd").legend.categories
    assert {each.name for each in odd} == {"false", "true"}


def test_a_bit_and_a_bucket_are_those_of_the_codes(workspace: Workspace) -> None:
    view = workspace.views[0]
    bits = view.model.codes(np.arange(598)).unpack()
    bits = bits[workspace.items.order]
    np.testing.assert_array_equal(view.channels.find("bit:19").colors, bits[:, 19])
    colors = view.channels.find("coarse").colors
    for color in (0, 1, 2):
        assert len(np.unique(bits[colors == color, :16], axis=0)) == 1


def test_numbers_can_be_read_back(workspace: Workspace) -> None:
    channel = workspace.views[0].channels.find("column:year")
    legend, colors = channel.legend, channel.colors[workspace.items.points]
    assert legend.low is not None and legend.high is not None and legend.is_integer
    years = workspace.items.table.column("year")
    for row in range(100):
        if years[row] is None:
            assert colors[row] == MISSING_COLOR
        else:
            share = colors[row] / MAX_NUMBER
            assert round(legend.low + share * (legend.high - legend.low)) == years[row]
    assert workspace.views[0].channels.find("column:when").legend.unit == "time"
    assert workspace.views[0].channels.find("density").legend.is_log


def test_distances_are_exact_after_rounding(workspace: Workspace) -> None:
    view = workspace.views[0]
    code = view.model.codes([5])
    colors = view.channels.find("distance", code).colors
    distances = hamming_distances(code, view.model.codes(workspace.items.order))
    np.testing.assert_array_equal(np.round(colors / MAX_NUMBER * 32), distances)


@pytest.mark.parametrize("by", ["bit:32", "column:none", "other", "distance"])
def test_other_channels_are_explained(workspace: Workspace, by: str) -> None:
    with pytest.raises(ParameterError):
        workspace.views[0].channels.find(by)
