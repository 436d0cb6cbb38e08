"""Two words that say true and false, in five languages, are a truth value."""

from pathlib import Path

import pytest

from tests.understudy.drafts.test_tables import column, write
from understudy.drafts.tables import draft_domain


@pytest.mark.parametrize(
    ("true", "false"), [("sí", "no"), ("Sì", "No"), ("wahr", "falsch"), ("vrai", "faux"), ("Verdadero", "Falso"), ("oui", "non")]
)  # fmt: skip
def test_two_words_for_true_and_false_are_a_truth_value(tmp_path: Path, true: str, false: str) -> None:
    rows = "".join(f"{true if n % 3 else false},{n % 7}\n" for n in range(60))
    found = column(draft_domain(write(tmp_path, f"grant,x\n{rows}".encode())), "grant")
    assert (found["kind"], found["true"], found["false"]) == ("boolean", true, false)
