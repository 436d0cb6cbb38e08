"""What other programs expect of the front door: scikit-learn's tags, a version, refusals before work is done, warnings at the caller's line."""

import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.utils import get_tags

import understudy
from tests.understudy.local.test_fitting import SMALL
from tests.understudy.local.test_synthesizer import made, table
from understudy import InputUnusable, InvalidInput, Synthesizer
from understudy.local import RowsRefused

pytestmark = pytest.mark.filterwarnings("ignore::understudy.errors.HiddenByNoise")


def accepted(ledgers: Path, **more: Any) -> Synthesizer:
    found = made(ledgers, **more)
    found.draft(table())
    return found.accept_draft()


def test_a_grid_search_trains_and_compares(tmp_path: Path) -> None:
    found = Synthesizer(
        dataset="wards",
        cap=(9.0, 1e-4),
        options=SMALL,
        ledgers=tmp_path,
        progress=False,
        domain=accepted(tmp_path).domain_,
    )
    search = GridSearchCV(
        found, {"epsilon": [0.5, 1.0]}, cv=2, scoring=lambda model, rows: model.epsilon, error_score="raise"
    )
    search.fit(table().to_pandas())
    assert search.best_params_ == {"epsilon": 1.0}
    assert len(search.best_estimator_.sample(5)) == 5
    tags = get_tags(found)
    assert (tags.requires_fit, tags.target_tags.required, tags.input_tags.allow_nan) == (True, False, True)


def test_the_package_has_its_version() -> None:
    assert understudy.__version__ == version("understudy")
    assert "__version__" in dir(understudy)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"epsilon": -1}, "epsilon must be a finite number"),
        ({"epsilon": "1"}, "epsilon of the guarantee must be a number"),
        ({"epsilon": None}, "epsilon of the guarantee must be a number"),
        ({"delta": 0}, "delta must be at least"),
        ({"cap": 4.0}, "cap is a pair of numbers"),
        ({"dataset": 5}, "a dataset's name has 1 to 100 letters"),
        ({"dataset": "../wards"}, "a dataset's name has 1 to 100 letters"),
    ],
)
def test_a_wrong_guarantee_or_name_is_refused_before_anybody_reads_a_draft(
    wrong: dict[str, Any], said: str
) -> None:
    found = Synthesizer(dataset="wards").set_params(**wrong)
    for call in (found.draft, found.fit):
        with pytest.raises((InputUnusable, InvalidInput), match=said):
            call(table())
    assert not hasattr(found, "draft_")


def test_a_missing_folder_is_named_and_no_temporary_file(tmp_path: Path) -> None:
    found = accepted(tmp_path).fit(table())
    with pytest.raises(InputUnusable, match=re.escape(f"there is no folder {tmp_path / 'none'}")) as refused:
        found.save(tmp_path / "none" / "wards.zip")
    assert ".part" not in str(refused.value)
    assert found.save(tmp_path / "wards.zip").is_file()


def test_a_warning_points_at_the_line_that_calls(tmp_path: Path) -> None:
    found = accepted(tmp_path, max_refused=0.5)
    rows = pd.concat([table().to_pandas(), table().to_pandas().head(20).assign(ward="unheard of")])
    with pytest.warns(RowsRefused) as told:
        found.fit(rows)
    assert told[0].filename == __file__
