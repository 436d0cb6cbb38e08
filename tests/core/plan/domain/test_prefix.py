"""Categories of shortened texts: what a document may declare, and that every reader shortens alike."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.artifacts.private_models.rows import read_value
from core.plan.domain.cleaning.column import clean_column
from core.plan.domain.columns.prefixes import shortened
from core.plan.domain.errors import DomainInvalid
from core.plan.domain.table import CsvFormat, TableDomain
from tests.core.plan.domain.examples import table

DIAGNOSIS = {
    "name": "dx",
    "kind": "categorical",
    "categories": ["E11", "I10"],
    "other": True,
    "null": "category",
    "prefix": 3,
}
AREA = DIAGNOSIS | {"name": "postcode", "categories": ["LS", "M"], "prefix": "letters"}
LEARNT = DIAGNOSIS | {"categories": "learn"}


def cleaned(
    column: dict[str, Any], texts: list[str | None], csv: CsvFormat | None = None
) -> list[str | None]:
    found = clean_column(table(column).modelled[0], pa.array(texts, pa.string()), csv).values
    return found.to_pylist()


def test_a_text_counts_as_its_first_characters():
    texts = ["E11.9", "E119", "E11", "I10", "I1", "Z38.0", "other", None]
    assert cleaned(DIAGNOSIS, texts) == ["E11", "E11", "E11", "I10", "other", "other", "other", None]


def test_a_text_counts_as_the_letters_at_its_beginning():
    texts = ["LS6 2AB", "LS", "M27 5WJ", "ls6 2ab", "99 2AB", "", None]
    assert cleaned(AREA, texts) == ["LS", "LS", "M", "other", "other", "other", None]


def test_texts_are_shortened_before_their_categories_are_learnt():
    assert cleaned(LEARNT, ["E11.9", "Z38.01", None]) == ["E11", "Z38", None]
    assert cleaned(LEARNT | {"prefix": "letters"}, ["LS6 2AB", "1A"]) == ["LS", "1A"]


def test_missing_words_are_whole_texts_and_blanks_go_first():
    csv = CsvFormat(null_values=("unknown", "E11"), strip_spaces=True)
    assert cleaned(DIAGNOSIS, [" E11.9", "E11", "unknown"], csv) == ["E11", None, None]


def test_levels_of_a_dictionary_and_numbers_are_shortened_too():
    raw = pa.array(["E11.9", "I10.1", "E11.2"]).dictionary_encode()
    assert clean_column(table(DIAGNOSIS).modelled[0], raw).values.to_pylist() == ["E11", "I10", "E11"]
    place = {"name": "zip", "kind": "categorical", "categories": ["902", "100"], "prefix": 3}
    assert clean_column(table(place).modelled[0], pa.array([90210.0, 10001.0])).values.to_pylist() == [
        "902",
        "100",
    ]


@given(
    texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), min_size=1),
    prefix=st.sampled_from([1, 2, 5, "letters"]),
)
def test_arrow_and_the_script_of_a_model_shorten_alike(texts: list[str], prefix: Any):
    assert cleaned(LEARNT | {"prefix": prefix}, texts) == [shortened(text, prefix) for text in texts]


def test_the_script_of_a_model_looks_shortened_words_up():
    layout = {"strip_spaces": False, "null_values": [""], "decimal_mark": "."}
    column = {
        "kind": "label",
        "codes": {"E11": 0, "other": 1},
        "other": 1,
        "unknown": "other",
        "null": "category",
        "prefix": 3,
    }
    assert [read_value(column, text, layout)[0] for text in ("E11.9", "Z38")] == [0, 1]
    assert np.isnan(read_value(column, "", layout)[0])


@pytest.mark.parametrize("column", [DIAGNOSIS, AREA, LEARNT])
def test_the_document_keeps_the_prefix(column: dict[str, Any]):
    domain = table(column)
    again = TableDomain.from_json(json.loads(json.dumps(domain.to_json())))
    assert again == domain
    assert domain.to_json()["columns"][0]["prefix"] == column["prefix"]
    whole = {key: value for key, value in column.items() if key != "prefix"}
    assert "prefix" not in table(whole).to_json()["columns"][0], "documents without one are as they were"


@pytest.mark.parametrize(
    ("change", "problem", "place"),
    [
        ({"prefix": 0}, "bad-prefix", "/columns/0/prefix"),
        ({"prefix": True}, "bad-prefix", "/columns/0/prefix"),
        ({"prefix": 2.0}, "bad-prefix", "/columns/0/prefix"),
        ({"prefix": "letter"}, "bad-prefix", "/columns/0/prefix"),
        ({"prefix": 2}, "longer-than-prefix", "/columns/0/categories/0"),
        ({"prefix": "letters"}, "longer-than-prefix", "/columns/0/categories/0"),
        (
            {"kind": "ordinal", "levels": ["a"], "categories": None, "other": None},
            "unknown-key",
            "/columns/0/prefix",
        ),
    ],
)
def test_a_prefix_that_no_row_could_have_is_refused(change: dict[str, Any], problem: str, place: str):
    column = {key: value for key, value in (DIAGNOSIS | change).items() if value is not None}
    with pytest.raises(DomainInvalid) as caught:
        table(column)
    assert (caught.value.facts["problem"], caught.value.facts["pointer"]) == (problem, place)
