"""Types of synthetic rows say what the domain declares, and nothing else of the rows that were fitted: no level, no digit, no missing value."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from understudy import Synthesizer
from understudy.local.rows.dtypes import FrameDtypes

ROWS = 600
LEVELS = ["low", "mid", "high", "in the care of Dr Canary"]


def words() -> list[str]:
    return [*np.random.default_rng(3).choice(LEVELS[:3], ROWS - 1).tolist(), LEVELS[3]]


def frame_of(kind: str) -> Any:
    numbers = np.random.default_rng(4).integers(0, 2, ROWS)
    if kind == "polars":
        return pl.DataFrame({"care": pl.Series(words(), dtype=pl.Enum(LEVELS)), "n": numbers})
    care = pd.Categorical(words(), categories=LEVELS, ordered=True)
    return pd.DataFrame({"care": care, "n": numbers})


@pytest.mark.parametrize("declared", ["ordinal", "categorical"])
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_level_that_the_owner_left_out_of_the_domain_is_in_no_type_of_the_rows(
    kind: str, declared: str, tmp_path: Path
) -> None:
    keys = {"ordinal": "levels", "categorical": "categories"}
    made = Synthesizer(
        dataset="care", cap=(4.0, 1e-5), options={"profile": "anchor"}, ledgers=tmp_path, progress=False
    )
    made.draft(frame_of(kind))
    care = {"kind": declared, keys[declared]: LEVELS[:3], "unknown": "null", "null": "category"}
    made.accept_draft(care=care).fit(frame_of(kind))
    rows = made.sample(40)

    if kind == "polars":
        assert rows.schema["care"] == pl.Enum(LEVELS[:3])
        assert "Canary" not in repr(rows.schema)
    else:
        assert list(rows["care"].cat.categories) == LEVELS[:3]
        assert rows["care"].cat.ordered
        assert (rows["care"].dropna() >= "low").all()
    for form in ("pandas", "polars", "arrow"):
        assert "Canary" not in repr(made.sample(40, form=form))


@pytest.mark.parametrize("longest", ["39.9", "123456789.123"])
def test_no_digit_of_a_long_decimal_is_in_the_type_or_the_values_of_the_rows(
    longest: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(5)
    fees = [Decimal(longest), *(Decimal(n) / 10 for n in rng.integers(0, 400, ROWS - 1).tolist())]
    frame = pd.DataFrame({"fee": fees, "n": rng.integers(0, 2, ROWS)})
    fee = {"kind": "numeric", "type": "real", "lower": 0, "upper": 40, "decimals": 1}
    made = Synthesizer(
        dataset="fees", cap=(4.0, 1e-5), options={"profile": "anchor"}, ledgers=tmp_path, progress=False
    )
    made.draft(frame)
    made.accept_draft(fee=fee).fit(frame)

    assert made.sample(5, form="arrow").schema.field("fee").type == pa.decimal128(38, 1)
    assert all(isinstance(one, Decimal) and one.as_tuple().exponent == -1 for one in made.sample(50)["fee"])


WHOLE = {"kind": "numeric", "type": "integer", "lower": 0, "upper": 40}
GRADE = {"kind": "categorical", "categories": ["1", "2", "3"]}
TRUTH = {"kind": "boolean"}


@pytest.mark.filterwarnings("ignore::understudy.local.rows.intake.RowsRefused")
@pytest.mark.parametrize("null", ["refuse", "category"])
def test_one_missing_value_is_in_no_type_of_the_rows(null: str, tmp_path: Path) -> None:
    """A missing value makes real numbers of whole ones in pandas, and objects of truth values."""
    rng = np.random.default_rng(6)
    full = pd.DataFrame(
        {
            "age": rng.integers(0, 41, ROWS),
            "grade": rng.integers(1, 4, ROWS),
            "sick": rng.integers(0, 2, ROWS) > 0,
            "n": rng.choice(["a", "b"], ROWS),
        }
    )
    gap = full.astype({"age": "float64", "grade": "float64", "sick": object})
    gap.loc[7, ["age", "grade", "sick"]] = None
    columns = {"age": WHOLE, "grade": GRADE, "sick": TRUTH}
    declared = [{"name": name, "null": null} | column for name, column in columns.items()]
    domain = {
        "schema": "understudy.domain/1", "declared_size": ROWS, "target": "grade", "privacy_unit": None,
        "columns": [*declared, {"name": "n", "kind": "categorical", "categories": ["a", "b"]}],
    }  # fmt: skip
    told = []
    for name, frame in (("full", full), ("gap", gap)):
        made = Synthesizer(
            dataset=name, cap=(4.0, 1e-5), domain=domain, options={"profile": "anchor"}, ledgers=tmp_path, progress=False
        )  # fmt: skip
        made.fit(frame)
        told.append(
            (
                made.sample(40).dtypes.to_dict(),
                made.sample(40, form="arrow").schema.remove_metadata(),
                made.sample(40, form="polars").schema,
                [type(one) for one in made.predictor().classes_],
            )
        )
    assert told[0] == told[1]
    assert told[0][0]["age"] == ("int64" if null == "refuse" else "float64")


INFERRED = {
    "numpy": lambda values: pd.DataFrame({"v": values}),
    "nullable": lambda values: pd.DataFrame({"v": values}).convert_dtypes(),
    "pyarrow": lambda values: pd.DataFrame({"v": values}).convert_dtypes(dtype_backend="pyarrow"),
    "levels": lambda values: pd.DataFrame({"v": pd.Series(values).astype("category")}),
    "ordered levels": lambda values: pd.DataFrame(
        {"v": pd.Categorical(pd.Series(values).dropna().to_numpy(), ordered=True)}
    ),
    "polars": lambda values: pl.DataFrame({"v": values}, strict=False),
    "arrow": lambda values: pa.table({"v": pa.array(pd.Series(values), from_pandas=True)}),
}
"""Readers that infer the type of numbers."""


@pytest.mark.parametrize("odd", [None, 2.5, 2**63])
@pytest.mark.parametrize("column", [WHOLE, GRADE, {**WHOLE, "type": "real"}], ids=["whole", "words", "real"])
@pytest.mark.parametrize("null", ["refuse", "category"])
@pytest.mark.parametrize("read", INFERRED)
def test_one_odd_number_is_in_no_type_of_the_rows(
    read: str, odd: object, column: dict[str, Any], null: str
) -> None:
    declared = {"name": "v", "null": null} | column
    ages: list[object] = [1, 2, 3] * 20
    told = [FrameDtypes.of(INFERRED[read](values), [declared]) for values in (ages, [odd, *ages[1:]])]
    assert told[0] == told[1]


@pytest.mark.parametrize("read", INFERRED)
def test_words_that_are_whole_numbers_come_back_as_whole_numbers(read: str) -> None:
    declared = {"name": "v", "null": "refuse"} | GRADE
    told = FrameDtypes.of(INFERRED[read]([1, 2, 3] * 20), [declared])
    words = pa.table({"v": pa.DictionaryArray.from_arrays([0, 2, 1], ["1", "2", "3"])})
    assert told.given_back(words).column("v").to_pylist() == [1, 3, 2]
    assert told.kind_of("v") == pa.int64()
