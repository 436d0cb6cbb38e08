from pathlib import Path

import pytest

from tests.understudy.test_domain_draft import column, write
from understudy.domain_draft import draft_domain


def drafted(folder: Path, counts: dict[int, int], name: str = "trust") -> dict:
    rows = "".join(f"{value}\n" for value, count in counts.items() for _ in range(count))
    return column(draft_domain(write(folder, f"{name}\n{rows}".encode())), name)


@pytest.mark.parametrize("refused", [(97, 98, 99), (88, 99), (777, 888, 999)])
@pytest.mark.parametrize("rows", [10, 100])
def test_answers_with_several_refusals_are_codes_however_few_rows_refuse(
    tmp_path: Path, refused: tuple[int, ...], rows: int
) -> None:
    answers = {1: 100, 2: 200, 3: 400, 4: 200, 5: 100}
    found = drafted(tmp_path, answers | dict.fromkeys(refused, rows))
    assert found["kind"] == "categorical", "a mean over 97 is none of trust"
    assert set(found["categories"]) == {str(value) for value in (*answers, *refused)}


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("trust", {1: 200, 2: 300, 3: 200, 99: 12}),
        ("amount", {1: 200, 2: 300, 3: 200, 4: 90, 98: 12, 99: 12}),
    ],
)
def test_one_refusal_and_amounts_stay_quantities(tmp_path: Path, name: str, counts: dict[int, int]) -> None:
    assert drafted(tmp_path, counts, name)["kind"] == "numeric"
