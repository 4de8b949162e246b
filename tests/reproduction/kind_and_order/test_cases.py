"""The fits of the page."""

from __future__ import annotations

from reproduction.kind_and_order.cases import (
    BASE_SIZES,
    EXACT,
    MEASURE,
    SETTINGS,
    SPLITS,
    Setting,
    find_setting,
    list_cases,
    make_case,
)


def test_each_coarse_length_is_fitted_once() -> None:
    automatic = [setting for setting in SETTINGS if setting.n_base_points == "auto"]
    assert [setting.n_coarse_bits for setting in automatic] == [8, 16, 24, 32, 40, 48, 64]
    assert len(set(SETTINGS)) == len(SETTINGS) == 7 + len(BASE_SIZES)


def test_lengths_of_a_coarse_part() -> None:
    assert Setting(16).lengths == (128, 64)
    assert (Setting(48).lengths, Setting(40).lengths) == ((128,), (64,))
    assert Setting(32, 400).lengths == (128,)
    for n_bits, splits in SPLITS.items():
        assert all(n_bits in Setting(n).lengths for n in splits)


def test_weights_are_compared_in_one_fit() -> None:
    assert [setting for setting in SETTINGS if setting.is_weighted] == [Setting(32)]


def test_case_knows_its_setting() -> None:
    for setting in SETTINGS:
        case = make_case("text", setting)
        assert (find_setting(case), case.n_bits) == (setting, max(setting.lengths))


def test_cases_of_data_sets() -> None:
    cases = list_cases(("text", "sift_photos"))
    assert {case.measure for case in cases} == {MEASURE}
    assert {case.data: case.n_rows for case in cases} == {"text": 0, "sift_photos": 100_000}
    assert [case.data for case in cases if case.method == EXACT] == ["text"]
