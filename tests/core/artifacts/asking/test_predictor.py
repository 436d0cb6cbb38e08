"""The linear predictor of a target: without noise it is least squares on the rows, and noise is shrunk."""

import dataclasses

import numpy as np
import pytest

from core.artifacts.asking import predictor
from core.artifacts.asking.errors import NotCounted
from core.artifacts.asking.estimates import Estimates
from core.artifacts.asking.predictor import LinearPredictor
from core.plan.domain.table import TableDomain
from tests.core.artifacts.asking.tabled import DOMAIN, opened, released, table

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
    monkeypatch.setattr(predictor, "_deviation", lambda *_: 0.0)
    assert shrunk < 0.5 * error()


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
