"""A draft in Python: what it shows before it is accepted, what it refuses, and what it warns of."""

import datetime as dt
from collections.abc import Mapping
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from core.plan.domain.errors import DomainInvalid
from core.plan.domain.table import TableDomain
from tests.understudy.drafts.test_tables import column
from understudy import InputUnusable, InvalidInput, Synthesizer
from understudy.cli import app
from understudy.drafts.display import MOST_SHOWN, WIDTH
from understudy.drafts.tables import draft_domain
from understudy.local.drafted import Draft

html = methodcaller("_repr_html_")
"""What a notebook shows."""
ROWS = 400


def drafted(**columns: Any) -> Draft:
    return Synthesizer().draft(pd.DataFrame(columns))


def forms(draft: Draft) -> Mapping[str, str]:
    """Both forms, without the breaks of lines."""
    return {"text": " ".join(repr(draft).split()), "html": html(draft)}


@pytest.fixture(scope="module")
def patients() -> Draft:
    rng = np.random.default_rng(3)
    age = rng.integers(18, 96, ROWS * 4)
    return drafted(
        age=age,
        band=np.where(age < 30, "18-29", np.where(age < 60, "30-59", "60+")),
        region=rng.choice(["North", "South", "Île-de-France"], ROWS * 4),
        postcode=[f"{n:05d}" for n in rng.choice(np.arange(1000, 98000, 2000), ROWS * 4)],
        smoker=rng.choice(["Y", "N", "?"], ROWS * 4),
        cholesterol=np.where(rng.random(ROWS * 4) < 0.05, "unknown", rng.normal(5.2, 1, ROWS * 4).round(1).astype(str)),
        systolic=np.where(rng.random(ROWS * 4) < 0.3, 120, rng.integers(90, 200, ROWS * 4)),
        readmitted=rng.integers(0, 2, ROWS * 4),
    )  # fmt: skip


@pytest.mark.parametrize("form", ["text", "html"])
def test_everything_that_becomes_public_is_shown(patients: Draft, form: str) -> None:
    shown = forms(patients)[form].replace("&quot;", '"')
    for said in (
        "accepted values become public",
        "Target: readmitted.",
        "Each row is protected by itself",
        "Declared size: 1600, the number of rows that formulas use",
        'Texts taken as missing in every column: an empty text, "?", "unknown".',
        "North, South, Île-de-France",
        "true is Y, false is N; may be missing",
        "special values 120",
        "age determines band: 0 to 29: 18-29;",
    ):
        assert said in shown


@pytest.mark.parametrize("form", ["text", "html"])
def test_of_many_words_the_first_are_shown_and_how_many_follow(patients: Draft, form: str) -> None:
    words = column(patients.document, "postcode")["categories"]
    assert len(words) > MOST_SHOWN
    shown = forms(patients)[form]
    assert f"{', '.join(words[:MOST_SHOWN])} and {len(words) - MOST_SHOWN} more" in shown
    assert words[MOST_SHOWN] not in shown


@pytest.mark.parametrize("form", ["text", "html"])
def test_columns_that_are_alike_but_for_their_names_share_what_is_said_of_them(form: str) -> None:
    rng = np.random.default_rng(6)
    items = {f"item {n:02d}": rng.integers(1, 6, ROWS) for n in range(60)}
    answers = {name: rng.choice(["yes", "no"], ROWS) for name in ("a,b", "c")}
    draft = drafted(age=rng.integers(18, 90, ROWS), **items, **answers)
    shown = forms(draft)[form].replace("&quot;", '"')
    assert ", ".join(items) in shown, "all names become public"
    assert shown.count("even bins keep the quartiles") == 1
    assert shown.count("true is yes, false is no") == len(answers), "two are shown by themselves"
    assert len(repr(draft).splitlines()) < 40


def test_the_text_fits_into_a_terminal(patients: Draft) -> None:
    assert max(map(len, repr(patients).splitlines())) <= WIDTH


@pytest.mark.parametrize("form", ["text", "html"])
def test_every_key_of_a_column_is_shown(form: str) -> None:
    rng = np.random.default_rng(4)
    came = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 900 * 1440, ROWS), unit="min")
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 900, ROWS), unit="D")
    draft = drafted(
        came=came,
        day=days.strftime("%d.%m.%Y"),
        crp=rng.normal(20, 5, ROWS).round(1),
        price=[f"${price:,.2f}" for price in rng.normal(9000, 1000, ROWS)],
        infected=[" no", "yes"] * (ROWS // 2),
    )
    column(draft.document, "crp")["outside"] = "null"
    shown = forms(draft)[form].replace("&quot;", '"')
    for said in (
        "resolution minute; counted like columns of their own: hour, weekday, month",
        "resolution day; format %d.%m.%Y; counted like columns of their own: weekday, month",
        "decimals 1; outside null",
        'number_format {"thousands": ",", "affixes": ["$"]}',
        "Blanks around texts are dropped.",
    ):
        assert said in shown


def test_a_column_names_the_words_that_count_as_missing(patients: Draft) -> None:
    notes = {one["name"]: one["_note"] for one in patients.document["columns"]}
    assert 'Taken as missing: "?".' in notes["smoker"]
    assert 'Taken as missing: "unknown".' in notes["cholesterol"]
    assert "Taken as missing" not in notes["region"]


def test_words_that_count_as_missing_are_changed_at_acceptance(patients: Draft) -> None:
    made = Synthesizer()
    made.draft_ = patients
    made.accept_draft(null_values=[""], smoker={"kind": "categorical", "categories": ["Y", "N", "?"]})
    assert made.domain_["csv"]["null_values"] == [""]


def test_later_changes_of_a_draft_add_to_earlier_ones(patients: Draft) -> None:
    made = Synthesizer()
    made.draft_ = patients
    made.accept_draft(region="ignored", rules=[], age={"lower": 10}, postcode="ignored")
    made.accept_draft(
        age={"upper": 80}, postcode={"kind": "categorical", "categories": ["01000"], "other": True}
    )
    columns = {one["name"]: one for one in made.domain_["columns"]}
    assert columns["region"]["kind"] == "ignored", "a column that was hidden stays hidden"
    assert "rules" not in made.domain_
    assert (columns["age"]["lower"], columns["age"]["upper"]) == (10, 80)
    assert columns["postcode"]["categories"] == ["01000"], "the latest change of a column counts"
    with pytest.raises(InputUnusable):
        made.accept_draft(smoker="ignored", nobody="ignored")
    with pytest.raises(InvalidInput):
        made.accept_draft(systolic="ignored", age={"lower": 90})
    made.accept_draft()
    assert {one["name"]: one["kind"] for one in made.domain_["columns"]} == {
        name: one["kind"] for name, one in columns.items()
    }, "a refused change changes nothing"


WORDS_OF_THE_TABLE = ("target", "rules", "privacy_unit", "declared_size", "null_values", "columns")


def colliding() -> Synthesizer:
    """A draft whose columns are called like what changes the whole table."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({name: rng.choice(["a", "b", "c"], ROWS) for name in WORDS_OF_THE_TABLE})
    made = Synthesizer()
    made.draft(frame.assign(price=rng.choice(["low", "mid"], ROWS)))
    return made


def test_a_column_called_target_can_be_the_target_or_not() -> None:
    made = colliding()
    made.accept_draft(target="target")
    assert made.domain_["target"] == "target"
    made.accept_draft(target="price")
    assert made.domain_["target"] == "price"
    made.accept_draft(
        target=None, declared_size=500, null_values=["", "?"], rules=[], privacy_unit="privacy_unit"
    )
    assert (made.domain_["target"], made.domain_["declared_size"]) == (None, 500)
    assert made.domain_["csv"]["null_values"] == ["", "?"]
    assert made.domain_["privacy_unit"] == "privacy_unit"
    assert column(made.domain_, "rules")["kind"] == "categorical"


@pytest.mark.parametrize("name", WORDS_OF_THE_TABLE)
def test_a_column_called_like_a_word_of_the_table_is_changed_under_columns(name: str) -> None:
    made = colliding()
    made.accept_draft(target="price", columns={name: "ignored", "price": {"other": True}})
    made.accept_draft(columns={"price": {"categories": ["low"]}})
    assert column(made.domain_, name)["kind"] == "ignored"
    assert column(made.domain_, "price")["other"] is True, "keys add up, however they are given"
    assert made.domain_["target"] == "price"


@pytest.mark.parametrize("name", [name for name in WORDS_OF_THE_TABLE if name != "columns"])
@pytest.mark.parametrize("wanted", ["ignored", {"other": True}])
def test_the_note_says_how_to_choose_the_column_instead(name: str, wanted: object) -> None:
    with pytest.raises(InputUnusable) as refused:
        colliding().accept_draft(**{name: wanted})
    assert f"To change the column '{name}': accept_draft(columns={{'{name}': ...}})" in str(refused.value)
    with pytest.raises(InputUnusable) as refused:
        Synthesizer().draft(pd.DataFrame({"x": ["a", "b"] * ROWS})).accepted({(name, False): wanted})
    assert "To change the column" not in str(refused.value), "there is no such column"


def test_columns_takes_changes_by_name_of_a_column() -> None:
    with pytest.raises(InputUnusable, match="columns takes the changes of each column"):
        colliding().accept_draft(columns="ignored")
    with pytest.raises(InputUnusable, match="there is no column 'prise'; did you mean 'price'"):
        colliding().accept_draft(columns={"prise": "ignored"})


def test_a_refused_rule_is_named_by_its_number_and_column(patients: Draft) -> None:
    made = Synthesizer()
    made.draft_ = patients
    for rules, said in (
        (
            [{"kind": "at_most", "columns": ["age", "systolick"]}],
            r"rule 1 \(at_most\), columns: .* 'systolick'",
        ),
        ([*patients.document["rules"], {"kind": "atmost"}], r"rule 2 \(atmost\), kind: "),
    ):
        with pytest.raises(InvalidInput, match=said):
            made.accept_draft(rules=rules)
    with pytest.raises(InvalidInput, match="Did you mean 'systolic'"):
        made.accept_draft(rules=[{"kind": "at_most", "columns": ["age", "systolick"]}])


def test_a_fresh_draft_forgets_changes_of_the_one_before() -> None:
    made, frame = Synthesizer(), pd.DataFrame({"x": ["a", "b"] * ROWS, "y": ["c", "d"] * ROWS})
    made.draft(frame)
    made.accept_draft(x="ignored")
    made.draft(frame)
    made.accept_draft(y="ignored")
    assert [one["kind"] for one in made.domain_["columns"]] == ["categorical", "ignored"]


def test_ages_have_the_bounds_of_their_scale_as_the_note_says(patients: Draft) -> None:
    age = column(patients.document, "age")
    assert age["_note"].startswith("Bounds are those of the scale that the name says")
    assert (age["lower"], age["upper"]) == (0, 100), "and not the extremes of the rows"
    (rule,) = patients.document["rules"]
    ends = [pair[0] for pair in rule["pairs"]]
    assert (ends[0]["from"], ends[-1]["to"]) == (0, 100)


def test_narrower_bounds_keep_the_pairs_of_a_rule(patients: Draft) -> None:
    made = Synthesizer()
    made.draft_ = patients
    made.accept_draft(age={"lower": 10, "upper": 80})
    (rule,) = made.domain_["rules"]
    assert [pair[0] for pair in rule["pairs"]] == [
        {"from": 10, "to": 29},
        {"from": 30, "to": 59},
        {"from": 60, "to": 80},
    ]


@pytest.mark.parametrize("rows", [1, 10, 199])
def test_a_draft_of_few_rows_warns_that_it_shows_them(rows: int) -> None:
    draft = drafted(
        salary=[21000 + 7 * n for n in range(rows)], boss=["no", "yes"] * (rows // 2) + ["no"] * (rows % 2)
    )
    for shown in forms(draft).values():
        assert f"WARNING: there are {rows} rows. Below 200 the draft lists words of single rows" in shown


def test_the_command_warns_of_few_rows_as_well(tmp_path: Path) -> None:
    rows, out = tmp_path / "rows.csv", tmp_path / "draft.json"
    rows.write_text("salary,boss\n21000,no\n412345,yes\n")
    done = CliRunner().invoke(app, ["domain", "draft", str(rows), "--out", str(out)])
    assert "WARNING: there are 2 rows. Below 200 the draft lists words of single rows" in done.output
    done = CliRunner().invoke(app, ["domain", "confirm", str(out), "--accept", "all"])
    assert done.exit_code == 0
    assert "WARNING" not in out.read_text(), "a note of the draft, and no part of the domain"


def test_the_warning_of_few_rows_counts_privacy_units() -> None:
    draft = drafted(customer_id=[f"C{n % 50}" for n in range(ROWS)], x=["a", "b"] * (ROWS // 2))
    assert "there are 50 values of 'customer_id'" in forms(draft)["text"]


def test_enough_rows_are_no_reason_to_warn(patients: Draft) -> None:
    assert "WARNING" not in repr(patients)
    assert "WARNING" not in repr(drafted(x=["a", "b"] * 100))


@pytest.mark.parametrize("name", ["name", "full name", "surname", "LastName"])
def test_names_of_few_persons_are_left_out(name: str) -> None:
    people = ["Ann", "Ben", "Cy", "Di", "Ed", "Flo", "Gus", "Hal", "Ida", "Jo"]
    draft = drafted(**{name: people, "boss": ["no", "yes"] * 5})
    assert column(draft.document, name)["kind"] == "ignored"
    assert "names or reaches a person" in column(draft.document, name)["_note"]
    assert "Ann" not in repr(draft)


def test_a_name_of_few_products_stays_a_category() -> None:
    draft = drafted(name=["chair", "table", "lamp"] * 100)
    assert column(draft.document, "name")["categories"] == ["chair", "lamp", "table"]


def test_changes_of_a_column_with_edges_of_equal_ratio_go_together() -> None:
    rng = np.random.default_rng(3)
    pay = np.round(np.exp(rng.normal(10.8, 1, ROWS * 10))).astype(int) + 500
    draft = drafted(pay=pay, ward=rng.integers(0, 9, ROWS * 10))
    assert column(draft.document, "pay")["edges"][0] > 0
    wider = column(draft.accepted({("pay", True): {"lower": 0, "upper": 2_000_000}}), "pay")
    assert (wider["edges"][0], wider["edges"][-1]) == (wider["lower"], wider["upper"]) == (0, 2_000_000)
    learnt = column(draft.accepted({("pay", True): {"bins": "learn"}}), "pay")
    assert "edges" not in learnt


def test_numbers_beside_a_few_words_become_numbers_by_one_word() -> None:
    cylinders = np.random.default_rng(3).choice(["rotary", "3", "4", "5", "6", "8"], ROWS * 4)
    draft = drafted(cylinders=cylinders, ward=np.arange(ROWS * 4) % 9)
    assert column(draft.document, "cylinders")["kind"] == "categorical"
    assert column(draft.accepted({("cylinders", True): "numeric"}), "cylinders")["kind"] == "numeric"


def read(document: Mapping[str, Any]) -> TableDomain:
    return TableDomain.from_json({key: value for key, value in document.items() if key != "declared_size"})


@pytest.fixture(scope="module")
def payments() -> Draft:
    rng = np.random.default_rng(3)
    count = ROWS * 10
    booked = pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 500_000, count), unit="min")
    return drafted(
        amount=np.round(np.exp(rng.normal(3.3, 1.2, count)), 2),
        booked=booked,
        settled=(booked.normalize() + pd.to_timedelta(rng.integers(0, 4, count), unit="D")).date,
        merchant=rng.choice([f"Shop {n}" for n in range(400)], count),
        currency=rng.choice(["EUR", "USD", "GBP"], count),
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"upper": -1}, "'lower' must be below 'upper'"),
        ({"upper": "12"}, "'upper' is a finite number"),
        ({"upper": None}, "'upper' is a finite number"),
        ({"upper": True}, "'upper' is a finite number"),
        ({"upper": float("nan")}, "'upper' is a finite number"),
        ({"upper": float("inf")}, "'upper' is a finite number"),
        ({"lower": 0.2, "upper": 0.2}, "'lower' must be below 'upper'"),
    ],
)
def test_bounds_that_no_number_has_are_refused_by_their_name(
    payments: Draft, change: Mapping[str, Any], said: str
) -> None:
    assert "edges" in column(payments.document, "amount")
    with pytest.raises((InputUnusable, DomainInvalid), match=said):
        read(payments.accepted({("amount", True): change}))


@pytest.mark.parametrize("wrong", [5, None, True])
def test_a_bound_of_dates_that_is_no_date_is_refused_by_its_name(payments: Draft, wrong: object) -> None:
    with pytest.raises(InputUnusable, match="column 'settled': 'upper' is a date or time"):
        payments.accepted({("settled", True): {"upper": wrong}})


def test_bounds_may_be_dates_and_numbers_of_python_and_numpy(payments: Draft) -> None:
    changes = {
        "amount": {"upper": np.int64(5000)},
        "settled": {"upper": pd.Timestamp("2026-02-03")},
        "booked": {"lower": pd.Timestamp("2024-12-31 12:00").to_pydatetime(), "upper": dt.date(2026, 1, 31)},
    }
    document = payments.accepted({(name, True): change for name, change in changes.items()})
    assert read(document)
    assert column(document, "amount")["upper"] == 5000
    assert column(document, "settled")["upper"] == "2026-02-03"
    booked = column(document, "booked")
    assert (booked["lower"], booked["upper"]) == ("2024-12-31T12:00:00", "2026-01-31T23:59:59")


def test_words_of_a_column_whose_words_would_be_learnt_may_be_declared(payments: Draft) -> None:
    assert column(payments.document, "merchant")["categories"] == "learn"
    shops = [f"Shop {n}" for n in range(400)]
    document = payments.accepted({("merchant", True): {"categories": shops}})
    assert read(document)
    assert column(document, "merchant") == {
        "name": "merchant", "kind": "categorical", "categories": shops, "other": True,
    }  # fmt: skip


def test_words_that_are_taken_off_a_list_count_as_other_unless_the_change_says_otherwise(
    payments: Draft,
) -> None:
    fewer = column(payments.accepted({("currency", True): {"categories": ["EUR", "USD"]}}), "currency")
    assert fewer["other"] is True
    refused = {"categories": ["EUR", "USD"], "other": False}
    assert column(payments.accepted({("currency", True): refused}), "currency")["other"] is False


def test_numbers_that_are_called_like_a_key_are_kept_by_one_word() -> None:
    seconds = np.random.default_rng(3).gamma(2, 20, ROWS * 10).astype(int)
    draft = drafted(session=seconds, ward=np.arange(ROWS * 10) % 9)
    assert column(draft.document, "session")["kind"] == "ignored"
    assert "If its numbers measure something, give its kind as 'keep'." in repr(draft).replace(
        "\n      ", " "
    )
    kept = column(draft.accepted({("session", True): "keep", ("privacy_unit", False): "none"}), "session")
    assert (kept["kind"], kept["type"], kept["lower"]) == ("numeric", "integer", 0)


def test_all_lists_a_public_book_and_is_refused_where_none_is_known(payments: Draft) -> None:
    draft = drafted(country=np.resize(["DE", "FR", "NL"], ROWS), ward=np.arange(ROWS) % 9 + 0.5)
    document = draft.accepted({("country", True): {"categories": "all"}})
    assert len(column(document, "country")["categories"]) > 200
    with pytest.raises(InputUnusable, match="column 'currency': no public list is known"):
        payments.accepted({("currency", True): {"categories": "all"}})
    learnt = payments.accepted({("currency", True): {"categories": "learn"}})
    assert column(learnt, "currency")["categories"] == "learn"


@pytest.mark.parametrize("from_file", [False, True])
def test_what_a_draft_would_name_like_a_column_is_not_proposed(tmp_path: Path, from_file: bool) -> None:
    rng = np.random.default_rng(0)
    admitted = np.datetime64("2018-01-01") + rng.integers(0, 2000, ROWS)
    frame = pd.DataFrame({
        "admitted": admitted.astype(str), "admitted.weekday": rng.choice(list("abc"), ROWS), "admitted.month": pd.Series(admitted).dt.month,
        "left": (admitted + rng.integers(0, 9, ROWS)).astype(str), "left.difference": rng.choice(list("abc"), ROWS),
    })  # fmt: skip
    frame.to_csv(tmp_path / "rows.csv", index=False)
    document = draft_domain(tmp_path / "rows.csv") if from_file else Synthesizer().draft(frame).document
    date = column(document, "admitted")
    assert "patterns" not in date
    assert "difference" not in column(document, "left")
    assert "no pattern 'weekday'" in date["_note"]
    assert "Its pattern" not in column(document, "admitted.month")["_note"]
    accepted = Draft(document).accepted({("privacy_unit", False): None})
    accepted.pop("declared_size")
    assert TableDomain.from_json(accepted).columns[0].name == "admitted"


@pytest.mark.parametrize("number", [2**64, 2**70, -(2**64)])
def test_whole_numbers_beyond_64_bits_are_refused_with_their_column(number: int) -> None:
    with pytest.raises(InputUnusable, match="column 'big' holds a whole number that is too large") as refused:
        drafted(small=[1, 2], big=pd.Series([1, number], dtype=object))
    assert str(abs(number)) not in str(refused.value)


def test_intervals_of_arrow_are_left_out() -> None:
    apart = pa.array([(1, 2, 3), (0, 1, 0)], pa.month_day_nano_interval())
    draft = Synthesizer().draft(pa.table({"apart": apart, "n": [1, 2]}))
    assert column(draft.document, "apart")["kind"] == "ignored"
