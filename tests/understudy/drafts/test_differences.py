"""Columns close to another one are drafted as their distance from it; what only looks so keeps its own values."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from core.data.intake.clean_rows import clean_rows
from core.plan.domain.table import TableDomain
from tests.understudy.drafts.test_tables import accepted, column
from understudy.drafts.changes import change
from understudy.drafts.code_counts import codes_at_most
from understudy.drafts.confirmation import walk
from understudy.drafts.differences import hold_starts
from understudy.drafts.marked_values import accept_kinds, marks_of
from understudy.drafts.tables import draft_domain, draft_frame
from understudy.errors import InputUnusable

ROWS = 2000
Values = dict[str, list[Any]]


def stays(rows: int = ROWS) -> Values:
    """Admissions in two years, stays of some days, sums with taxes, and a length that has nothing to do with them."""
    rng = np.random.default_rng(1)
    admitted = np.datetime64("2023-01-01") + rng.integers(0, 650, rows)
    discharged = admitted + np.minimum(rng.geometric(0.2, rows), 40)
    net = np.round(np.exp(rng.normal(5, 1, rows)), 2)
    gross = np.round(net * rng.choice([1, 1.07, 1.19], rows), 2)
    return {
        "admitted": [str(day) for day in admitted],
        "discharged": [str(day) for day in discharged],
        "net": net.tolist(),
        "gross": gross.tolist(),
        "height": rng.normal(170, 9, rows).round(2).tolist(),
        "urgent": rng.choice(["yes", "no"], rows).tolist(),
    }


def written(path: Path, values: Values) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(values)
        writer.writerows(zip(*values.values(), strict=True))
    return path


def confirmed(draft: dict[str, Any]) -> TableDomain:
    accept_kinds(draft, ["all"])
    return TableDomain.from_json({key: value for key, value in draft.items() if key != "declared_size"})


def test_the_second_of_two_close_columns_is_drafted_as_a_distance_and_marked(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.csv", stays())
    draft = draft_domain(path)
    discharged, gross = column(draft, "discharged"), column(draft, "gross")
    assert discharged["difference"]["from"] == "admitted"
    assert discharged["difference"]["lower"] == 0
    assert 30 <= discharged["difference"]["upper"] <= 45
    assert discharged["difference"]["bins"] == discharged["difference"]["upper"] + 1
    assert gross["difference"]["from"] == "net"
    assert gross["difference"]["specials"] == [0]
    assert "difference" in discharged["_from_data"]
    assert "never below admitted" in discharged["_note"]
    assert not {"patterns", "bins", "edges"} & discharged.keys()
    assert all("difference" not in column(draft, name) for name in ("admitted", "net", "height", "urgent"))
    assert accepted(path, draft) == (ROWS, 0)
    domain = confirmed(draft)
    assert {one["place"] for one in domain.differences} == {1, 3}
    assert domain.cells <= codes_at_most(draft)


def test_a_distance_that_is_sometimes_negative_keeps_its_sign_if_it_is_small(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    planned = np.datetime64("2023-01-01") + rng.integers(0, 650, ROWS)
    values = stays() | {
        "admitted": [str(day) for day in planned],
        "discharged": [str(day) for day in planned + rng.integers(-6, 20, ROWS)],
    }
    found = column(draft_domain(written(tmp_path / "rows.csv", values)), "discharged")
    assert (found["difference"]["lower"], found["difference"]["upper"]) == (-6, 19)
    assert "below" not in found["_note"]


def test_the_larger_column_starts_from_the_smaller_one_wherever_it_stands(tmp_path: Path) -> None:
    values = stays()
    draft = draft_domain(written(tmp_path / "rows.csv", {name: values[name] for name in reversed(values)}))
    assert column(draft, "discharged")["difference"]["from"] == "admitted"
    assert "difference" not in column(draft, "admitted")


def test_a_chain_starts_from_the_closest_column(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    values = stays()
    referred = np.array(values["admitted"], dtype="datetime64[D]") - rng.geometric(0.05, ROWS)
    draft = draft_domain(
        written(tmp_path / "rows.csv", {"referred": [str(day) for day in referred]} | values)
    )
    assert column(draft, "discharged")["difference"]["from"] == "admitted"
    # Which of two begins the chain does not matter; together they are one.
    assert {column(draft, name).get("difference", {}).get("from") for name in ("referred", "admitted")} == {
        None,
        "referred",
    }
    confirmed(draft)


def far_apart(values: Values, rng: np.random.Generator) -> Values:
    days = np.datetime64("2023-01-01") + rng.integers(0, 650, ROWS)
    return values | {"discharged": [str(day) for day in days]}


def trivially_ordered(values: Values, rng: np.random.Generator) -> Values:
    return values | {"gross": rng.uniform(100_000, 200_000, ROWS).round(2).tolist()}


def test_a_date_is_drafted_as_days_from_the_day_of_a_time(tmp_path: Path) -> None:
    values = stays()
    values["admitted"] = [
        f"{day}T{place % 24:02}:{place % 60:02}:00" for place, day in enumerate(values["admitted"])
    ]
    path = written(tmp_path / "rows.csv", values)
    draft = draft_domain(path)
    difference = column(draft, "discharged")["difference"]
    assert (difference["from"], difference["lower"]) == ("admitted", 0)
    assert difference["bins"] == difference["upper"] + 1
    assert "the day of admitted" in column(draft, "discharged")["_note"]
    assert accepted(path, draft) == (ROWS, 0)
    confirmed(draft)


def other_resolution(values: Values, _rng: np.random.Generator) -> Values:
    return values | {
        "discharged": [f"{day}T10:{place % 60:02}:00" for place, day in enumerate(values["discharged"])]
    }


@pytest.mark.parametrize(
    ("changed", "name"),
    [(far_apart, "discharged"), (trivially_ordered, "gross"), (other_resolution, "discharged")],
)
def test_columns_that_are_not_close_keep_their_own_values(changed: Any, name: str, tmp_path: Path) -> None:
    draft = draft_domain(written(tmp_path / "rows.csv", changed(stays(), np.random.default_rng(4))))
    assert "difference" not in column(draft, name)


def test_columns_of_few_rows_keep_their_own_values(tmp_path: Path) -> None:
    few = {name: values[:90] for name, values in stays().items()}
    assert "difference" not in column(draft_domain(written(tmp_path / "few.csv", few)), "discharged")


def test_missing_values_go_with_the_column_that_the_distance_starts_from(tmp_path: Path) -> None:
    values = stays()
    values["admitted"] = ["" if place % 50 == 0 else day for place, day in enumerate(values["admitted"])]
    path = written(tmp_path / "rows.csv", values)
    draft = draft_domain(path)
    assert column(draft, "discharged")["null"] == "category"
    assert accepted(path, draft) == (ROWS, 0)


def test_a_chain_of_columns_may_be_missing_where_its_first_one_is(tmp_path: Path) -> None:
    """The last and closest pair is drafted first, before its start may be missing: the accepted draft was refused."""
    rng = np.random.default_rng(9)
    values = stays()
    settled = np.array(values["discharged"], dtype="datetime64[D]") + rng.integers(0, 3, ROWS)
    values["settled"] = [str(day) for day in settled]
    values["admitted"] = ["" if place % 50 == 0 else day for place, day in enumerate(values["admitted"])]
    path = written(tmp_path / "rows.csv", values)
    draft = draft_domain(path)
    assert [column(draft, name)["difference"]["from"] for name in ("discharged", "settled")] == [
        "admitted",
        "discharged",
    ]
    assert column(draft, "settled")["null"] == "category"
    assert accepted(path, draft) == (ROWS, 0)


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%m/%d/%Y"])
def test_dates_of_any_form_are_compared(form: str, tmp_path: Path) -> None:
    values = stays()
    for name in ("admitted", "discharged"):
        values[name] = [np.datetime64(day).item().strftime(form) for day in values[name]]
    path = written(tmp_path / "rows.csv", values)
    draft = draft_domain(path)
    assert column(draft, "discharged")["difference"]["from"] == "admitted"
    assert accepted(path, draft) == (ROWS, 0)


def test_times_of_a_frame_are_compared_by_their_resolution() -> None:
    rng = np.random.default_rng(5)
    begun = np.datetime64("2023-01-01T00:00") + rng.integers(0, 500_000, 200_000)
    ended = begun + rng.geometric(1 / 30, 200_000)
    table = pa.table(
        {
            "begun": begun.astype("datetime64[s]"),
            "ended": ended.astype("datetime64[s]"),
            "x": rng.integers(0, 2, 200_000),
        }
    )
    draft = draft_frame(table)
    found = column(draft, "ended")
    assert found["difference"]["from"] == "begun"
    assert 120 <= found["difference"]["upper"] <= 500, "minutes"
    domain = confirmed(draft)
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    assert clean_rows(domain, columns, table.num_rows, domain.csv).batch.num_rows == table.num_rows


class TestConfirming:
    def draft(self, folder: Path) -> dict[str, Any]:
        return draft_domain(written(folder / "rows.csv", stays()))

    def test_the_answer_none_models_the_column_by_its_own_values(self, tmp_path: Path) -> None:
        draft = self.draft(tmp_path)
        (mark,) = (one for one in marks_of(draft) if one.key == "difference" and one.column == "discharged")
        assert mark.kind == "bounds"
        change(draft, mark, "none")
        assert "difference" not in column(draft, "discharged")
        assert confirmed(draft).modelled[1].difference is None

    def test_an_edited_distance_is_read_and_a_wrong_one_refused(self, tmp_path: Path) -> None:
        draft = self.draft(tmp_path)
        (mark,) = (one for one in marks_of(draft) if one.key == "difference" and one.column == "discharged")
        with pytest.raises(InputUnusable, match="discharged"):
            change(draft, mark, '{"from": "admitted"}')
        change(draft, mark, '{"from": "admitted", "lower": 0, "upper": 365}')
        difference = confirmed(draft).modelled[1].difference
        assert difference is not None
        assert difference.coded.upper == 365

    def test_a_column_that_is_left_out_or_renamed_takes_its_differences_along(self, tmp_path: Path) -> None:
        draft = self.draft(tmp_path)
        (name,) = (one for one in marks_of(draft) if one.key == "name" and one.column == "net")
        change(draft, name, "netto")
        assert column(draft, "gross")["difference"]["from"] == "netto"
        (kind,) = (one for one in marks_of(draft) if one.key == "kind" and one.column == "admitted")
        change(draft, kind, "ignored")
        domain = confirmed(draft)
        assert [column.name for column in domain.modelled if column.difference is not None] == ["gross"]

    def test_wider_bounds_of_the_first_column_widen_those_of_the_second(self, tmp_path: Path) -> None:
        draft = self.draft(tmp_path)
        (upper,) = (one for one in marks_of(draft) if one.key == "upper" and one.column == "admitted")
        change(draft, upper, "2030-12-31")
        confirmed(draft)
        assert column(draft, "discharged")["upper"] == "2030-12-31"

    def test_the_walk_shows_it_and_accepts_it(self, tmp_path: Path) -> None:
        draft = self.draft(tmp_path)
        said: list[str] = []
        walk(draft, lambda _question: "", said.append)
        assert any('difference {"from": "admitted"' in line for line in said)
        assert confirmed(draft).differences


def balances(rows: int = 20_000) -> tuple[Any, Any]:
    """Balances of a bank, some below zero, and what they are worth elsewhere: most are small, and so is most of what lies between the two."""
    rng = np.random.default_rng(6)
    start = np.round(np.where(rng.random(rows) < 0.12, -0.2, 1) * rng.lognormal(7, 1.8, rows), 2)
    return start, np.round(start * rng.normal(1, 0.1, rows), 2)


def redrawn(difference: dict[str, Any], apart: Any) -> Any:
    """Distances drawn from the declared bins, as a generator without noise draws them."""
    domain = TableDomain.from_json({"schema": "understudy.domain/1", "privacy_unit": None, "columns": [
        {"name": "apart", "kind": "numeric", "type": "real", "decimals": 2} | {key: value for key, value in difference.items() if key != "from"},
    ]})  # fmt: skip
    bins = domain.modelled[0].bins  # type: ignore[union-attr]
    return bins.decode(bins.encode(apart), np.random.default_rng(7).random(len(apart)))


def test_bins_of_a_signed_distance_are_narrow_where_most_distances_are() -> None:
    """Even bins of 1,000 lost the distances, half of which lie within 110, and a quarter of the synthetic balances changed their sign."""
    start, end = balances()
    draft = draft_frame(pa.table({"balance": start, "balance EUR": end}))
    difference = column(draft, "balance EUR")["difference"]
    assert difference["lower"] < 0
    made = start + redrawn(difference, end - start)
    assert (made < 0).mean() == pytest.approx((end < 0).mean(), abs=0.01)
    for share in (0.1, 0.25, 0.5, 0.75, 0.9):
        assert np.quantile(made - start, share) == pytest.approx(
            np.quantile(end - start, share), rel=0.1, abs=2
        )
        assert np.quantile(made, share) == pytest.approx(np.quantile(end, share), rel=0.05, abs=10)
    assert (difference["edges"][0], difference["edges"][-1]) == (difference["lower"], difference["upper"])
    assert 0 in difference["edges"]
    assert confirmed(draft).cells <= codes_at_most(draft)


def test_even_bins_of_a_signed_distance_stay_where_they_hold_it() -> None:
    rng = np.random.default_rng(8)
    start = np.round(rng.normal(500, 100, ROWS), 2)
    end = np.round(start + rng.uniform(-20, 20, ROWS), 2)
    difference = column(draft_frame(pa.table({"planned": start, "paid": end})), "paid")["difference"]
    assert difference["lower"] < 0
    assert "edges" not in difference


@pytest.mark.parametrize("bounds", [(0, 10.5, 0.5, 10), (0.5, 11, 1, 10.5)])
def test_whole_bounds_hold_those_with_decimals_and_are_held(bounds: tuple[float, ...]) -> None:
    """A whole bound is an integer of JSON: as another type than 0.5 it was not widened, and the accepted draft was refused."""
    columns: list[dict[str, Any]] = [
        {"name": "net", "kind": "numeric", "type": "real", "decimals": 2, "lower": bounds[0], "upper": bounds[1]},
        {"name": "gross", "kind": "numeric", "type": "real", "decimals": 2, "lower": bounds[2], "upper": bounds[3], "difference": {"from": "net", "upper": 5}},
    ]  # fmt: skip
    hold_starts(columns)
    assert (columns[1]["lower"], columns[1]["upper"]) == (
        min(bounds[0], bounds[2]),
        max(bounds[1], bounds[3]),
    )
    TableDomain.from_json({"schema": "understudy.domain/1", "privacy_unit": None, "columns": columns})


@pytest.mark.parametrize("fees", [(0, 10, 28), (0, 4.95, 7.95)])
def test_few_distances_have_a_code_each_also_if_all_are_whole(fees: tuple[float, ...]) -> None:
    """Even bins spread a fee of 10 over its bin, so the total was no sum of amount and fee."""
    rng = np.random.default_rng(9)
    net = np.round(rng.lognormal(4, 1, ROWS), 2)
    gross = np.round(net + rng.choice(fees, ROWS, p=[0.5, 0.4, 0.1]), 2)
    draft = draft_frame(pa.table({"net": net, "gross": gross}))
    difference = column(draft, "gross")["difference"]
    assert (difference["specials"], difference["bins"]) == (list(fees), 1)
    assert confirmed(draft).cells <= codes_at_most(draft)
