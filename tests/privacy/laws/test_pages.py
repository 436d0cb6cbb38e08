"""The pages on noise, sampling, discrete noise and randomness name tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = ("noise", "sampling", "discrete", "randomness")


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_a_page_names_exists(page: str) -> None:
    text = (ROOT / "docs" / "mechanisms" / f"{page}.md").read_text()
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    assert len(named) >= 5
    for path, function in named:
        assert not function or f"def {function}(" in (ROOT / path).read_text(), function
    for path in re.findall(r"`((?:models|core|workers|benchmarks)/[\w/]+\.(?:py|json))`", text):
        assert (ROOT / path).exists(), path
