"""Words that have an order: bands, scales and numbered steps in five languages; and words that have none."""

import random

import pyarrow as pa
import pytest

from core.plan.domain.table import TableDomain
from tests.understudy.drafts.test_tables import column, confirmed
from understudy.drafts.changes import change
from understudy.drafts.levels import ordered
from understudy.drafts.marked_values import marks_of
from understudy.drafts.tables import NOTE, draft_frame


@pytest.mark.parametrize(
    "levels",
    [
        ["unter 18", "18 bis 39", "40 bis 64", "65 bis 79", "80 und älter"],
        ["bis 17", "18-39", "40-64", "ab 65"],
        ["bis 17", "18-64", "über 65"],
        ["0-17 Jahre", "18-64 Jahre", "80 Jahre und älter"],
        ["0-17", "18-64", "65 und mehr"],
        ["moins de 18 ans", "18 à 39 ans", "40 à 79 ans", "80 ans et plus"],
        ["menos de 18", "18 a 39", "40 a 64", "65 y más"],
        ["meno di 18", "da 18 a 39", "40-64", "65 e oltre"],
        ["18_24", "25_34", "35_44"],
        ["20s", "30s", "40s", "50s"],
        ["Stage 0", "Stage I", "Stage III", "Stage IV"],
        ["ASA 1", "ASA 2", "ASA 10"],
        ["IMD 1", "IMD 2", "IMD 10"],
        ["Quintile 1", "Quintile 2", "Quintile 5"],
        ["NYHA I", "NYHA II", "NYHA III"],
        ["Pflegegrad 1", "Pflegegrad 2", "Pflegegrad 3"],
        ["Low", "Middle", "High"],
        ["High school", "Some college", "Bachelor's", "Master's", "PhD"],
        ["<18", "18-24", "25 to 64", "65+"],
        ["< 1 000 €", "1 000 - 1 999 €", "2 000 - 2 999 €", "5 000 € et plus"],
        ["under 1\u00a0000", "1\u00a0000 to 1\u00a0999", "2\u00a0000+"],
        ["Strongly disagree", "Disagree", "Neither agree nor disagree", "Agree", "Strongly agree"],
        ["Very dissatisfied", "Dissatisfied", "Neutral", "Satisfied"],
        ["stimme nicht zu", "teils/teils", "stimme voll und ganz zu"],
        ["Pas du tout d'accord", "Plutôt d'accord", "Tout à fait d'accord"],
        ["muy en desacuerdo", "en desacuerdo", "de acuerdo"],
        ["[0,10)", "[10,20)", "[20,30]"],
    ],
    ids=lambda levels: levels[0],
)
def test_levels_are_put_in_order(levels: list[str]) -> None:
    for seed in range(5):
        assert ordered(random.Random(seed).sample(levels, len(levels))) == levels


@pytest.mark.parametrize(
    "words",
    [
        ["Ward 1", "Ward 2", "Ward 3"],
        ["A1", "A2", "A3"],
        ["C18_2", "C18_3", "C20_1"],
        ["20", "30", "40"],
        ["1980s", "rock", "pop"],
        ["Stage I", "Stage II", "done"],
        ["Stage 1", "Stage I", "Stage 2"],
        ["bis 17", "unter 17", "18-30"],
        ["Stage 1", "Grade 2", "Grade 3"],
        ["18-24", "25-34", "London"],
    ],
    ids=lambda words: words[0],
)
def test_other_words_have_no_order(words: list[str]) -> None:
    assert ordered(words) is None


def test_an_answer_on_no_scale_counts_as_missing_or_is_kept_without_an_order() -> None:
    asked = ["Agree", "Disagree", "Neutral", "Strongly agree", "Agree", "Don't know"] * 50
    drafted = draft_frame(pa.table({"trust": asked, "sex": ["f", "m"] * 150}))
    found = column(drafted, "trust")
    assert found["levels"] == ["Disagree", "Neutral", "Agree", "Strongly agree"]
    assert (found["unknown"], found["null"]) == ("null", "category")
    assert "On no scale, and taken as missing: “Don't know”." in found[NOTE]
    assert TableDomain.from_json(confirmed(drafted)).modelled[0].null_code == 4
    kind = next(mark for mark in marks_of(drafted) if mark.holder is found and mark.key == "kind")
    change(drafted, kind, "categorical")
    assert column(drafted, "trust")["categories"] == sorted(set(asked))


@pytest.mark.parametrize(
    "words", [["Don't know", "Agree", "London"], ["Don't know", "Yes", "No"], ["Don't know"] * 9 + ["Agree", "Disagree", "Neutral"]], ids=["other words", "yes and no", "mostly so"]
)  # fmt: skip
def test_beside_other_words_it_is_a_word(words: list[str]) -> None:
    found = column(draft_frame(pa.table({"trust": words * 30, "n": list(range(len(words) * 30))})), "trust")
    assert found["kind"] == "categorical"
    assert "Don't know" in found["categories"]
