"""ICD codes and postcodes in drafts: which forms are known, which are not, and which public books are proposed."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.plan.domain.columns.prefixes import shortened as intake_shortened
from core.plan.domain.table import TableDomain
from tests.understudy.drafts.test_tables import column, confirmed
from understudy.drafts.categories import BOOK, NOTE
from understudy.drafts.changes import change
from understudy.drafts.code_counts import codes_at_most
from understudy.drafts.code_forms import BOOKS, shortened
from understudy.drafts.marked_values import marks_of
from understudy.drafts.tables import draft_frame, render_draft
from understudy.drafts.words import code_form
from understudy.errors import InputUnusable
from understudy.table_files import MARK, without_notes

ICD_10 = [
    f"{'ABCDEFGHIJ'[n % 10]}{n * 7 % 100:02d}{('', f'.{n % 9}', f'.{n % 9}{n % 7}')[n % 3]}"
    for n in range(300)
]
ICD_9 = [
    ("V" if n % 9 == 0 else str(n % 9 + 1)) + f"{n * 7 % 100:02d}{('', f'.{n % 9}')[n % 2]}"
    for n in range(300)
]
UK = [
    f"{('SW', 'E', 'M', 'EC')[n % 4]}{1 + n % 9}{'A' if n % 4 == 3 else ''} {n % 10}{'AB'[n % 2]}Q"
    for n in range(100)
]
CANADA = [f"{'KMV'[n % 3]}{n % 10}{'AB'[n % 2]} {n * 3 % 10}B{n % 7}" for n in range(100)]
DUTCH = [f"{1000 + n * 37} {'AK'[n % 2]}B" for n in range(100)]
DIGITS = [f"{n * 331 % 100000:05d}" for n in range(1, 100)]


def draft(columns: Mapping[str, Sequence[Any]], rows: int = 4000) -> dict[str, Any]:
    """Draft a table whose columns repeat their values."""
    return draft_frame(
        pa.table({name: [values[n % len(values)] for n in range(rows)] for name, values in columns.items()})
    )


@pytest.mark.parametrize(
    ("name", "words", "label"),
    [
        ("icd10", ["E11.9", "I10", "Z00.0"], "ICD-10 codes"),
        ("ICD10CM_code", ["E119", "I10", "Z0000", "S72001A"], "ICD-10 codes"),
        ("x", ICD_10, "ICD-10 codes"),
        ("code", [code.replace(".", "") for code in ICD_10], "ICD-10 codes"),
        ("icd9", ["250.00", "428", "401.9"], "ICD-9 codes"),
        ("diag_1", ICD_9, "ICD-9 codes"),
        ("x", ICD_9, "ICD-9 codes"),
        ("dx", [code for code in ICD_9 if code[0] != "V"], "ICD-9 codes"),
        ("zip", ["02139", "10001", "94110-1234"], "ZIP codes"),
        ("zip_code", ["2139", "10001", "94110"], "ZIP codes"),
        ("plz", ["10115", "80331"], "postcodes"),
        ("code_postal", ["75001", "13002"], "postcodes"),
        ("postal_code", ["00-950", "30-001"], "postcodes"),
        ("postcode", ["SW1A 1AA", "EC1A1BB", "M1 1AE"], "postcodes of the United Kingdom"),
        ("home", UK, "postcodes of the United Kingdom"),
        ("postal_code", ["K1A 0B6", "M5V3L9"], "postal codes of Canada"),
        ("home", CANADA, "postal codes of Canada"),
        ("home", DUTCH, "postcodes of the Netherlands"),
        ("fips", ["1001", "36061", "6037"], "FIPS codes"),
        ("county_fips", ["1001.0", "36061.0"], "FIPS codes"),
        ("GEOID", ["01001020100", "36061000100"], "FIPS codes"),
        ("state_fips", ["1", "17", "36", "48"], "FIPS codes"),
        ("zip3", ["21", "100", "606", "941"], "ZIP codes"),
    ],
)
def test_forms_are_known(name: str, words: list[str], label: str) -> None:
    found = code_form(name, words)
    assert found is not None
    assert found.label == label


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sku", [f"{'ABCDEFGH'[n % 8]}{100 + n}" for n in range(300)]),
        ("sku", [f"AB{n}-{n % 9}" for n in range(300)]),
        ("tailnum", [f"N{100 + n}" for n in range(300)]),
        ("room", [f"{'ABCDEF'[n % 6]}{n % 30 + 10}" for n in range(120)]),
        ("year", [str(1990 + n) for n in range(30)]),
        ("station_id", DIGITS),
        ("amount", DIGITS),
        ("order_no", [f"{n:05d}-{n:04d}" for n in range(100)]),
        ("phone_ext", [f"{5000 + n}" for n in range(100)]),
        ("zip_population", DIGITS),
        ("zip_count", ["12", "40", "31"]),
        ("zip", ["archive.zip", "rows.zip"]),
        ("postal_area", ["North", "South", "Berlin"]),
        ("diagnosis", ["M", "B"]),
        ("diagnosis", [str(n) for n in range(12)]),
        ("number_diagnoses", [str(n) for n in range(1, 17)]),
        ("dx", [str(100 + n) for n in range(300)]),
        ("dx", [f"{n / 37:.2f}" for n in range(300)]),
        ("zip_is_known", ["0", "1"]),
        ("in_fips_area", ["0", "1"]),
        ("plz_region", [str(n) for n in range(10)]),
        ("version", [f"V{n}.{n % 3}" for n in range(10, 60)]),
        ("icd", []),
    ],
)
def test_other_codes_and_numbers_are_none_of_them(name: str, words: list[str]) -> None:
    assert code_form(name, words) is None


def test_full_codes_are_drafted_by_their_beginning() -> None:
    many = draft(
        {
            "icd": ICD_10,
            "diag_1": ICD_9,
            "zip": DIGITS,
            "home": UK,
            "there": CANADA,
            "plz": DUTCH,
            "x": ["a", "b"],
        },
        rows=30_000,
    )
    for name, prefix, label in (
        ("icd", 3, "three-character categories of ICD-10"), ("zip", 3, "three leading digits of ZIP codes"),
    ):  # fmt: skip
        found = column(many, name)
        assert (found["kind"], found["prefix"], found["categories"], found["other"]) == (
            "categorical",
            prefix,
            "learn",
            True,
        )
        assert (
            f"only their first {prefix} characters count, for a rare full code may identify a person."
            in found[NOTE]
        )
        assert found[BOOK] == label, "the answer 'all' lists it"
    for name, prefix, label in (
        ("home", "letters", "postcode areas of the United Kingdom"), ("there", 1, "first letters of Canadian postal codes"),
        ("plz", 2, "two leading digits of postcodes"),
    ):  # fmt: skip
        found = column(many, name)
        assert (found["prefix"], found["categories"]) == (prefix, list(BOOKS[label].words)), (
            "whatever the rows hold"
        )
        assert {"prefix", "categories"} <= set(found[MARK]), "a person confirms it"
    old = column(many, "diag_1")
    assert (old["categories"], "prefix" in old) == ("learn", False), (
        "a category of ICD-9 has three characters or four"
    )
    assert "a public book (all 2,100 categories of ICD-9), write a column of" in old[NOTE]
    text = render_draft(many)
    assert not any(f'"{code}"' in text for code in (*ICD_10, *ICD_9, *DIGITS, *UK) if len(code) > 3)
    domain = TableDomain.from_json(confirmed(without_notes(many)))
    assert domain.cells <= codes_at_most(many)


def test_the_beginning_is_shorter_where_most_words_could_not_be_learnt() -> None:
    for rows in (600, 4000):
        few = column(draft({"icd": ICD_10, "x": ["a", "b"]}, rows=rows), "icd")
        assert (few["prefix"], len(few["categories"])) == (1, 26), (
            "a hundred words of 40 rows would nearly all be other"
        )
    assert "of which only their first character count" in few[NOTE]


def test_a_few_rows_outside_the_book_are_other() -> None:
    areas = [*UK * 3, *(code.lower() for code in UK[:6]), "none of them 1"]
    found = column(draft({"postcode": areas, "x": ["a", "b"]}), "postcode")
    assert (found["prefix"], found["other"]) == ("letters", True)
    assert "2 % of the values begin otherwise, such as in small letters, and count as 'other'." in found[NOTE]
    assert ".lower()" not in found[NOTE], "the book has capitals"


@given(text=st.text(max_size=6), prefix=st.sampled_from([1, 3, "letters"]))
def test_drafts_shorten_as_intake_does(text: str, prefix: int | str) -> None:
    assert shortened(text, prefix) == intake_shortened(text, prefix)


def test_a_person_changes_how_much_of_a_code_counts() -> None:
    drafted = draft({"icd": ICD_10, "plz": DUTCH, "x": ["a", "b"]}, rows=30_000)
    icd, plz = column(drafted, "icd"), column(drafted, "plz")

    def answered(holder: dict[str, Any], text: str) -> None:
        change(
            drafted,
            next(mark for mark in marks_of(drafted) if mark.holder is holder and mark.key == "prefix"),
            text,
        )

    answered(icd, "1")
    assert (icd["prefix"], icd["categories"], BOOK in icd) == (1, "learn", False)
    answered(plz, "1")
    assert plz["categories"] == list("0123456789")
    for wrong in ("0", "-1", "many", "1.5"):
        with pytest.raises(InputUnusable, match="column 'icd': the prefix is a number of characters"):
            answered(icd, wrong)
    answered(icd, "letters")
    assert icd["prefix"] == "letters"
    answered(plz, "none")
    assert ("prefix" in plz, plz["categories"], plz["other"]) == (False, "learn", True)
    assert TableDomain.from_json(confirmed(without_notes(drafted)))


def test_shortened_codes_with_few_rows_are_dropped() -> None:
    short = {
        "icd": sorted({code[:3] for code in ICD_10}),
        "zip": [code[:3] for code in DIGITS],
        "x": ["a", "b"],
    }
    icd, zips, _ = draft(short, rows=600)["columns"]
    assert icd["kind"] == zips["kind"] == "ignored"
    assert "a public book (all 26 first letters of ICD-10), write" in icd[NOTE]
    assert "To keep the common ones, list them" in zips[NOTE], "there is no coarser book"
    assert BOOK not in icd


@pytest.mark.parametrize(
    ("name", "codes", "example"),
    [
        ("zip", [601 + 249 * n for n in range(399)], "01001"),
        ("county_fips", [1001 + 137 * n for n in range(399)], "01001"),
        ("plz", [1067 + 243 * n for n in range(399)], "01001"),
        ("zip3", [5 + 4 * n for n in range(240)], "010"),
    ],
)
def test_places_that_were_read_as_numbers_are_codes_as_their_texts_are(
    name: str, codes: list[int], example: str
) -> None:
    texts = [str(code).zfill(len(example)) for code in codes]
    whole = column(draft({name: texts, "x": ["a", "b"]}), name)
    assert whole["kind"] == "categorical"
    assert "leading zeros," not in whole[NOTE]
    for values in (codes, [float(code) for code in codes], [f"{code}.0" for code in codes], [*codes, None]):
        found = column(draft({name: values, "x": ["a", "b"]}), name)
        assert (found["kind"], found["categories"]) == ("categorical", "learn"), "not numbers to add up"
        assert f"such as {example} were read as numbers and lost their leading zeros" in found[NOTE]
        assert f"dtype={{'{name}': str}}" in found[NOTE], "what to do about it"


def test_codes_of_one_width_have_lost_no_zeros() -> None:
    for name, codes in {"plz": [10115, 80331], "zip": [60601, 94110], "fips": [36061, 48113]}.items():
        assert "lost" not in column(draft({name: codes, "x": ["a", "b"]}), name)[NOTE]


def test_states_that_were_read_as_numbers_get_their_book_as_numbers() -> None:
    drafted = draft({"state_fips": [1, 6, 17, 36, 48, 60], "state": ["01", "06"], "x": ["a", "b"]})
    found = column(drafted, "state_fips")
    assert found["categories"][:4] == ["1", "2", "4", "5"]
    assert (len(found["categories"]), found["other"]) == (56, False)
    assert "a public book" in found[NOTE]
    assert "such as 01 were read as numbers and lost" in found[NOTE]
    zips = column(draft({"zip3": [5 + 4 * n for n in range(240)], "x": ["a", "b"]}), "zip3")
    assert zips[BOOK] in BOOKS, "the answer 'all' finds it"


def test_codes_with_a_missing_value_are_codes_though_they_are_written_with_a_point() -> None:
    found = column(
        draft({"store_id": ["3.0", "1.0", "7.0", ""], "dose": ["3.0", "1.0", "7.0"] * 5}), "store_id"
    )
    assert (found["kind"], found["categories"]) == ("categorical", ["1.0", "3.0", "7.0"])


def test_codes_that_are_numbers_with_a_point_are_no_measurement() -> None:
    found = column(draft({"icd9": ["250.00", "428", "401.9"], "x": ["a", "b"]}), "icd9")
    assert found["kind"] == "categorical"
    assert set(found["categories"]) == {"250.00", "428", "401.9"}
    assert "categories" in found[MARK], "a person confirms what the rows hold"
    assert "A rare code may identify a person." in found[NOTE]


def test_small_books_of_shortened_codes_are_proposed_whole() -> None:
    drafted = draft({
        "icd_letter": ["E", "I", "Z"], "postcode_area": ["SW", "E", "M", "??"], "plz2": ["10", "80"], "postal_first": ["K", "M", "V"], "x": ["a", "b"],
    })  # fmt: skip
    for name, label, other in (
        ("icd_letter", "first letters of ICD-10", False), ("plz2", "two leading digits of postcodes", False),
        ("postal_first", "first letters of Canadian postal codes", False),
    ):  # fmt: skip
        found = column(drafted, name)
        assert (found["categories"], found["other"]) == (list(BOOKS[label].words), other)
        assert f"All {len(found['categories'])} {label}, a public book" in found[NOTE]
    assert column(drafted, "postcode_area")["categories"] == ["??", "E", "M", "SW"], (
        "one of four is in no book"
    )
    domain = TableDomain.from_json(confirmed(without_notes(drafted)))
    assert domain.cells <= codes_at_most(drafted)


def test_the_answer_all_lists_a_large_book_of_shortened_codes() -> None:
    categories = sorted({code[:3] for code in ICD_10})
    drafted = draft(
        {"icd": categories, "zip": [code[:3] for code in DIGITS], "dx": ["E11", "I10"] * 2, "x": ["a", "b"]}
    )
    icd, zips = column(drafted, "icd"), column(drafted, "zip")
    for found, label in (
        (icd, "three-character categories of ICD-10"),
        (zips, "three leading digits of ZIP codes"),
    ):
        assert (found["categories"], found[BOOK]) == ("learn", label)
        assert "answer 'all' in `understudy domain confirm` to list all" in found[NOTE]
        mark = next(mark for mark in marks_of(drafted) if mark.holder is found and mark.key == "categories")
        change(drafted, mark, "all")
        assert found["categories"] == list(BOOKS[label].words)
        assert "most" not in found
        assert "most" not in found[MARK]
        assert found["other"] is True, "a code outside the book is counted, not refused"
    change(
        drafted,
        next(mark for mark in marks_of(drafted) if mark.holder is zips and mark.key == "categories"),
        "021, 100",
    )
    assert zips["categories"] == ["021", "100"]
    final = confirmed(without_notes(drafted))
    assert BOOK not in json.dumps(final)
    assert TableDomain.from_json(final)


def test_a_book_is_complete_whatever_the_rows_hold() -> None:
    words = BOOKS["three-character categories of ICD-10"].words
    assert {"A00", "Z99", "C7A", "O9A", "U07"} < set(words)
    assert len(set(words)) == len(words) == 26 * 10 * 12
    assert {"V57", "E878", "001"} < set(BOOKS["categories of ICD-9"].words)
    assert {len(book.words) - len(set(book.words)) for book in BOOKS.values()} == {0}
