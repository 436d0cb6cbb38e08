from pathlib import Path

import pytest

from tests.understudy.test_domain_draft import accepted, column, write
from understudy.domain_draft import draft_domain
from understudy.draft_categories import NOTE


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


def test_numbers_below_a_limit_of_what_was_measured_leave_a_column_of_numbers(tmp_path: Path):
    rows = "".join(f"{'<0.5' if n % 10 == 0 else n % 97 + 0.5},{n % 3}\n" for n in range(1000))
    draft = draft_domain(write(tmp_path, ("crp,ward\n" + rows).encode()))
    found = column(draft, "crp")
    assert (found["kind"], found["type"], found["null"]) == ("numeric", "real", "category")
    assert "<0.5 (10 % of the values) count as missing" in found[NOTE]
    assert "<0.5" in draft["csv"]["null_values"]
    path = tmp_path / "rows.csv"
    assert accepted(path, draft) == (1000, 0)


@pytest.mark.parametrize("others", [["<18", "18-24", "25+"], ["<a"], ["<1", "<2", "<3", "<4"]])
def test_bands_and_many_limits_are_words(tmp_path: Path, others: list[str]):
    texts = [others[n % len(others)] if n % 3 else str(n % 7) for n in range(900)]
    found = column(
        draft_domain(write(tmp_path, ("x,y\n" + "".join(f"{text},1\n" for text in texts)).encode())), "x"
    )
    assert found["kind"] != "numeric"


def test_an_identifier_of_few_rows_each_is_left_out_as_one(tmp_path: Path):
    rows = "".join(f"{100_000 + n // 3},{n % 7}\n" for n in range(3000))
    household = column(draft_domain(write(tmp_path, ("hh_id,rooms\n" + rows).encode())), "hh_id")
    assert household["kind"] == "ignored"
    assert household[NOTE].startswith("An identifier that repeats.")
    assert "list them as categories" not in household[NOTE]


@pytest.mark.parametrize("first", [0, 100_000])
@pytest.mark.parametrize(("name", "kind"), [("order_no", "ignored"), ("rooms_total", "numeric")])
def test_numbered_things_are_no_quantity_wherever_the_numbers_begin(
    tmp_path: Path, name: str, kind: str, first: int
):
    rows = "".join(f"{first + n // 3},{n % 7}\n" for n in range(3000))
    assert column(draft_domain(write(tmp_path, f"{name},x\n{rows}".encode())), name)["kind"] == kind


def test_a_count_that_is_called_like_a_key_stays_a_quantity(tmp_path: Path):
    rows = "".join(f"{n % 30},{n % 7}\n" for n in range(3000))
    assert (
        column(draft_domain(write(tmp_path, f"visits_no,x\n{rows}".encode())), "visits_no")["kind"]
        == "numeric"
    )


@pytest.mark.parametrize(
    ("name", "first", "step", "unit"),
    [("ts", 1_700_000_000, 61, "seconds"), ("created_at", 1_700_000_000_000, 61_007, "milliseconds")],
)
@pytest.mark.parametrize("each", [1, 3])
def test_moments_as_numbers_are_numbers_and_the_note_says_what_dates_would_keep(
    tmp_path: Path, name: str, first: int, step: int, unit: str, each: int
):
    rows = "".join(f"{first + step * (n // each)},{n % 7}\n" for n in range(6000))
    moment = column(draft_domain(write(tmp_path, f"{name},x\n{rows}".encode())), name)
    assert (moment["kind"], moment["type"]) == ("numeric", "integer")
    assert first - moment["lower"] <= 0.1 * step * 6000 / each
    assert 0 < moment["upper"] - (first + step * 5999 // each) < 0.1 * step * 6000 / each
    assert f"Looks like {unit} since 1970" in moment[NOTE]


def test_bounds_of_numbers_close_together_and_far_from_zero_are_close(tmp_path: Path):
    rows = "".join(f"{5_000_000 + n % 600},{48.1 + (n % 977) / 97_700:.5f}\n" for n in range(6000))
    draft = draft_domain(write(tmp_path, f"sum,latitude\n{rows}".encode()))
    bounds = {each["name"]: (each["lower"], each["upper"]) for each in draft["columns"]}
    assert bounds["sum"] == (5_000_000, 5_000_600)
    assert bounds["latitude"] == pytest.approx((48.1, 48.11), abs=1e-9)


@pytest.mark.parametrize("name", ["mcc", "MCC", "sic_2007", "nuts3"])
def test_numbers_of_known_classifications_are_codes(tmp_path: Path, name: str):
    codes = (4111, 5411, 5541, 5812, 6011)
    rows = "".join(f"{codes[n % 5]},{n}\n" for n in range(3000))
    assert column(draft_domain(write(tmp_path, f"{name},x\n{rows}".encode())), name)["kind"] == "categorical"
