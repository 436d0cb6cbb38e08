"""The linear predictor of a target: without noise it is least squares on the rows, and noise is shrunk."""

import dataclasses

import numpy as np
import pytest

from core.artifacts.asking import predictor
from core.artifacts.asking.errors import NotCounted
from core.artifacts.asking.estimates import Estimates
from core.artifacts.asking.predictor import LinearPredictor
from core.artifacts.counts import CountTable, ReleasedCounts, in_steps
from core.plan.domain.table import TableDomain
from tests.core.artifacts.asking.tabled import DOMAIN, opened, released, table
from tests.core.plan.domain.examples import DAY_WITH_WEEKDAY
from tests.core.plan.domain.ruled import document, words

ROWS = table()


def least_squares(linear: LinearPredictor) -> np.ndarray:
    """(records, classes) shares, from the rows."""
    parts = [
        np.eye(len(weights))[linear.groups[column][ROWS.codes[:, column]]]
        for column, weights in linear.weights.items()
    ]
    features, classes = np.concatenate(parts, axis=1), np.eye(2)[ROWS.codes[:, 2]]
    return features @ np.linalg.lstsq(features, classes, rcond=None)[0]


@pytest.mark.parametrize("by_class", [True, False])
def test_without_noise_it_is_least_squares_on_the_rows(by_class: bool) -> None:
    linear = opened(released(ROWS, by_class=by_class, noise_multiplier=1e-4)).predictor
    found = linear.probabilities(ROWS.codes)
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert np.abs(found - np.clip(least_squares(linear), 0, 1)).max() < 0.02


def test_noise_is_shrunk_instead_of_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = opened(released(ROWS, noise_multiplier=1e-4)).predictor.probabilities(ROWS.codes)

    def error() -> float:
        found = opened(released(ROWS, noise_multiplier=40.0)).predictor.probabilities(ROWS.codes)
        return float(np.sqrt(((found - exact) ** 2).mean()))

    shrunk = error()
    # private: without noise the predictor is compared to an exact one
    monkeypatch.setattr(predictor, "_deviation", lambda *_: 0.0)
    assert shrunk < 0.5 * error()


SMALL, COLUMNS, GROUPS = 400, 30, 3


def small_rows() -> np.ndarray:
    """(records, columns) codes of a small table: the target is place 0, and every other column depends on it."""
    rng = np.random.default_rng(3)
    target = rng.integers(0, 2, SMALL)
    drawn = rng.normal(size=(SMALL, COLUMNS)) + rng.normal(size=(SMALL, 1)) + 2.0 * target[:, None]
    return np.column_stack([target, np.digitize(drawn, [0.3, 1.7])])


def with_the_target(codes: np.ndarray, *, std: float, number: int) -> tuple[TableDomain, Estimates]:
    """Counts of every column and of every pair with the target, and no others."""
    rng, step, sizes = np.random.default_rng(number), 2.0**-6, (2, *[GROUPS] * COLUMNS)
    listed = []
    for columns in [
        *((place,) for place in range(COLUMNS + 1)),
        *((0, place + 1) for place in range(COLUMNS)),
    ]:
        table = np.zeros([sizes[place] for place in columns])
        np.add.at(table, tuple(codes[:, place] for place in columns), 1.0)
        cells = in_steps(table + rng.normal(0, std, table.shape), step)
        listed.append(CountTable(columns=columns, noise_std=std, cells=cells))
    named = [words(f"column {place}", *map(str, range(size))) for place, size in enumerate(sizes)]
    counts = ReleasedCounts(
        cardinalities=sizes, step=step, tables=tuple(listed), groups=tuple(map(np.arange, sizes))
    )
    return TableDomain.from_json(document(named, [], target="column 0")), Estimates(counts)


def test_noise_is_shrunk_where_only_pairs_with_the_target_are_counted() -> None:
    """A small table counts no others, and its noise is as large as its counts."""
    codes, areas, extremes = small_rows(), [], []
    for number in range(5):
        domain, estimates = with_the_target(codes, std=55.0, number=number)
        found = LinearPredictor.of(domain, estimates).probabilities(codes)[:, 1]
        above = found[codes[:, 0] == 1][:, None] > found[codes[:, 0] == 0]
        areas.append(above.mean())
        extremes.append(np.mean((found < 0.01) | (found > 0.99)))
    assert min(areas) > 0.8
    assert max(extremes) < 0.6


def test_the_target_of_the_rows_is_not_read() -> None:
    linear = opened(released(ROWS)).predictor
    other = ROWS.codes.copy()
    other[:, 2] = 1 - other[:, 2]
    assert (linear.probabilities(other) == linear.probabilities(ROWS.codes)).all()


def test_a_code_that_is_not_known_adds_what_its_column_adds_on_average() -> None:
    linear = opened(released(ROWS, noise_multiplier=1e-4)).predictor
    unknown = np.full_like(ROWS.codes[:1], predictor.UNKNOWN)
    assert linear.probabilities(unknown)[0] == pytest.approx(
        linear.probabilities(ROWS.codes).mean(axis=0), abs=0.02
    )


def test_what_cannot_be_predicted_is_refused_with_what_to_do() -> None:
    counts = released(ROWS)
    aimless = TableDomain.from_json(DOMAIN.to_json() | {"target": None})
    with pytest.raises(NotCounted, match="no target") as refused:
        LinearPredictor.of(aimless, Estimates(counts))
    assert refused.value.remedy
    columns_alone = dataclasses.replace(
        counts, tables=[one for one in counts.tables if len(one.columns) == 1]
    )
    with pytest.raises(NotCounted, match="with the target"):
        LinearPredictor.of(DOMAIN, Estimates(columns_alone))


def test_patterns_of_the_target_predict_nothing() -> None:
    named = [DAY_WITH_WEEKDAY, words("ward", "A", "B")]
    domain = TableDomain.from_json(document(named, [], target="day"))
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.integers(0, size, 1000) for size in domain.cardinalities])
    listed = []
    for columns in [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]:
        table = np.zeros([domain.cardinalities[place] for place in columns])
        np.add.at(table, tuple(codes[:, place] for place in columns), 1.0)
        listed.append(CountTable(columns=columns, noise_std=1.0, cells=in_steps(table, 1.0)))
    counts = ReleasedCounts(
        cardinalities=domain.cardinalities,
        step=1.0,
        tables=tuple(listed),
        groups=tuple(map(np.arange, domain.cardinalities)),
    )
    linear = LinearPredictor.of(domain, Estimates(counts))
    assert [domain.coded[column].name for column in linear.weights] == ["ward"]
