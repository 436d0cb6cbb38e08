"""Hostile numbers on the command line and in the settings are refused before anything is done with them."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError
from typer.testing import CliRunner

from core.platform.settings import Settings
from tests.conftest import checked_settings
from tests.contracts.numbers import is_finite_number
from understudy.cli import app

TEXTS = (
    "nan",
    "inf",
    "-inf",
    "-1",
    "-0.0",
    "1e308",
    "1e400",
    "-1e400",
    "1" + "0" * 400,
    "true",
    "",
    "1e-400",
    "5e-324",
)
# Each as it is really written, but for the number; nothing is connected to.
COMMANDS = (
    ("publish", "rows.csv", "--domain", "d.json", "--epsilon", "1", "--delta", "1e-6", "--out", "out", "--rows", "9",
     "--declared-size", "9", "--budget-epsilon", "2", "--budget-delta", "1e-5"),
    ("demo", "--rows", "1000", "--epsilon", "1", "--delta", "1e-6"),
)  # fmt: skip
NUMBERS = {"--epsilon", "--delta", "--rows", "--declared-size", "--budget-epsilon", "--budget-delta"}


def hostile_commands() -> Iterator[Any]:
    for words in COMMANDS:
        for place, word in enumerate(words):
            if word in NUMBERS:
                for text in TEXTS:
                    yield pytest.param(
                        [*words[: place + 1], text, *words[place + 2 :]],
                        word,
                        id=f"{words[0]}{word}={text[:9]}",
                    )


@pytest.mark.parametrize(("words", "option"), list(hostile_commands()))
def test_the_command_refuses_the_number_by_the_name_of_its_option(words: list[str], option: str) -> None:
    finished = CliRunner().invoke(app, words)
    assert finished.exit_code == 2, finished.output
    plain = re.sub(r"\x1b\[[0-9;]*m", "", finished.output)
    assert option in plain
    assert "Traceback" not in plain


def numeric_settings() -> list[str]:
    found = []
    for name, schema in Settings.model_json_schema()["properties"].items():
        kinds = {part.get("type") for part in (schema, *schema.get("anyOf", ()))}
        if kinds & {"number", "integer"}:
            found.append(name)
    assert len(found) > 20
    return found


@pytest.mark.parametrize("name", numeric_settings())
def test_a_setting_is_finite_and_in_its_range(name: str) -> None:
    plain = checked_settings().model_dump()
    for text in ("nan", "inf", "-inf", "-1", "1e308", "1e400", "1" + "0" * 400, "true", ""):
        try:
            made = Settings.model_validate(plain | {name: text})
        except ValidationError as refusal:
            places = {part["loc"] for part in refusal.errors()}
            if not places <= {(name,), ()}:
                pytest.fail(f"{text} was refused at {places}")
        else:
            assert is_finite_number(getattr(made, name)), text
            assert 0 <= getattr(made, name) < 2**63, text
