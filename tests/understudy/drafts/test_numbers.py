from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.plan.domain.columns.kinds import NumericColumn
from core.plan.domain.table import TableDomain
from tests.understudy.drafts.test_tables import accepted, column, confirmed, write
from understudy.drafts.categories import NOTE
from understudy.drafts.code_counts import codes_at_most
from understudy.drafts.tables import draft_domain, draft_frame


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


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("target", {0: 59, 1: 71, 2: 48}),
        ("label", dict.fromkeys(range(10), 18)),
        ("class", {1: 40, 2: 30, 3: 20, 4: 10}),
        ("y", {0: 59, 1: 71, 2: 48}),
    ],
)
def test_few_whole_numbers_under_the_name_of_a_target_are_classes_in_small_tables_too(
    tmp_path: Path, name: str, counts: dict[int, int]
) -> None:
    rows = "".join(f"{n},{value}\n" for value, count in counts.items() for n in range(count))
    draft = draft_domain(write(tmp_path, f"x,{name}\n{rows}".encode()))
    assert column(draft, name)["categories"] == [str(value) for value in counts]
    assert draft["target"] == name


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("target", dict.fromkeys(range(20), 8)),
        ("y", {0: 60, 1: 40, 2: 20, 3: 8, 4: 4}),
        ("target", {3: 60, 4: 60, 5: 40}),
        ("target", {0: 3, 1: 4, 2: 3}),
    ],
    ids=["many", "counts", "not from 0 or 1", "few rows"],
)
def test_other_numbers_under_such_a_name_stay_quantities(
    tmp_path: Path, name: str, counts: dict[int, int]
) -> None:
    assert drafted(tmp_path, counts, name)["kind"] == "numeric"


LIKERT = {1: 200, 2: 300, 3: 400, 4: 300, 5: 200}


@pytest.mark.parametrize(
    ("missing", "name"),
    [({-9: 40}, "l01"), ({-1: 20}, "l01"), ({-9: 14, -8: 30, -7: 14}, "l01"), ({9: 20}, "visits"), ({8: 20, 9: 40}, "visits")],
)  # fmt: skip
def test_a_small_code_beside_a_scale_is_a_special_value_and_no_bound(
    tmp_path: Path, missing: dict[int, int], name: str
) -> None:
    found = drafted(tmp_path, LIKERT | missing, name)
    assert (found["kind"], found["lower"], found["upper"]) == ("numeric", 1, 5), "nobody answers -4 or 7"
    assert found["specials"] == sorted(missing)
    draft = draft_domain(tmp_path / "rows.csv")
    assert codes_at_most(draft) == 5 + len(missing)
    assert accepted(tmp_path / "rows.csv", draft) == (sum((LIKERT | missing).values()), 0)


@pytest.mark.parametrize(
    "counts",
    [
        {-1: 300, 0: 300, 1: 300, 2: 50},
        dict.fromkeys(range(-3, 4), 100),
        dict.fromkeys(range(-9, 10, 3), 100),
        LIKERT | {8: 40},
        LIKERT | {6: 20, 7: 10, 8: 20, 9: 5},
        LIKERT | {-9: 1},
    ],
    ids=["signs", "scale", "steps", "eight", "counts", "one row"],
)
def test_numbers_of_a_scale_are_no_codes_of_missing_answers(tmp_path: Path, counts: dict[int, int]) -> None:
    assert not drafted(tmp_path, counts, "visits").get("specials")


def test_two_answers_and_a_missing_one_are_categories(tmp_path: Path) -> None:
    assert drafted(tmp_path, {-9: 20, 0: 300, 1: 200}, "smoker")["categories"] == ["-9", "0", "1"]


def test_two_numbers_that_are_not_whole_are_all_that_rows_can_have() -> None:
    low, high = -0.044641636506989144, 0.05068011873981862
    rows = pa.table({"sex": [low if n % 3 else high for n in range(440)], "x": [n / 8 for n in range(440)]})
    found = column(draft_frame(rows), "sex")
    assert (found["kind"], found["categories"], found["other"]) == (
        "categorical",
        [str(low), str(high)],
        False,
    )
    one = pa.table({"sex": [low] * 439 + [high], "x": [n / 8 for n in range(440)]})
    assert column(draft_frame(one), "sex")["kind"] != "categorical", "one row makes no class"


def test_values_below_a_detection_limit_leave_a_column_of_numbers(tmp_path: Path):
    rows = "".join(f"{'<0.5' if n % 10 == 0 else n % 97 + 0.5},{n % 3}\n" for n in range(1000))
    draft = draft_domain(write(tmp_path, ("crp,ward\n" + rows).encode()))
    found = column(draft, "crp")
    assert (found["kind"], found["type"], found["null"]) == ("numeric", "real", "category")
    assert "<0.5 (10 % of the values) count as missing" in found[NOTE]
    assert "<0.5" in draft["csv"]["null_values"]
    path = tmp_path / "rows.csv"
    assert accepted(path, draft) == (1000, 0)


@pytest.mark.parametrize("others", [["<18", "18-24", "25+"], ["<a"], ["<1", "<2", "<3", "<4"]])
def test_bands_and_many_detection_limits_are_words(tmp_path: Path, others: list[str]):
    texts = [others[n % len(others)] if n % 3 else str(n % 7) for n in range(900)]
    found = column(
        draft_domain(write(tmp_path, ("x,y\n" + "".join(f"{text},1\n" for text in texts)).encode())), "x"
    )
    assert found["kind"] != "numeric"


@pytest.mark.parametrize(
    "texts",
    [
        ["1", "2e309"],
        ["-1e400", "5"],
        [f"{123456789012345678 + 3 * n}" for n in range(45)],
        [f"{9007199254740000 - 3 * n}" for n in range(45)],
    ],
)
def test_numbers_that_no_domain_can_hold_are_left_out(texts: list[str], tmp_path: Path):
    rows = "".join(f"{texts[n % len(texts)]},{n % 3}\n" for n in range(90))
    draft = draft_domain(write(tmp_path, ("size,ward\n" + rows).encode()))
    assert column(draft, "size")["kind"] == "ignored"
    assert "larger unit" in column(draft, "size")[NOTE]


def test_decimals_that_no_domain_can_hold_are_not_declared(tmp_path: Path):
    rows = "".join(f"{10**13 + n}.{n % 10000:04d},{n % 3}\n" for n in range(900))
    draft = draft_domain(write(tmp_path, ("size,ward\n" + rows).encode()))
    assert column(draft, "size")["type"] == "real"
    assert "decimals" not in column(draft, "size")
    assert accepted(tmp_path / "rows.csv", draft) == (900, 0)


def test_long_codes_of_many_rows_stay_codes(tmp_path: Path):
    rows = "".join(f"{123456789012345678 + n % 2},{n % 3}\n" for n in range(90))
    draft = draft_domain(write(tmp_path, ("size,ward\n" + rows).encode()))
    assert column(draft, "size")["categories"] == ["123456789012345678", "123456789012345679"]


KINDS: tuple[st.SearchStrategy[str], ...] = (
    st.floats(allow_nan=True, allow_infinity=True).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.integers(0, 3).map(str),
    st.decimals(0, 1, places=1).map(str),
    st.dates().map(str),
    st.dates().map(lambda day: day.strftime("%m/%d/%y")),
    st.dates().map(lambda day: f"{day.day}.{day.month}.{day.year:04}"),
    st.datetimes().map(str),
    st.sampled_from(
        ["", "-", "?", "<5", "5%", "$3.50", "1,234", "12:30", "yes", "no", "A1", "0007", "1e5", "inf"]
    ),
    st.text("ab ü'.", max_size=6),
)


@given(data=st.data(), rows=st.sampled_from([1, 2, 7, 40]), mixed=st.booleans())
def test_the_draft_of_any_table_is_a_domain(data: st.DataObject, rows: int, mixed: bool):
    values = st.one_of(*KINDS) if mixed else data.draw(st.sampled_from(KINDS))
    few = data.draw(st.lists(values, min_size=1, max_size=8))
    texts = [few[n * n % len(few)] for n in range(rows)]
    draft = draft_frame(pa.table({"x": texts, "y": ["a", "b"] * (rows // 2) + ["a"] * (rows % 2)}))
    draft["columns"].append({"name": "z", "kind": "boolean"})  # so that one is modelled
    domain = TableDomain.from_json(confirmed(draft))
    kinds = {entry["name"]: entry["kind"] for entry in draft["columns"]}
    assert {one.name for one in domain.modelled} >= {
        name for name, kind in kinds.items() if kind not in {"ignored", "unit"}
    }


def test_an_identifier_of_few_rows_each_is_left_out_as_one(tmp_path: Path):
    rows = "".join(f"{100_000 + n // 3},{n % 7}\n" for n in range(3000))
    site = column(draft_domain(write(tmp_path, ("site_id,rooms\n" + rows).encode())), "site_id")
    assert site["kind"] == "ignored"
    assert site[NOTE].startswith("An identifier that repeats.")
    assert "list them as categories" not in site[NOTE]


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


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("kasse", [101, 104, 108, 205, 207, 310, 999], "categorical"),
        ("medium", [10, 20, 30, 41, 52, 77], "categorical"),
        ("dose", [0, 50, 100, 200, 400], "numeric"),
        ("mhz", [25, 33, 50, 66, 75, 100], "numeric"),
        ("size_kb", [64, 128, 256, 512, 1024], "numeric"),
        ("price", [101, 104, 108, 205, 207, 310], "numeric"),
        ("visits", [101, 104, 108, 205, 207, 310], "numeric"),
        ("time", [152, 174, 201, 227, 258], "numeric"),
    ],
)
def test_few_numbers_off_any_grid_are_codes_so_that_no_row_has_one_that_does_not_exist(
    name: str, values: list[int], kind: str
):
    numbers = [values[n * n % len(values)] for n in range(700)] + values * 20
    rows = pa.table({name: numbers, "x": [n % 9 + 0.5 for n in range(len(numbers))]})
    found = column(draft_frame(rows), name)
    assert found["kind"] == kind
    if kind == "categorical":
        assert (found["categories"], found["other"]) == ([str(value) for value in values], False)


@pytest.mark.parametrize(
    ("name", "kind"), [("NACE", "categorical"), ("WZ 2008", "categorical"), ("wage", "numeric")]
)
def test_codes_of_a_classification_may_have_a_point(tmp_path: Path, name: str, kind: str) -> None:
    """There is no industry between 62.01 and 62.02."""
    codes = [f"{10 + n}.{n * n % 90 + 10}" for n in range(50)]
    rows = "".join(f"{codes[n % 50]},{n}\n" for n in range(3000))
    found = column(draft_domain(write(tmp_path, f"{name},x\n{rows}".encode())), name)
    assert found["kind"] == kind
    if kind == "categorical":
        assert found["categories"] == codes


@pytest.mark.parametrize(
    ("name", "years", "bounds"),
    [
        ("Gründungsjahr", [2023 - n % 140 for n in range(3000)], (1880, 2023)),
        ("year_built", [2023 - n % 140 for n in range(3000)] + [2024], (1880, 2023)),
        ("score", [2023 - n % 140 for n in range(3000)], (1880, 2030)),
        ("year_income", [12_023 - n % 140 for n in range(3000)], (11_880, 12_030)),
    ],
    ids=["years", "one row's", "no years", "no such years"],
)
def test_no_year_is_allowed_that_has_not_come(name: str, years: list[int], bounds: tuple[int, int]) -> None:
    found = column(draft_frame(pa.table({name: years, "x": [n % 9 + 0.5 for n in range(len(years))]})), name)
    assert (found["lower"], found["upper"]) == bounds


def test_few_values_such_as_prices_are_all_that_rows_can_have(tmp_path: Path):
    lines = ["fee,stars,rare,age"] + [
        f"{(0, 9.99, 49.99)[row % 3]:.2f},{1 + row % 9 / 2},{5.25 if row == 7 else 100 * (row % 4)},{20 + row % 60}"
        for row in range(1200)
    ]
    path = write(tmp_path, ("\n".join(lines) + "\n").encode())
    draft = draft_domain(path)
    fee, stars, rare, age = (column(draft, name) for name in ("fee", "stars", "rare", "age"))
    assert (fee["specials"], fee["bins"], fee["lower"], fee["upper"]) == ([0, 9.99, 49.99], 1, 0, 50)
    assert stars["specials"] == [1 + half / 2 for half in range(9)]
    assert rare["specials"] == [0, 100, 200, 300], "what one row has is left out"
    assert "specials" not in age
    assert codes_at_most(draft) == (3 + 1) + (9 + 1) + (4 + 1) + 32
    assert accepted(path, draft) == (1200, 0)


@pytest.mark.parametrize("noise", ["6.699999999999999", "0.30000000000000004", "-1234567.1999999997"])
def test_noise_of_floating_point_is_no_decimal(tmp_path: Path, noise: str) -> None:
    rows = "".join(f"{n % 83 / 10},{n % 3}\n" for n in range(1000))
    path = write(tmp_path, f"crp,ward\n{rows}{noise},1\n".encode())
    assert column(draft_domain(path), "crp")["decimals"] == 1


@pytest.mark.parametrize("measured", ["6.69999", "6.6999999999", "1e-5", "0.00000000000001"])
def test_measurements_of_more_digits_have_no_decimals(tmp_path: Path, measured: str) -> None:
    rows = "".join(f"{n % 83 / 10},{n % 3}\n" for n in range(1000))
    path = write(tmp_path, f"crp,ward\n{rows}{measured},1\n".encode())
    assert "decimals" not in column(draft_domain(path), "crp")


def multiple(values: list[float]) -> object:
    return column(draft_frame(pa.table({"paid": values})), "paid").get("multiple_of")


def test_numbers_that_are_nearly_all_multiples_are_drafted_as_multiples() -> None:
    amounts = [500.0 * (1 + n * n % 97) for n in range(1000)]
    assert multiple(amounts) == 500
    assert multiple([*amounts[:-4], 123.0, 777.0, 4321.0, 8765.0]) == 500, "a few others are typing errors"
    assert multiple([*amounts[:-40], *(float(137 * n) for n in range(40))]) is None
    assert multiple([0.25 * (n * n % 301) for n in range(1000)]) == 0.25
    assert multiple([n + 0.99 for n in range(300)]) is None
    assert multiple([15.0 * (n * n % 89) for n in range(1000)]) == 15
    assert multiple([float(n * n % 400) for n in range(1000)]) is None


def test_few_values_that_are_multiples_may_be_so_by_chance() -> None:
    assert (
        multiple(
            [float(value) for value in (2, 4, 10, 16, 22, 34, 46, 58, 64, 82, 94, 106) for _ in range(3)]
        )
        is None
    )
    assert multiple([float(value) for value in range(2, 200, 2) for _ in range(3)]) == 2


@given(values=st.lists(st.integers(-(10**6), 10**6), min_size=8, max_size=60, unique=True))
def test_a_drafted_multiple_is_one_that_a_domain_may_declare(values: list[int]) -> None:
    found = draft_frame(pa.table({"paid": [value * 100 for value in values] * 3}))
    (paid,) = TableDomain.from_json(confirmed(found)).modelled
    if isinstance(paid, NumericColumn) and paid.multiple_of is not None:
        assert sum(value * 100 % paid.multiple_of == 0 for value in values) >= 0.99 * len(values)
