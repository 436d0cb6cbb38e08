"""Classes as a column of the target holds them, so that answers can be compared with it."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from core.artifacts.private_models.script import class_names
from core.plan.domain.table import TableDomain
from tests.core.plan.domain.ruled import document, flag, number, real, words
from tests.understudy.local.test_fitting import SMALL
from understudy import Synthesizer
from understudy.local import fit_classifier, set_cap
from understudy.local.sampling.predicting import classes_of


def domain(target: dict[str, Any]) -> TableDomain:
    return TableDomain.from_json(document([number("age"), target], [], target="y"))


@pytest.mark.parametrize(
    ("target", "names", "values"),
    [
        (number("y", 0, 2), ["0", "1", "2"], [0, 1, 2]),
        (number("y", 1, 3, specials=[-9], null="category"), ["-9", "1", "2", "3", "missing"], [-9, 1, 2, 3, None]),
        (number("y", 0, 9, edges=[0, 5, 9]), ["0 to 4", "5 to 9"], ["0 to 4", "5 to 9"]),
        (real("y", 0, 0.2, decimals=1), ["0", "0.1", "0.2"], [0.0, 0.1, 0.2]),
        (flag("y"), ["false", "true"], [False, True]),
        (flag("y", true="yes", false="no"), ["no", "yes"], ["no", "yes"]),
        (words("y", "0", "1", null="category"), ["0", "1", "missing"], ["0", "1", None]),
    ],
    ids=["whole", "specials", "ranges", "decimals", "truth", "boolean words", "words"],
)  # fmt: skip
def test_a_class_is_what_a_column_of_the_target_holds(
    target: dict[str, Any], names: list[str], values: list[Any]
) -> None:
    declared = domain(target)
    assert class_names(declared) == names
    found = classes_of(declared)
    assert found.tolist() == values
    assert {type(value) for value in found.tolist()} == {type(value) for value in values}


def test_words_that_are_numbers_have_the_type_of_the_frame() -> None:
    declared = domain(words("y", "0", "1", null="category"))
    assert classes_of(declared, pa.int8()).tolist() == [0, 1, None]
    assert classes_of(declared, pa.string()).tolist() == ["0", "1", None]
    assert classes_of(domain(words("y", "007", "008")), pa.int64()).tolist() == ["007", "008"]


def rows(count: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    target = rng.integers(0, 2, count)
    return pd.DataFrame(
        {
            "ward": np.where(rng.random(count) < 0.8, target, 1 - target),
            "grade": rng.integers(1, 4, count),
            "died": target.astype(np.int8),
        }
    )


def test_a_synthesizer_predicts_in_the_type_of_the_target(tmp_path: Path) -> None:
    frame = rows()
    made = Synthesizer(
        epsilon=4.0, dataset="a", cap=(8.0, 1e-4), options=SMALL, ledgers=tmp_path, progress=False
    )
    made.draft(frame)
    made.accept_draft(target="died").fit(frame)
    predictor = made.predictor()
    assert predictor.classes_.tolist() == [0, 1]
    assert np.mean(predictor.predict(frame) == frame["died"]) > 0.7
    assert predictor.predict_proba(frame).shape == (len(frame), 2)
    assert repr(predictor).startswith("Predictor(target: died, classes: 0, 1, ")


@pytest.mark.filterwarnings("ignore::understudy.local.training.classifying.DoubtfulOptions")
@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_a_classifier_predicts_in_the_type_of_the_target(tmp_path: Path, library: str) -> None:
    frame = rows()
    given = {"pandas": frame, "polars": pl.from_pandas(frame), "arrow": pa.Table.from_pandas(frame)}[library]
    declared = document(
        [words("ward", "0", "1"), number("grade", 1, 3), words("died", "0", "1")], [], target="died"
    )
    set_cap("a", epsilon=8.0, delta=1e-4, ledgers=tmp_path)
    fitted = fit_classifier(
        given,
        declared,
        (8.0, 1e-5),
        dataset="a",
        declared_size=600,
        options={"steps": 20},
        ledgers=tmp_path,
    )
    assert fitted.classes_.tolist() == [0, 1]
    assert set(np.unique(fitted.predict(given) == frame["died"].to_numpy())) <= {False, True}
    assert fitted.predict(given).dtype.kind == "i"
    told = repr(fitted)
    assert "epsilon 8, delta 1e-05" in told
    assert "target: died\n" in told
    assert "classes: 0, 1\n" in told
    assert "<td>linear, 20 noisy steps</td>" in fitted._repr_html_()
