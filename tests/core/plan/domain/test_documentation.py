"""docs/domain.md is the reference of the domain document: its example parses and it names everything there is."""

import json
import re
import typing
from pathlib import Path

import pytest

from core.artifacts.asking.rules_check import CODE, FALSE_ALARM, SIGNIFICANT, significant
from core.data import errors
from core.data.intake import image_archive, image_child, image_decoder, image_rows
from core.errors import UnderstudyError
from core.plan.domain.cleaning.cleaned import Change, Refusal
from core.plan.domain.codec import batch_of
from core.plan.domain.images import ImageDomain
from core.plan.domain.rules.keeping import PASSES, REDRAWS
from core.plan.domain.rules.kinds import MAXIMUM_CELLS
from core.plan.domain.rules.mending import KINDS
from core.plan.domain.rules.reading import MAXIMUM_RULES
from core.plan.domain.table import TableDomain
from tests.core.plan.domain.examples import EVERY_KIND
from tests.core.plan.domain.ruled import broken
from tests.core.plan.domain.test_keeping import drawn

PAGE = (Path(__file__).parents[4] / "docs" / "domain.md").read_text()
IMAGES = (Path(__file__).parents[4] / "docs" / "images.md").read_text()
EXAMPLES = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_are_valid_domains(text: str):
    domain = TableDomain.from_json(json.loads(text))
    assert TableDomain.from_json(domain.to_json()) == domain


def test_there_is_an_example_with_every_kind():
    kinds = {column.kind for column in TableDomain.from_json(json.loads(EXAMPLES[0])).columns}
    assert kinds == {column["kind"] for column in EVERY_KIND["columns"]}  # type: ignore[attr-defined]


def test_there_is_an_example_with_every_kind_of_rule_and_rows_of_it_keep_them():
    (found,) = (json.loads(text) for text in EXAMPLES if '"rules"' in text)
    assert sorted(rule["kind"] for rule in found["rules"]) == sorted(KINDS)
    assert all(f"| `{kind}` |" in PAGE for kind in KINDS)
    domain = TableDomain.from_json(found)
    rows = batch_of(domain, drawn(domain, 3000, 1)).to_pylist()
    assert [row for row in rows if broken(found, row)] == []
    for place in range(len(found["rules"])):
        alone = found | {"rules": found["rules"][:place] + found["rules"][place + 1 :]}
        others = TableDomain.from_json(alone)
        loose = batch_of(others, drawn(others, 3000, 1)).to_pylist()
        assert any(place in broken(found, row) for row in loose), "the rule says something"


def test_what_the_page_says_of_rules_is_so():
    section = PAGE.split("## Rules between columns\n")[1].split("\n## ")[0]
    order = section.split("in this order:")[1].split(", and again")[0]
    assert re.findall(r"`(\w+)`", order) == list(KINDS)
    assert (REDRAWS, PASSES, MAXIMUM_RULES, SIGNIFICANT) == (8, 16, 128, 4)
    assert f"{MAXIMUM_CELLS:,}" in section
    assert FALSE_ALARM == 1 / 1000, "one of a thousand releases"
    assert significant(31) == SIGNIFICANT < significant(32)
    assert f"{significant(1000):.2f}" in section
    assert CODE in section
    for words in (
        "at most eight times",
        "at most 16 times",
        "more than 128",
        "four standard deviations",
        "one of a thousand",
    ):
        assert words in section


def keys(value: object) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*(keys(item) for item in value.values()))
    return set().union(*(keys(item) for item in value)) if isinstance(value, list) else set()


def test_every_key_is_documented():
    written = keys(TableDomain.from_json(EVERY_KIND).to_json()) | {"edges", "format", "bins", "fraction"}
    assert [key for key in sorted(written) if f"`{key}`" not in PAGE and f'"{key}"' not in PAGE] == []


def test_every_kind_of_refusal_and_change_is_documented():
    words = [*typing.get_args(Refusal), *typing.get_args(Change)]
    assert [word for word in words if f"`{word}`" not in PAGE] == []


def test_every_upload_error_is_documented():
    codes = {
        error.code
        for error in vars(errors).values()
        if isinstance(error, type)
        and issubclass(error, UnderstudyError)
        and error.__module__ == errors.__name__
    } - {"seal-broken", "object-missing"}
    assert [code for code in sorted(codes) if f"`{code}`" not in PAGE + IMAGES] == []


def test_the_example_of_images_is_valid_and_has_every_key():
    (example,) = re.findall(r"```json\n(.*?)```", IMAGES, re.DOTALL)
    domain = ImageDomain.from_json(json.loads(example))
    assert domain.to_json() == json.loads(example)
    assert [key for key in domain.to_json() if f"`{key}`" not in IMAGES] == []


def test_every_refusal_of_an_image_is_documented():
    """The words are told by the decoder, or stand in the source of the two modules that refuse rows."""
    words = set(image_child.ANSWERS) - {"taken"}
    for module in (image_archive, image_rows, image_decoder):
        words |= set(re.findall(r'"([a-z]+(?:-[a-z]+)+)"', Path(module.__file__).read_text()))
    assert words >= {"rotated", "not-listed", "unit-too-long", "decoding-limit"}
    assert [word for word in sorted(words) if f"`{word}`" not in IMAGES] == []
