"""The privacy unit that a draft proposes, and how many rows of one count."""

import hashlib
import uuid
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.understudy.drafts.test_left_out import keep
from tests.understudy.drafts.test_tables import column, write
from understudy.cli import main
from understudy.drafts import chosen_unit
from understudy.drafts.categories import NOTE
from understudy.drafts.tables import draft_domain, draft_frame, render_draft
from understudy.drafts.words import are_pseudonyms
from understudy.table_files import MARK


def test_a_repeated_key_of_a_person_is_the_privacy_unit(tmp_path: Path) -> None:
    rows = "".join(f"{n % 40 + 7_000_000},{n * 31 % 997},{n}\n" for n in range(120))
    draft = draft_domain(write(tmp_path, ("customer_id,order_id,amount\n" + rows).encode()))
    assert draft["privacy_unit"] == "customer_id"
    unit = column(draft, "customer_id")
    assert (unit["kind"], unit["records"]) == ("unit", "learn")
    assert "records" in unit[MARK], "the rows say that a customer has several"
    assert "How many rows of a unit count is learnt" in unit[NOTE]
    assert draft["declared_size"] == 40, "units, not rows"
    assert "3 rows on average" in draft[NOTE]
    assert draft[MARK] == ["target", "privacy_unit", "declared_size"]


def test_a_table_of_persons_in_which_few_stand_twice_may_hold_copies() -> None:
    ids = [f"P{n}" for n in [*range(400), 3, 7]]
    draft = draft_frame(pa.table({"person_id": ids, "x": ["a", "b"] * 201}))
    assert draft["privacy_unit"] == "person_id"
    assert "few of them stand in more than one row. If those rows are copies, remove them." in draft[NOTE]
    assert "records" not in column(draft, "person_id")


HASHES = [hashlib.sha256(str(n).encode()).hexdigest()[:16] for n in range(40)]
ACCOUNTS = [f"DE{n + 10}500105170000{n:06d}" for n in range(40)]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("pseudonym", [f"p-{n}" for n in range(40)]),
        ("Konto", ACCOUNTS),
        ("x", ACCOUNTS),
        ("x", HASHES),
        ("x", [str(uuid.UUID(int=n)) for n in range(40)]),
        ("Schülernr", [f"{n + 7000}" for n in range(40)]),
        ("card_id", [f"{n + 7000}" for n in range(40)]),
    ],
)
def test_pseudonyms_and_accounts_are_the_unit_whatever_their_column_is_called(
    name: str, values: list[str]
) -> None:
    draft = draft_frame(pa.table({name: values * 3, "y": ["a", "b", "c"] * 40}))
    assert draft["privacy_unit"] == name
    assert column(draft, name)["kind"] == "unit"


def test_of_two_columns_of_pseudonyms_neither_is_modelled_and_a_person_says_whose_rows_they_are() -> None:
    draft = draft_frame(pa.table({"sender": HASHES * 3, "receiver": ACCOUNTS * 3, "y": ["a", "b", "c"] * 40}))
    assert draft["privacy_unit"] is None
    assert [column(draft, name)["kind"] for name in ("sender", "receiver")] == ["ignored", "ignored"]
    assert "make it the privacy unit: 'sender' (3 rows a value), 'receiver' (3 rows a value)" in draft[NOTE]


@pytest.mark.parametrize("values", [[f"{n:012d}" for n in range(40)], HASHES[:20] + ["a", "b"] * 10])
def test_numbers_and_words_are_no_pseudonyms(values: list[str]) -> None:
    assert not are_pseudonyms(values)


def test_of_a_table_too_long_for_memory_no_records_are_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    # private: the real limit is two million rows
    monkeypatch.setattr(chosen_unit, "_MOST_ROWS_LEARNT", 399)
    table = pa.table({"person_id": [f"P{n % 80}" for n in range(400)], "x": ["a", "b"] * 200})
    assert "records" not in column(draft_frame(table), "person_id")


def test_a_key_that_names_no_person_is_only_pointed_at(tmp_path: Path) -> None:
    rows = "".join(f"b{n % 40},{n}.5\n" for n in range(120))
    draft = draft_domain(write(tmp_path, ("branch_id,amount\n" + rows).encode()))
    assert draft["privacy_unit"] is None
    assert "'branch_id' (3 rows a value)" in draft[NOTE]


RNG = np.random.default_rng(11)
LOANS = 10_000 + np.repeat(np.arange(2000), RNG.geometric(1 / 4, 2000))
"""The numbers of 2,000 readers, of whom many have one loan and some have dozens."""
FIRMS = np.tile(RNG.choice(1_000_000, 150, replace=False), 9)
"""Nine years of firms."""
PRESSURES = np.rint(RNG.normal(1300, 150, 6000)).astype(int)
PRICES = np.rint(RNG.lognormal(6, 1, 6000)).astype(int)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("reader", LOANS),
        ("k", LOANS),
        ("fi", FIRMS),
        ("game", np.tile(np.arange(1, 161), 2)),
        ("fi", np.tile(FIRMS[:150], 2)),
        ("class", np.tile(np.arange(200, 350), 9)),
    ],
)
def test_whole_numbers_that_repeat_evenly_are_asked_about_and_not_modelled(
    name: str, values: np.ndarray
) -> None:
    draft = draft_frame(pa.table({name: values, "y": RNG.integers(0, 3, len(values))}))
    found = column(draft, name)
    assert found["kind"] == "ignored"
    assert (
        "If it says whose row it is, make it the privacy unit. Its whole numbers repeat evenly" in found[NOTE]
    )
    assert f"make it the privacy unit: {name!r} (" in draft[NOTE]
    keep(draft, name)
    assert column(draft, name)["kind"] == "numeric"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("k", PRESSURES),
        ("k", PRICES),
        ("age_of_claim", RNG.integers(0, 400, 6000)),
        ("k", RNG.integers(0, 60, 6000)),
        ("k", np.where(RNG.random(6000) < 0.3, 0, RNG.integers(1, 900, 6000))),
        ("glu", np.rint(RNG.normal(120, 28, 330)).astype(int)),
        ("glu", RNG.integers(25, 347, 440)),
        ("target", np.tile(np.arange(25, 245), 2)),
    ],
)
def test_quantities_are_no_numbers_of_persons(name: str, values: np.ndarray) -> None:
    draft = draft_frame(pa.table({name: values, "y": RNG.integers(0, 3, len(values))}))
    assert "repeat evenly" not in column(draft, name).get(NOTE, "")
    assert column(draft, name)["kind"] != "ignored"


def test_names_of_few_persons_are_dropped_and_words_under_a_name_are_kept() -> None:
    persons = [f"Maria {letter}." for letter in "ABCDEFGHIJ"]
    few = draft_frame(pa.table({"name": persons, "y": ["a", "b"] * 5}))
    assert column(few, "name")["kind"] == "ignored"
    products = draft_frame(pa.table({"name": ["tea", "coffee", "milk"] * 40, "y": ["a", "b", "c"] * 40}))
    assert column(products, "name")["kind"] == "categorical"


def test_a_number_called_target_is_the_target() -> None:
    draft = draft_frame(pa.table({"target": RNG.integers(25, 347, 440), "sex": RNG.choice(["f", "m"], 440)}))
    assert (draft["target"], column(draft, "target")["kind"]) == ("target", "numeric")


@pytest.mark.parametrize("name", ["postal_code", "Postcode", "zip", "PLZ", "icd10_code", "Primary dx code"])
def test_a_place_or_a_diagnosis_is_nobody(name: str) -> None:
    codes = [
        f"{'EIJKM'[n % 5]}{n:02d}.{n % 7}"
        if "code" in name and "post" not in name
        else f"{1000 + 7 * n} F{'ABC'[n % 3]}"
        for n in range(60)
    ]
    drafted = draft_frame(pa.table({name: codes * 4, "x": ["a", "b"] * 120}))
    assert "make it the privacy unit" not in drafted[NOTE]
    assert "whose row" not in column(drafted, name)[NOTE]


@pytest.mark.parametrize("form", ["{year}-W{part:02}", "KW{part}/{year}", "{year}Q{part}"])
def test_a_part_of_a_year_is_nobody(form: str) -> None:
    parts = [form.format(year=2000 + n % 24, part=1 + n % 4) for n in range(240)]
    drafted = draft_frame(pa.table({"part": parts, "x": ["a", "b"] * 120}))
    assert "make it the privacy unit" not in drafted[NOTE]


@pytest.mark.parametrize("name", ["Auftrag", "Auftragsnummer", "belegnr"])
def test_german_numbers_of_things_are_no_measurement(name: str) -> None:
    rng = np.random.default_rng(5)
    drafted = draft_frame(
        pa.table({name: rng.integers(10**7, 10**8, 3000).repeat(2), "x": ["a", "b"] * 3000})
    )
    assert column(drafted, name)["kind"] == "ignored"
    assert f"make it the privacy unit: '{name}' (2 rows a value)" in drafted[NOTE]


@pytest.mark.parametrize(
    "name",
    [
        "Readmitted 30d",
        "readmitted_30_days",
        "died_within_30_days",
        "readmitted90",
        "is_fraud",
        "isFraud",
        "fraud_flag",
    ],
)
def test_an_outcome_with_words_beside_it_is_the_target(name: str) -> None:
    drafted = draft_frame(
        pa.table({name: ["0", "1"] * 100, "ward": ["a", "b", "c", "d"] * 50, "x": ["u", "v"] * 100})
    )
    assert drafted["target"] == name


def test_the_answer_quotes_a_name_for_a_shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join(f"b{n % 40},{n}.5\n" for n in range(120))
    file = tmp_path / "draft.json"
    file.write_text(
        render_draft(draft_domain(write(tmp_path, ("Branch Office ID,amount\n" + rows).encode())))
    )
    monkeypatch.setattr("sys.argv", ["understudy", "domain", "confirm", str(file), "--accept", "all"])
    with pytest.raises(SystemExit):
        main()
    assert "--privacy-unit 'Branch Office ID' (or another column)" in capsys.readouterr().err
