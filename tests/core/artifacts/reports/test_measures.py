"""The measures against values that were computed by hand."""

import numpy as np
import pytest

from core.artifacts.reports.association import associations, cramers_v
from core.artifacts.reports.columns import DISTANCE_SCALE, MISSING, columns_of, target_note, target_of
from core.artifacts.reports.errors import ReportTargetUnknown
from core.artifacts.reports.halves import halves
from core.artifacts.reports.shares import pair_variations, sampling_variation, shares, variation
from core.plan.domain.table import TableDomain

DOCUMENT = {
    "schema": "understudy.domain/1",
    "target": "sick",
    "privacy_unit": None,
    "columns": [
        {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 4, "null": "category"},
        {"name": "ward", "kind": "categorical", "categories": ["A", "B"], "other": "(other)", "unknown": "other"},
        {"name": "stage", "kind": "ordinal", "levels": ["low", "middle", "high"]},
        {"name": "sick", "kind": "boolean"},
    ],
}  # fmt: skip


def table(*rows):
    return np.array(rows, dtype=np.int16)


def test_shares_and_their_distance():
    distribution = shares(np.array([0, 0, 1, 3]), 4)
    assert distribution.tolist() == [0.5, 0.25, 0.0, 0.25]
    assert variation(distribution, np.array([0.25, 0.25, 0.25, 0.25])) == 0.25
    assert variation(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == 1.0


def test_the_distance_that_chance_makes_is_met_by_samples_of_one_distribution():
    distribution = np.array([0.5, 0.3, 0.2])
    rng = np.random.default_rng(1)
    seen = [
        variation(*(rng.multinomial(size, distribution) / size for size in (400, 900))) for _ in range(2000)
    ]
    expected = sampling_variation(distribution, first_rows=400, second_rows=900)
    # The mean of 2000 distances has a standard error of about 0.4 %; the normal approximation is good to about 1 %.
    assert np.mean(seen) == pytest.approx(expected, rel=0.04)


def test_pairs_by_hand():
    real, made = table((0, 0), (0, 0), (1, 1), (1, 1)), table((0, 1), (0, 1), (1, 0), (1, 1))
    found = pair_variations(real, made, (2, 2))
    # Joint shares 1/2, 0, 0, 1/2 against 0, 1/2, 1/4, 1/4; second column 1/2, 1/2 against 1/4, 3/4.
    assert found.tolist() == [[0.0, 0.75], [0.75, 0.25]]


def test_association_by_hand():
    # chi2 = 20 of 20 rows: phi2 = 1 - 1/19, r' = c' = 2 - 1/19, so V = 1.
    assert cramers_v(np.array([[10.0, 0.0], [0.0, 10.0]])) == pytest.approx(1.0)
    # chi2 = 100 (8/25)^2 ... = 36, n = 100: V = sqrt((0.36 - 1/99) / (1 - 1/99)).
    assert cramers_v(np.array([[40.0, 10.0], [10.0, 40.0]])) == pytest.approx(
        np.sqrt((0.36 - 1 / 99) / (1 - 1 / 99))
    )
    assert cramers_v(np.array([[25.0, 25.0], [25.0, 25.0]])) == 0.0
    assert cramers_v(np.array([[5.0, 5.0]])) == 0.0
    # An empty row or column changes nothing.
    assert cramers_v(np.array([[40.0, 0.0, 10.0], [10.0, 0.0, 40.0], [0.0, 0.0, 0.0]])) == cramers_v(
        np.array([[40.0, 10.0], [10.0, 40.0]])
    )


def test_independent_columns_have_no_association_however_few_the_rows():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 8, (200, 2)).astype(np.int16)
    assert associations(codes, (8, 8))[0, 1] < 0.15, "uncorrected it would be near 0.18"
    assert associations(codes[:, [0, 0]], (8, 8)).min() == pytest.approx(1.0)


def test_columns_know_what_codes_mean_and_how_far_they_are_apart():
    age, ward, stage, sick = columns_of(TableDomain.from_json(DOCUMENT))
    assert age.words == ("0", "1", "2", "3", "4", MISSING)
    assert age.is_ordered
    assert age.distances[0, 4] == DISTANCE_SCALE
    assert age.distances[1, 2] == DISTANCE_SCALE / 4
    assert (age.distances[5] / DISTANCE_SCALE).tolist() == [1, 1, 1, 1, 1, 0]
    assert ward.words == ("A", "B", "(other)")
    assert (ward.distances / DISTANCE_SCALE).tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert (stage.distances[0] / DISTANCE_SCALE).tolist() == [0, 0.5, 1]
    assert (sick.words, sick.is_ordered) == (("false", "true"), False)


def test_the_target_is_the_asked_column_the_domains_or_the_last_of_the_fewest_values():
    domain = TableDomain.from_json(DOCUMENT)
    assert target_of(domain, "ward") == "ward"
    assert target_of(domain, None) == "sick"
    assert target_note(domain, "sick") is None
    age, ward, _, sick = DOCUMENT["columns"]
    for columns, chosen in (
        ([age, ward], "ward"),
        ([sick, age], "sick"),
        ([ward, sick | {"name": "old"}, sick, age], "sick"),
    ):
        without = TableDomain.from_json(DOCUMENT | {"target": None, "columns": columns})
        assert target_of(without, None) == chosen
        assert "declares no target" in target_note(without, chosen)
        assert target_note(without, "age") is None
    constant = {"name": "country", "kind": "categorical", "categories": ["one"]}
    lone = TableDomain.from_json(DOCUMENT | {"target": None, "columns": [age, constant]})
    assert target_of(lone, None) == "age", "a column of one value has nothing to predict"
    with pytest.raises(ReportTargetUnknown) as refusal:
        target_of(domain, "wards")
    assert "wards" not in str(refusal.value)


def test_no_unit_is_in_both_halves_and_no_record_is_lost():
    rng = np.random.default_rng(3)
    units = rng.integers(0, 40, 500)
    codes = np.column_stack([units, np.arange(500)]).astype(np.int16)
    split = halves(codes, units, rng)
    assert not set(split.attacked[:, 0]) & set(split.others[:, 0])
    assert sorted([*split.attacked[:, 1], *split.others[:, 1]]) == list(range(500))
    assert abs(len(set(split.attacked[:, 0])) - len(set(split.others[:, 0]))) <= 1


def test_columns_of_very_many_codes_are_compared_by_what_occurs():
    rng = np.random.default_rng(8)
    few = np.column_stack([rng.integers(0, 6, 300), rng.integers(0, 5, 300), np.arange(300) % 6])
    few[:, 1] = np.where(rng.random(300) < 0.7, few[:, 0] % 5, few[:, 1])
    other = rng.permutation(few, axis=0)
    other[:, 0] = rng.integers(0, 6, 300)
    spread = np.array([7000, 9001, 90_000])
    wide = tuple(int(last) + 1 for last in 5 * spread)
    kinds = [(few, other, (6, 6, 6)), (few * spread, other * spread, wide)]
    found = [
        (pair_variations(real, made, cells), associations(real, cells), associations(made, cells))
        for real, made, cells in kinds
    ]
    for narrow, far in zip(*found, strict=True):
        assert far == pytest.approx(narrow, abs=1e-9)
    assert found[0][1][0, 1] > 0.3
