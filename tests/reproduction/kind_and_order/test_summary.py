"""Fits from made-up records."""

from __future__ import annotations

from reproduction.kind_and_order.cases import SETTINGS, WEIGHTS, Setting
from reproduction.kind_and_order.summary import (
    find_exact,
    find_sizes,
    list_fits,
    list_measures,
    list_splits,
)
from tests.reproduction.kind_and_order.records import make_records

RECORDS = make_records(("text", "sift_photos"))


def test_fits_are_in_the_order_of_the_settings() -> None:
    fits = list_fits(reversed(RECORDS), "text")
    assert [fit.setting for fit in fits] == list(SETTINGS)
    assert list_fits(RECORDS, "mnist") == []


def test_splits_of_a_length() -> None:
    fits = list_fits(RECORDS, "text")
    splits = [fit.setting for fit in list_splits(fits, 64)]
    assert splits == [Setting(n) for n in (8, 16, 24, 32, 40)]


def test_values_have_the_default_weight() -> None:
    fit = next(fit for fit in list_fits(RECORDS, "text") if fit.setting.is_weighted)
    assert fit.weights == list(WEIGHTS)
    assert fit.find_values(64, "Hamming")["map"] == 13
    assert fit.find_values(128, "asymmetric")["map"] == 34
    assert fit.find_values(128, "asymmetric", 0.5)["map"] == 33.5


def test_data_sets_without_labels_have_only_recall() -> None:
    assert list_measures(list_fits(RECORDS, "sift_photos")) == ["recall_10", "rescored_40"]
    assert find_exact(RECORDS, "sift_photos") == {}
    assert find_exact(RECORDS, "text")["map"] == 90
    assert find_sizes(RECORDS, "text") == (58979, 256, 500)
