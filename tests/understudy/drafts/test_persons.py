"""Columns that reach or name persons: as the privacy unit, as a question, and never released unseen."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.understudy.drafts.test_tables import column
from understudy import Synthesizer
from understudy.drafts.categories import NOTE
from understudy.drafts.hints import warnings_of
from understudy.drafts.persons import names_contact
from understudy.errors import InputUnusable

ROWS = 300
EMAILS = [f"u{n}@example.org" for n in range(100)]
PHONES = [f"+49 30 {n:06d}" for n in range(100)]
NAMES = [f"Person {chr(65 + n % 26)}{chr(97 + n // 26)}" for n in range(100)]
KEYS = [f"K{n}" for n in range(100, 200)]
NUMBERS = list(range(100, 200))


def drafted(**columns: Any) -> dict[str, Any]:
    """A draft of rows in which each of a hundred values stands three times."""
    given = {name: list(values) * 3 if len(values) == 100 else values for name, values in columns.items()}
    return Synthesizer().draft(pd.DataFrame({**given, "x": ["a", "b", "c"] * 100})).document


@pytest.mark.parametrize(
    ("name", "values"),
    [
        *((name, EMAILS) for name in ("email", "E-Mail", "e_mail_address", "customer_email", "Kunden-E-Mail", "courriel", "correo", "adresse_email")),
        *((name, PHONES) for name in ("phone", "Telefon", "mobile", "Handynummer", "téléphone", "teléfono", "cellulare")),
        ("phone", [491700000000 + n for n in range(100)]),
        *((name, NAMES) for name in ("full_name", "patient_name", "Name des Patienten", "nombre_completo", "customerName", "username")),
        *((name, KEYS) for name in ("Kunde", "Kundin", "client", "Cliente", "paziente", "patiente", "Mandant", "dipendente", "socio", "id_cliente", "código_paciente", "num_client", "customers_id", "PatNr", "matricola")),
        *((name, KEYS) for name in ("NHS/Local ID", "nhs_number", "local_patient_identifier", "Hashed Customer ID", "study_participant_id")),
        *((name, NUMBERS) for name in ("id", "ID", "pid", "nr", "Kd-Nr", "Kundennummer", "idcode", "numero_paziente")),
    ],
)  # fmt: skip
def test_a_column_of_persons_that_repeats_is_the_unit(name: str, values: list[Any]) -> None:
    draft = drafted(**{name: values})
    assert draft["privacy_unit"] == name
    assert (draft["declared_size"], column(draft, name)["records"]) == (100, "learn")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        *((name, NAMES) for name in ("name", "Nom", "nombre", "nome", "Nachname", "surname", "cognome")),
        ("manager_email", EMAILS),
        ("contact", EMAILS),
        ("Adresse", [f"Allee {n}" for n in range(100)]),
        ("subject", NAMES),
    ],
)
def test_of_a_weaker_case_a_person_decides(name: str, values: list[Any]) -> None:
    draft = drafted(**{name: values})
    assert draft["privacy_unit"] is None
    assert f"make it the privacy unit: {name!r} (3 rows a value)" in draft[NOTE]


def test_of_two_addresses_in_a_row_a_person_decides() -> None:
    draft = drafted(sender_email=EMAILS, receiver_email=EMAILS[::-1], customer_email=EMAILS, email=EMAILS)
    assert draft["privacy_unit"] is None
    assert "'email' (3 rows a value)" in draft[NOTE]
    drawn = drafted(id=NUMBERS, nr=NUMBERS)
    assert drawn["privacy_unit"] is None


def test_who_is_reached_by_what_few_rows_share_is_asked_about() -> None:
    phones = [f"030 {n:06d}" for n in range(290)] + [f"030 {n:06d}" for n in range(10)]
    draft = drafted(phone=phones)
    assert draft["privacy_unit"] is None
    assert "'phone' (1 rows a value)" in draft[NOTE], "a switchboard, or copies"
    surnames = [f"Kohl{n:03d}" for n in range(295)] + [f"Kohl{n:03d}" for n in range(5)]
    assert "no column seems to say" in drafted(LAST=surnames, MAIDEN=surnames)[NOTE]


def test_who_is_named_beats_what_is_numbered() -> None:
    draft = drafted(
        session=[f"{n:08x}-0000-0000-0000-000000000000" for n in range(100)], id=NUMBERS, email=EMAILS
    )
    assert draft["privacy_unit"] == "email"
    assert drafted(id=NUMBERS, user_id=KEYS, email=EMAILS)["privacy_unit"] == "user_id"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("patients", NUMBERS),
        ("Kunden", NUMBERS),
        ("Personal", NUMBERS),
        ("n_clients", NUMBERS),
        ("emails", NUMBERS),
        ("phone", [n / 7 for n in range(100)]),
        ("mobile", NUMBERS),
        ("station_name", NAMES),
        ("subject_name", NAMES),
        ("card_name", NAMES),
        ("Steuer", NUMBERS),
        ("product", NAMES),
        ("first_name", NAMES),
        ("identity", NAMES),
    ],
)
def test_counts_and_names_of_things_are_no_unit(name: str, values: list[Any]) -> None:
    rng = np.random.default_rng(1)
    draft = drafted(**{name: rng.choice(np.asarray(values), ROWS)})
    assert draft["privacy_unit"] is None
    assert "no column seems to say" in draft[NOTE]


def test_a_lone_key_is_one_key_alone() -> None:
    assert drafted(order_id=NUMBERS)["privacy_unit"] is None
    made = Synthesizer()
    made.draft(pd.DataFrame({"order_id": NUMBERS * 3, "x": ["a", "b", "c"] * 100}))
    with pytest.raises(InputUnusable, match="'order_id' may say it"):
        made.accept_draft()


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("contact", ["ann@x.org", "ben@x.org", "cy@x.org"]),
        ("email", ["ann@x.org", "ben@x.org", "cy@x.org"]),
        ("Telefon", ["030 123456", "030 234567", "030 345678"]),
        ("Vorname", ["Ann", "Ben", "Cy"]),
        ("last_name", ["Ames", "Bell", "Cole"]),
        ("patient_name", ["Ann Ames", "Ben Bell", "Cy Cole"]),
    ],
)
def test_what_names_or_reaches_few_persons_is_left_out_however_often(name: str, values: list[str]) -> None:
    draft = drafted(**{name: values * 100})
    assert column(draft, name)["kind"] == "ignored"
    assert "names or reaches a person" in column(draft, name)[NOTE]


@pytest.mark.parametrize("name", ["phone", "Telefonnummer", "ssn", "passport no"])
@pytest.mark.parametrize("many", [3, 100])
def test_numbers_that_reach_or_identify_a_person_are_no_measurement(name: str, many: int) -> None:
    numbers = [493012345678 + 1001 * n for n in range(many)]
    draft = drafted(user_id=KEYS, **{name: (numbers * 100)[:ROWS]})
    assert column(draft, name)["kind"] == "ignored"
    assert "names or reaches a person" in column(draft, name)[NOTE]
    assert column(drafted(user_id=KEYS, **{name: [0, 1, 2] * 100}), name)["kind"] != "ignored"


def test_words_under_a_bare_name_are_released_only_with_a_warning() -> None:
    draft = drafted(name=["Ann Ames", "Ben Bell", "Cy Cole"] * 100)
    assert column(draft, "name")["kind"] == "categorical"
    assert warnings_of(draft) == [
        "WARNING: name: called like what names a person, and its words would be public. If they name persons, give its kind as 'ignored'."
    ]
    assert not warnings_of(drafted(email=["yes", "no", "yes"] * 100, clinic_name=["A", "B", "C"] * 100))


@pytest.mark.parametrize(
    ("name", "is_contact"),
    [
        ("last_login", False),
        ("lastLogin", False),
        ("email_sent_at", False),
        ("Address change date", False),
        ("login", True),
        ("user_login", True),
        ("login name", True),
        ("last name", True),
        ("email", True),
    ],
)
def test_moments_of_a_contact_reach_nobody(name: str, is_contact: bool) -> None:
    assert names_contact(name) is is_contact
