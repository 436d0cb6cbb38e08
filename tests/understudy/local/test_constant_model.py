"""A private model that answers one class to every row says so: as a warning, in its certificate and in its README."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy.local import (
    ConstantModel,
    DoubtfulOptions,
    FittedClassifier,
    fit_classifier,
    read_account,
    set_cap,
)
from understudy.verifying.verification import Outcome, verify_bundle

DOMAIN: dict[str, Any] = {
    "schema": "understudy.domain/1",
    "privacy_unit": None,
    "target": "ill",
    "columns": [
        {"name": "age", "kind": "numeric", "type": "integer", "lower": 18, "upper": 90},
        {"name": "sex", "kind": "categorical", "categories": ["f", "m"]},
        {"name": "score", "kind": "numeric", "type": "real", "lower": -3, "upper": 3},
        {"name": "ill", "kind": "categorical", "categories": ["no", "yes"]},
    ],
}


def rows(count: int = 1500) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age, score = rng.integers(18, 90, count), np.round(rng.normal(0, 1, count).clip(-3, 3), 2)
    sex = rng.choice(["f", "m"], count)
    signal = (age - 55) / 15 + score + (sex == "m") * 0.5 + rng.logistic(0, 0.7, count)
    return pd.DataFrame({"age": age, "sex": sex, "score": score, "ill": np.where(signal > -1.8, "yes", "no")})


def fitted(folder: Path, **options: Any) -> FittedClassifier:
    set_cap("wards", epsilon=20.0, delta=1e-2, ledgers=folder)
    return fit_classifier(
        rows(), DOMAIN, (2.0, 1e-6), dataset="wards", declared_size=1500, options=options, ledgers=folder
    )


def test_a_model_that_answers_one_class_to_all_rows_says_so(tmp_path: Path) -> None:
    with (
        pytest.warns(DoubtfulOptions, match="Nothing is charged yet"),
        pytest.warns(
            ConstantModel,
            match=r"The model answers 'yes' to 4,0\d\d of 4,096 inputs drawn from the declared domain",
        ),
    ):
        made = fitted(tmp_path, network="mlp")
    assert (made.predict(rows()) == "yes").mean() > 0.99
    check = made.certificate["model_check"]
    assert (check["draws"], check["answer"], check["constant"]) == (4096, "yes", True)
    bundle = made.save(tmp_path / "bundle.zip")
    with zipfile.ZipFile(bundle) as archive:
        assert "**The model answers 'yes' to 4,0" in archive.read("README.md").decode()
    report = verify_bundle(bundle, allow_unsigned=True)
    assert report.outcome is Outcome.VERIFIED, report.refusals
    (said,) = [one.detail for one in report.checks if one.name == "answers"]
    assert said.startswith("CONSTANT: the commonest answer to 4096 inputs")


@pytest.mark.filterwarnings("error")
def test_a_caution_made_an_error_costs_nothing(tmp_path: Path) -> None:
    with pytest.raises(DoubtfulOptions, match="mlp on plain features"):
        fitted(tmp_path, network="mlp")
    assert read_account("wards", ledgers=tmp_path).jobs == {}


@pytest.mark.filterwarnings("error")
def test_a_model_by_the_rules_is_not_constant(tmp_path: Path) -> None:
    made = fitted(tmp_path)
    check = made.certificate["model_check"]
    assert not check["constant"]
    assert check["share"] >= 0.5


IMAGES: dict[str, Any] = {
    "schema": "understudy.images/1", "height": 12, "width": 12, "channels": 1, "labels": ["dark", "light"], "privacy_unit": None, "declared_size": 400,
}  # fmt: skip


def fitted_of_images(folder: Path, epsilon: float, dark: int, **options: Any) -> FittedClassifier:
    """Every so manyth image is dark."""
    labels = np.arange(400) % dark > 0
    pixels = np.random.default_rng(3).integers(0, 100, (400, 12, 12)) + 150 * labels[:, None, None]
    set_cap("wards", epsilon=20.0, delta=1e-2, ledgers=folder)
    return fit_classifier(
        pixels.astype(np.uint8),
        IMAGES,
        (epsilon, 1e-6),
        dataset="wards",
        labels=["light" if one else "dark" for one in labels],
        options=options,
        ledgers=folder,
    )


def test_a_model_of_images_that_answers_one_class_says_so(tmp_path: Path) -> None:
    with pytest.warns(ConstantModel, match=r"The model answers 'light' to 4,096 of 4,096 inputs drawn"):
        made = fitted_of_images(tmp_path, 1.0, dark=16, network="mlp")
    check = made.certificate["model_check"]
    assert (check["draws"], check["answer"], check["constant"]) == (4096, "light", True)
    assert "WARNING: The model answers 'light' to 4,096 of 4,096 inputs" in " ".join(repr(made).split())
    bundle = made.save(tmp_path / "bundle.zip")
    with zipfile.ZipFile(bundle) as archive:
        assert "**The model answers 'light' to 4,096 of 4,096 inputs" in archive.read("README.md").decode()
    report = verify_bundle(bundle, allow_unsigned=True)
    assert report.outcome is Outcome.VERIFIED, report.refusals
    (said,) = [one.detail for one in report.checks if one.name == "answers"]
    assert said.startswith("CONSTANT: the commonest answer to 4096 inputs")


@pytest.mark.filterwarnings("error")
@pytest.mark.long
def test_a_model_of_images_by_the_rules_is_not_constant(tmp_path: Path) -> None:
    check = fitted_of_images(tmp_path, 8.0, dark=2).certificate["model_check"]
    assert not check["constant"]
