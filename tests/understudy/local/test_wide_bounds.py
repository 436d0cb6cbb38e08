"""The owner hears of bounds that are far too wide before a training is paid for."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from understudy.local import BoundsTooWide, fit, fit_classifier, read_account, set_cap
from understudy.verifying.verification import Outcome, verify_bundle

ROWS = pa.table(
    {
        "ward": np.random.default_rng(3).choice(["A", "B"], 400),
        "height": np.random.default_rng(4).normal(170, 10, 400).round(1),
    }
)


def domain(**height: Any) -> dict[str, Any]:
    column = {"name": "height", "kind": "numeric", "type": "real", "decimals": 1} | height
    words = {"name": "ward", "kind": "categorical", "categories": ["A", "B"]}
    return {
        "schema": "understudy.domain/1",
        "target": "ward",
        "privacy_unit": None,
        "columns": [words, column],
    }


@pytest.mark.parametrize(
    ("train", "bins"), [(fit, {"bins": 32}), (fit_classifier, {})], ids=["fit", "classifier"]
)
def test_bounds_far_wider_than_the_values_are_warned_of_before_the_charge(
    tmp_path: Path, train: Any, bins: dict[str, Any]
) -> None:
    set_cap("people", epsilon=1.0, delta=2e-6, ledgers=tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", BoundsTooWide)
        with pytest.raises(BoundsTooWide, match="spread evenly: height") as told:
            train(
                ROWS, domain(lower=-1e6, upper=1e6, **bins), (1.0, 1e-6), dataset="people", declared_size=400, ledgers=tmp_path
            )  # fmt: skip
    assert "170" not in str(told.value)
    assert read_account("people", ledgers=tmp_path).jobs == {}


@pytest.mark.parametrize(
    "declared",
    [
        {"lower": 120, "upper": 220},
        {"lower": -1e6, "upper": 1e6, "bins": "learn"},
        {"lower": -1e6, "upper": 1e6},
    ],
    ids=["narrow", "learnt", "checked"],
)
def test_bounds_that_fit_and_bins_that_are_learnt_or_checked_are_not_warned_of(
    tmp_path: Path, declared: dict[str, Any]
) -> None:
    set_cap("people", epsilon=2.0, delta=2e-6, ledgers=tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", BoundsTooWide)
        made = fit(
            ROWS, domain(**declared), (2.0, 1e-6), dataset="people", declared_size=400, ledgers=tmp_path
        )
    assert len(made.sample(5)) == 5


def test_a_column_with_bounds_far_wider_than_its_values_is_published_as_it_is(tmp_path: Path) -> None:
    rows = pa.table(
        {"ward": ["A", "B"] * 1500, "height": np.random.default_rng(4).normal(170, 10, 3000).round(1)}
    )
    set_cap("people", epsilon=1.0, delta=2e-6, ledgers=tmp_path)
    made = fit(
        rows,
        domain(lower=-1e6, upper=1e7),
        (1.0, 1e-6),
        dataset="people",
        declared_size=3000,
        ledgers=tmp_path,
    )
    drawn = made.sample(3000, form="arrow")["height"].to_numpy()
    # Under 300 keys quartiles were at most .7 away, and the first and the last tenth at most 1.8; their standard deviation is 10.
    for share, most in ((0.1, 5), (0.25, 2), (0.5, 2), (0.75, 2), (0.9, 5)):
        assert abs(np.quantile(drawn, share) - np.quantile(rows["height"], share)) < most
    assert [one["learns"] for one in made.certificate["plan"]["learning"]["releases"]] == ["crowded"]
    report = verify_bundle(made.save(tmp_path / "bundle.zip"), allow_unsigned=True)
    assert report.outcome is Outcome.VERIFIED, report.lines()
    assert not any("evenly" in note for note in made.noise_notes)
