"""The answers that docs/asking.md shows are what is answered."""

from pathlib import Path

from tests.core.asking.tabled import opened, released, table
from understudy.asking import Answer

PAGE = Path(__file__).parents[2] / "docs" / "asking.md"


def test_the_answers_on_the_page_are_given() -> None:
    (shown,) = (block for block in PAGE.read_text().split("```") if block.startswith("text\n"))
    counts = opened(released(table()))
    asked = [line.removeprefix("> ") for line in shown.splitlines() if line.startswith("> ")]
    assert len(asked) == 2
    for question in asked:
        answer = Answer.from_json(counts.answer(question).to_json())
        block = shown.partition(f"> {question}\n")[2].partition("\n> ")[0]
        assert block.strip().splitlines() == [line.rstrip() for line in answer.lines()]
