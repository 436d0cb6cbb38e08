"""Drawing under a condition, through the API."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Response
from rich.console import Console

from tests.service.test_obtaining import wired
from tests.service.world import World, require_problem
from understudy.cli.sample import sample_online
from understudy.cli.screen import TerminalScreen
from understudy.errors import InvalidInput


@pytest.fixture(scope="module")
def samples(shared_world: World) -> Callable[..., Response]:
    """Draws from a release, which drawing does not change."""
    return partial(shared_world.analyst.get, f"/v1/releases/{shared_world.release()}/samples")


def test_columns_are_fixed_in_the_rows_that_are_drawn(samples: Callable[..., Response]) -> None:
    answer = samples(params={"rows": 30, "format": "jsonl", "where": '{"sick": "no", "ward": "A"}'})
    rows = [json.loads(line) for line in answer.text.splitlines()]
    assert len(rows) == 30
    assert {(row["sick"], row["ward"]) for row in rows} == {("no", "A")}


@pytest.mark.parametrize(
    "where",
    [
        "sick=no",
        "[]",
        '{"sick": "maybe"}',
        '{"x": 1}',
        "[" * 5000,
        '{"\\ud800": 1}',
        '{"sick": "\\u0000"}',
        '{"sick": "no", "sick": "yes"}',
    ],
    ids=range(8),
)
def test_a_condition_that_cannot_be_met_is_named_as_such(
    samples: Callable[..., Response], where: str
) -> None:
    require_problem(samples(params={"where": where}), status=422, code="invalid-condition")


def test_the_command_says_what_a_condition_fixes_and_explains_refusals_in_its_own_form(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release_id = world.release()

    def draw(where: dict[str, object]) -> None:
        screen = TerminalScreen(Console(quiet=True))
        with wired(world, analyst=world.analyst).client("analyst") as client:
            sample_online(
                client, release_id, tmp_path / "rows.csv", 5, "csv", where, screen, spreadsheet_safe=False
            )

    draw({"age": 61, "sick": "yes"})
    assert capsys.readouterr().err.splitlines()[-1:] == [
        "age=61 fixes its bin: each row has a value drawn within it."
    ]
    with pytest.raises(InvalidInput, match=r"cannot have this value.* such as --where sick=yes") as refused:
        draw({"ward": "nowhere"})
    assert refused.value.code == "invalid-condition"
    assert "{" not in str(refused.value)


@pytest.mark.parametrize(
    ("where", "meets"),
    [
        ({"ward": ["A", "Ü"]}, lambda row: row["ward"] in {"A", "Ü"}),
        ({"age": {"above": 61}}, lambda row: row["age"] > 61),
        ({"age": {"from": 30, "below": 60}, "sick": "yes"}, lambda row: 30 <= row["age"] < 60),
        ({"seen": {"from": "2020-01-04"}}, lambda row: row["seen"] >= "2020-01-04"),
        ({"seen": "2020-01"}, lambda row: row["seen"][:7] == "2020-01"),
        ({"seen": {"to": 20200103}}, lambda row: row["seen"] <= "2020-01-03"),
        ({"seen": ["2020-01-02", "2020-01-09"]}, lambda row: row["seen"] in {"2020-01-02", "2020-01-09"}),
    ],
    ids=["words", "above", "ages", "since", "month", "until", "days"],
)
def test_rows_meet_lists_and_ranges(
    samples: Callable[..., Response], where: dict[str, Any], meets: Callable[[dict[str, Any]], bool]
) -> None:
    answer = samples(params={"rows": 300, "format": "jsonl", "where": json.dumps(where)})
    rows = [json.loads(line) for line in answer.text.splitlines()]
    assert len(rows) == 300
    assert all(map(meets, rows))


@pytest.mark.parametrize(
    "where",
    [
        {"age": {}},
        {"age": {"from": None}},
        {"age": {"from": 3, "above": 3}},
        {"age": {"least": 3}},
        {"age": {"from": "old"}},
        {"age": {"from": 10**400}},
        {"age": {"from": 80, "to": 70}},
        {"age": {"above": 99}},
        {"age": []},
        {"age": [[3]]},
        {"age": [{"from": 3}]},
        {"ward": {"from": "A"}},
        {"ward": ["nowhere"]},
        {"seen": {"from": "soon"}},
        {"seen": {"from": "0000"}},
        {"seen": {"to": "2019-13"}},
        {"seen": {"above": "9999-12-31"}},
        {"absent": ["x"]},
    ],
    ids=str,
)
def test_lists_and_ranges_that_no_row_can_meet_are_refused(
    samples: Callable[..., Response], where: dict[str, Any]
) -> None:
    require_problem(samples(params={"where": json.dumps(where)}), status=422, code="invalid-condition")
