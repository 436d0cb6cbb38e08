"""docs/domain.md is the reference of the domain document: its example parses and it names everything there is."""

import json
import re
import typing
from pathlib import Path

import pytest

from core.domain import TableDomain
from core.domain.cleaned import Change, Refusal
from core.domain.images import ImageDomain
from core.errors import UnderstudyError
from core.storage import errors, image_archive, image_child, image_decoder, image_rows
from tests.core.domain.examples import EVERY_KIND

PAGE = (Path(__file__).parents[3] / "docs" / "domain.md").read_text()
IMAGES = (Path(__file__).parents[3] / "docs" / "images.md").read_text()
EXAMPLES = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_are_valid_domains(text: str):
    domain = TableDomain.from_json(json.loads(text))
    assert TableDomain.from_json(domain.to_json()) == domain


def test_there_is_an_example_with_every_kind():
    kinds = {column.kind for column in TableDomain.from_json(json.loads(EXAMPLES[0])).columns}
    assert kinds == {column["kind"] for column in EVERY_KIND["columns"]}  # type: ignore[attr-defined]


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
