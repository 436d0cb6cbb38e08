"""The pages on the critic step and on adaptive thresholds name tests and files that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("page", ["critic-step", "acts-and-clusters"])
def test_every_test_and_file_that_a_page_names_exists(page: str) -> None:
    text = (ROOT / "docs" / "mechanisms" / f"{page}.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    assert len(named) > 10
    for path, function in named:
        assert not function or f"def {function}(" in (ROOT / path).read_text(encoding="utf-8"), function
    for path in re.findall(r"`((?:models|core)/[\w/]+\.py)`", text):
        assert (ROOT / path).exists(), path
