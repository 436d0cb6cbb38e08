"""Words that have an order: bands, scales and numbered steps in five languages; and words that have none."""

import random

import pytest

from understudy.drafts.levels import ordered


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
        ["NYHA I", "NYHA II", "NYHA III"],
        ["Pflegegrad 1", "Pflegegrad 2", "Pflegegrad 3"],
        ["Low", "Middle", "High"],
        ["High school", "Some college", "Bachelor's", "Master's", "PhD"],
        ["<18", "18-24", "25 to 64", "65+"],
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
