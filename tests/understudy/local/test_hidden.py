"""A rare class that the noise hides, and a column of which few words could be learnt, are told of wherever rows are made."""

import re
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tests.core.plan.domain.ruled import document, number, words
from tests.understudy.local.test_fitting import SMALL
from understudy.cli import app
from understudy.drafts.display import WIDTH
from understudy.errors import HiddenByNoise
from understudy.local import Fitted, fit, set_cap

ROWS = 1000
_HIDDEN = "such (a value|values) of 'fraud'"
"""By chance the noise hides the pairs of a class alone, and not its count."""


def frame(*, rare: int) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "amount": rng.integers(0, 10, ROWS),
            "city": [f"city {place}" for place in rng.integers(0, 200, ROWS)],
            "fraud": (np.arange(ROWS) < rare).astype(int),
        }
    )


def fitted(folder: Path, *, rare: int, city: dict[str, Any]) -> Fitted:
    set_cap("cards", epsilon=4.0, delta=1e-4, ledgers=folder)
    declared = document([number("amount", 0, 9), city, words("fraud", "0", "1")], [], target="fraud")
    return fit(
        frame(rare=rare), declared, (1.0, 1e-5), dataset="cards", declared_size=ROWS, options=SMALL, ledgers=folder
    )  # fmt: skip


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> Fitted:
    ignored = {"name": "city", "kind": "ignored"}
    for _ in range(4):  # in one training of forty the noise lifts the class out of the noise
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = fitted(tmp_path_factory.mktemp("rare"), rare=1, city=ignored)
        if any(
            issubclass(one.category, HiddenByNoise) and "hides '1', the smallest class" in str(one.message)
            for one in told
        ):
            return found
    pytest.fail("nobody was told that the noise hides a class of one row")


def test_a_condition_on_a_hidden_class_warns_once(hidden: Fitted) -> None:
    with pytest.warns(HiddenByNoise, match=f"{_HIDDEN}.*cannot be distinguished from (zero|noise)") as told:
        assert len(hidden.sample(20, where={"fraud": "1"})) == 20
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hidden.sample(20, where={"fraud": "0"})
        hidden.sample(20, where={"amount": (2, 5)})
        hidden.sample(20)


def test_the_release_says_so_at_its_top_and_in_its_repr(hidden: Fitted, tmp_path: Path) -> None:
    shown = repr(hidden)
    assert "hidden by noise: The noise hides '1'" in shown
    assert "., " not in shown, "each fact has lines of its own"
    assert max(map(len, shown.splitlines())) <= WIDTH
    with zipfile.ZipFile(hidden.save(tmp_path / "bundle.zip")) as archive:
        lines = archive.read("README.md").decode().splitlines()
    assert lines[2].startswith("> The noise hides '1', the smallest class of the target.")


def test_the_command_warns_too(hidden: Fitted, tmp_path: Path) -> None:
    bundle = hidden.save(tmp_path / "bundle.zip")

    def said(wanted: str) -> str:
        words = ["sample", "--bundle", bundle, "--rows", 5, "--where", wanted, "--out", tmp_path / "rows.csv"]
        done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return " ".join(done.output.split())

    assert re.search(f"WARNING: .*{_HIDDEN}", said("fraud=1"))
    assert "WARNING" not in said("fraud=0")


def test_a_column_of_which_few_words_were_learnt_is_reported(tmp_path: Path) -> None:
    city = {"name": "city", "kind": "categorical", "categories": "learn", "most": 20}
    with pytest.warns(HiddenByNoise, match=r"0 words of 'city' could be learnt; about \d+ % of the records"):
        made = fitted(tmp_path, rare=400, city=city)
    assert "0 words of 'city'" in repr(made)


def test_what_is_not_hidden_is_not_reported(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = fitted(tmp_path, rare=400, city={"name": "city", "kind": "ignored"})
    assert made.noise_notes == ()
    assert "hidden" not in repr(made)
