"""The answers that docs/asking.md shows are what is answered."""

from dataclasses import replace
from pathlib import Path

from core.artifacts.counts import ReleasedCounts
from tests.core.artifacts.asking.tabled import opened, released, table
from understudy.asking import Answer

PAGE = Path(__file__).parents[2] / "docs" / "asking.md"


def test_the_answers_on_the_page_are_given() -> None:
    counted, estimated = (block for block in PAGE.read_text().split("```") if block.startswith("text\n"))
    counts = released(table())
    assert _given(counted, counts) == ["counted"] * 2
    pairs = released(table(), by_class=False)
    left_out = replace(pairs, tables=tuple(one for one in pairs.tables if one.columns != (0, 3)))
    assert _given(estimated, left_out) == ["assumed"]


def _given(shown: str, counts: ReleasedCounts) -> list[str]:
    """Ask what a block shows, and return what the answers rest on."""
    found = []
    for question in (line.removeprefix("> ") for line in shown.splitlines() if line.startswith("> ")):
        answer = Answer.from_json(opened(counts).answer(question).to_json())
        block = shown.partition(f"> {question}\n")[2].partition("\n> ")[0]
        assert block.strip().splitlines() == [line.rstrip() for line in answer.lines()]
        found.append(answer.basis)
    return found
