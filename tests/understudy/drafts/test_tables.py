import gzip
import io
import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from core.data.intake.intake import CSV, PARQUET, receive
from core.data.intake.intake_report import IntakeReport
from core.plan.domain.errors import DomainUnconfirmed
from core.plan.domain.table import TableDomain
from understudy.drafts.categories import NOTE
from understudy.drafts.chosen_unit import nice_size
from understudy.drafts.code_counts import codes_at_most
from understudy.drafts.tables import draft_domain, draft_frame, render_draft
from understudy.drafts.words import code_book
from understudy.errors import InputUnusable, NotInstalled
from understudy.table_files import MARK

ROWS = 60
LINES = [
    "id,age,ward,note,paid,score,admitted,seen,born,dead,nothing,code,flag",
    *(
        f"P{row:03},{20 + row % 37},{'AB'[row % 2]},text {row * 7919 % 997} {row % 53},{0 if row % 2 else row * 40},"
        f"{row / 8},2020-0{1 + row % 9}-11,2020-03-04 1{row % 10}:30:0{row % 2},{1 + row % 28}/0{1 + row % 9}/1999,"
        f"{'yes' if row % 3 else 'no'},,{row % 70},{'?' if row == 5 else row % 2}"
        for row in range(ROWS)
    ),
]
DATA = ("\n".join(LINES) + "\n").encode()


@pytest.mark.parametrize(
    ("rows", "size"),
    [(1, 10), (14, 10), (155, 160), (3333, 3300), (1499, 1500), (8008, 8000), (99_999, 100_000)],
)
def test_the_declared_size_is_drafted_to_two_digits(rows: int, size: int) -> None:
    assert nice_size(rows) == size


def write(folder: Path, data: bytes, name: str = "rows.csv") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def confirmed(value: object) -> object:
    """What a person does who agrees with everything: delete the marks (and move the size to the command line)."""
    if isinstance(value, dict):
        return {key: confirmed(item) for key, item in value.items() if key not in {MARK, "declared_size"}}
    return [confirmed(item) for item in value] if isinstance(value, list) else value


def column(draft: dict, name: str) -> dict:
    return next(entry for entry in draft["columns"] if entry["name"] == name)


def received(path: Path, draft: dict, kind: str = CSV) -> IntakeReport:
    domain = TableDomain.from_json(confirmed(draft))
    with path.open("rb") as file:
        return receive(file, content_type=kind, domain=domain, sink=io.BytesIO(), scratch_folder=path.parent)


def taken_in(path: Path, draft: dict) -> dict[str, dict[str, int]]:
    """What was changed in each column, where no row is refused."""
    report = received(path, draft)
    assert report.rows_refused == 0
    return {name: dict(kinds) for name, kinds in report.changes.items() if kinds}


def accepted(path: Path, draft: dict, kind: str = CSV) -> tuple[int, int]:
    report = received(path, draft, kind)
    # The value at each end that one row alone has may lie beyond the bounds.
    assert all(kinds.keys() <= {"clamped"} and kinds["clamped"] <= 2 for kinds in report.changes.values())
    return report.rows_accepted, report.rows_refused


def test_a_confirmed_draft_takes_in_its_own_file_without_changing_a_value(tmp_path: Path):
    path = write(tmp_path, DATA)
    assert accepted(path, draft_domain(path)) == (ROWS, 0)


def test_times_are_drafted_with_the_patterns_that_their_bins_do_not_show(tmp_path: Path):
    path = tmp_path / "rows.csv"
    rows = [
        f"2015-03-{1 + n % 28:02d},2021-11-{1 + n % 30:02d},2021-12-24 {n % 24:02d}:15:00,{1990 + n % 20}-01-01T0{n % 2}:00:00"
        for n in range(60)
    ]
    path.write_text(
        "\n".join(
            ["born,paid,seen,made", *rows, "2021-01-01,2021-12-30,2021-12-30 00:00:00,2020-05-05T00:00:00"]
        )
        + "\n"
    )
    columns = {column["name"]: column for column in draft_domain(path)["columns"]}
    assert columns["born"]["patterns"] == ["weekday", "month"]
    assert "patterns" not in columns["paid"], "days of two months are told apart"
    assert columns["seen"]["patterns"] == ["hour"]
    assert columns["made"]["patterns"] == ["hour", "weekday", "month"]
    assert (columns["made"]["resolution"], columns["seen"]["resolution"]) == ("hour", "minute")


def test_the_codes_of_a_draft_are_bounded_from_above(tmp_path: Path):
    draft = draft_domain(write(tmp_path, DATA))
    exact = TableDomain.from_json(confirmed(draft)).cells
    assert exact <= codes_at_most(draft) <= 1.2 * exact


def test_an_unconfirmed_draft_is_refused_and_every_value_is_marked(tmp_path: Path):
    draft = draft_domain(write(tmp_path, DATA))
    draft.pop("declared_size")
    with pytest.raises(DomainUnconfirmed) as caught:
        TableDomain.from_json(draft)
    assert "/columns/1/lower" in caught.value.pointers
    for entry in draft["columns"]:
        assert set(entry) - {MARK, "_note"} == set(entry[MARK])
    for entry in draft["columns"]:
        entry.pop(MARK)
    with pytest.raises(DomainUnconfirmed):  # the marks of the dialect and of the size are still there
        TableDomain.from_json(draft)


def test_kinds_are_found(tmp_path: Path):
    draft = draft_domain(write(tmp_path, DATA))
    assert {entry["name"]: entry["kind"] for entry in draft["columns"]} == {
        "id": "ignored", "age": "numeric", "ward": "categorical", "note": "ignored", "paid": "numeric",
        "score": "numeric", "admitted": "date", "seen": "datetime", "born": "date", "dead": "boolean",
        "nothing": "ignored", "code": "ignored", "flag": "categorical",
    }  # fmt: skip
    assert (column(draft, "age")["lower"], column(draft, "age")["upper"]) == (0, 100)
    assert column(draft, "paid")["specials"] == [0]
    assert column(draft, "score") == {
        "name": "score", "kind": "numeric", "type": "real", "lower": 0, "upper": 7.5, "decimals": 3, "multiple_of": 0.125,
        NOTE: "Bounds are rounded and cover all rows; even bins keep the quartiles. Synthetic values are multiples of 0.125, like nearly all values.",
        MARK: ["name", "kind", "type", "lower", "upper", "decimals", "multiple_of"],
    }  # fmt: skip
    assert column(draft, "seen")["resolution"] == "second"
    assert column(draft, "born")["format"] == "%d/%m/%Y"
    assert (column(draft, "admitted")["lower"], column(draft, "admitted")["upper"]) == (
        "2020-01-01",
        "2020-12-31",
    )
    assert (column(draft, "dead")["true"], column(draft, "dead")["false"]) == ("yes", "no")
    assert column(draft, "flag")["null"] == "category"
    assert draft["csv"]["null_values"] == ["", "?"]
    assert draft["declared_size"] == 60


def test_bounds_are_widened_to_round_numbers(tmp_path: Path):
    values = [3.07, 1234.5, 98765.4, 5.25]
    draft = draft_domain(write(tmp_path, ("x,y\n" + "\n".join(f"{v},1" for v in values)).encode()))
    assert (column(draft, "x")["lower"], column(draft, "x")["upper"]) == (0, 100000)


def test_no_text_of_a_free_text_column_enters_the_draft(tmp_path: Path):
    text = render_draft(draft_domain(write(tmp_path, DATA)))
    assert "text 0" not in text
    assert "P001" not in text


def test_files_without_header_with_other_delimiters_blanks_and_gzip(tmp_path: Path):
    data = b"\xef\xbb\xbf" + b"".join(
        b" %d ; a ;x;2020-01-01\n %d ; b ;x;2020-01-02\n" % (n, n) for n in range(30)
    )
    path = write(tmp_path, gzip.compress(data), "rows.csv.gz")
    draft = draft_domain(path)
    assert draft["csv"] == {
        "delimiter": ";", "header": False, "null_values": [""], "strip_spaces": True,
        MARK: ["delimiter", "header", "null_values", "strip_spaces"],
    }  # fmt: skip
    assert [entry["name"] for entry in draft["columns"]] == ["column1", "column2", "column3", "column4"]
    assert accepted(write(tmp_path, data), draft) == (60, 0)


def test_declared_answers_are_not_guessed(tmp_path: Path):
    draft = draft_domain(write(tmp_path, b"a|b\nc|d\na|d\n"), header=False, delimiter="|")
    assert draft["csv"][MARK] == ["null_values", "strip_spaces"]
    assert column(draft, "column1")["categories"] == ["a", "c"]


def test_parquet(tmp_path: Path):
    path = tmp_path / "rows.parquet"
    table = pa.table({
        "n": [1, 2, None, 4], "d": pa.array([18000, 18001, 18002, 18003], pa.date32()), "w": ["a", "b", "a", "b"],
        "t": pa.array([0, 60, 120, 180], pa.timestamp("s")), "ok": [True, False, True, True], "list": [[1], [2], [3], [4]],
    })  # fmt: skip
    pq.write_table(table, path)
    draft = draft_domain(path)
    assert "csv" not in draft
    assert [entry["kind"] for entry in draft["columns"]] == [
        "numeric", "date", "categorical", "datetime", "boolean", "ignored"
    ]  # fmt: skip
    assert accepted(path, draft, PARQUET) == (4, 0)


def test_a_large_file_is_read_in_batches(tmp_path: Path):
    lines = "".join(f"{row},{row % 7000},w{row % 90},{row % 3}e2\n" for row in range(250_000))
    draft = draft_domain(write(tmp_path, ("id,n,w,x\n" + lines).encode()))
    assert [entry["kind"] for entry in draft["columns"]] == ["ignored", "numeric", "categorical", "numeric"]
    assert draft["declared_size"] == 250_000


def test_the_rendered_draft_is_the_draft(tmp_path: Path):
    draft = draft_domain(write(tmp_path, DATA))
    assert json.loads(render_draft(draft)) == draft


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", "empty"), (b"\n\n", "empty"), (b"a,b\n1,caf\xe9\x81\n", "UTF-8"), (b"PAR1broken", "cannot be read"), (gzip.compress(b"a,b\n" * 99)[:-12], "cannot be read"),
    ],
    ids=["no bytes", "no lines", "not utf-8", "not parquet", "cut gzip"],
)  # fmt: skip
def test_unusable_files(tmp_path: Path, data: bytes, match: str):
    with pytest.raises(InputUnusable, match=match):
        draft_domain(write(tmp_path, data))


def test_words_that_differ_in_case_alone_are_pointed_at():
    answers = ["TRUE", "true", "True", "FALSE", "false", "False"] * 50
    drafted = draft_frame(pa.table({"active": answers, "ward": ["Eye", "eye", "Skin"] * 100}))
    for name in ("active", "ward"):
        assert f"(in pandas, frame['{name}'] = frame['{name}'].str.lower())" in column(drafted, name)[NOTE]
    alike = draft_frame(
        pa.table({"active": [word.lower() for word in answers], "ward": ["Eye", "Skin"] * 150})
    )
    assert column(alike, "active")["kind"] == "boolean"
    assert "lower()" not in column(alike, "ward")[NOTE]


def test_a_missing_file(tmp_path: Path):
    with pytest.raises(InputUnusable, match="no file"):
        draft_domain(tmp_path / "none.csv")


def test_without_pyarrow_the_remedy_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(NotInstalled, match="the extra `offline` is enough"):
        draft_domain(write(tmp_path, DATA))


def test_bands_and_codes_have_their_kinds(tmp_path: Path):
    bands = ["18-24", "25-64", "65+", "<18"]
    rows = "".join(f"{bands[n % 4]},{n % 7},{n // 7 % 7},0{n % 30 + 100},{20 + n % 40}\n" for n in range(200))
    draft = draft_domain(write(tmp_path, ("age,ward_type,visits,plz,years\n" + rows).encode()))
    assert column(draft, "age")["levels"] == ["<18", "18-24", "25-64", "65+"]
    assert column(draft, "ward_type")["categories"] == [str(n) for n in range(7)]
    assert column(draft, "visits")["kind"] == "numeric"
    assert column(draft, "plz")["kind"] == "categorical", "a number that begins with 0 is a code"


def test_stages_in_roman_numbers_have_their_order():
    draft = draft_frame(pa.table({"stage": ["IV", "I", "III", None, "II"] * 40, "x": ["a", "b"] * 100}))
    assert column(draft, "stage")["levels"] == ["I", "II", "III", "IV"]


def test_a_name_that_says_a_natural_scale_has_its_bounds(tmp_path: Path):
    rows = "".join(
        f"{1 + n % 12},{1 + n % 31},{n % 24},{1 + n % 7},{n % 80}.5,{3 + n % 95},{1 + n % 30}\n"
        for n in range(400)
    )
    draft = draft_domain(
        write(tmp_path, ("month,day,hour,day_of_week,discount_pct,age_years,stay\n" + rows).encode())
    )
    found = {entry["name"]: (entry["lower"], entry["upper"]) for entry in draft["columns"]}
    assert found == {
        "month": (1, 12), "day": (1, 31), "hour": (0, 23), "day_of_week": (1, 7), "discount_pct": (0, 100),
        "age_years": (0, 100), "stay": (1, 30),
    }  # fmt: skip
    assert "the scale that the name says" in column(draft, "day")[NOTE]
    assert column(draft, "day")[MARK] == ["name", "kind", "type", "lower", "upper"], (
        "it is marked all the same"
    )


def test_what_does_not_fit_a_natural_scale_has_bounds_of_its_own(tmp_path: Path):
    rows = "".join(f"{n % 400},{n % 100 / 100}\n" for n in range(4000))
    draft = draft_domain(write(tmp_path, ("day,share_pct\n" + rows).encode()))
    assert (column(draft, "day")["lower"], column(draft, "day")["upper"]) == (0, 400)
    assert column(draft, "share_pct")["upper"] == 1, "even bins from 0 to 100 would keep nothing of shares"


def test_times_of_the_clock_have_a_bin_for_each_hour(tmp_path: Path):
    minutes = [n % 24 * 100 + n * 7 % 60 for n in range(1440)]
    both = [*minutes, 2400]
    rows = "".join(
        f"{time},{later},{n % 2400},{n % 48 * 50}\n"
        for n, (time, later) in enumerate(zip(both, both[::-1], strict=True))
    )
    path = write(tmp_path, ("dep,sched_time,flight_no,fee\n" + rows).encode())
    draft = draft_domain(path)
    for name in ("dep", "sched_time"):
        found = column(draft, name)
        assert found["edges"][:4] == [0, 60, 100, 160]
        assert (found["edges"][-1], found["specials"]) == (2359, [2400])
    assert "edges" not in column(draft, "flight_no")
    assert "edges" not in column(draft, "fee"), "every multiple of fifty has minutes below 60"
    assert accepted(path, draft) == (1441, 0)
    domain = TableDomain.from_json(confirmed(draft))
    assert domain.cells <= codes_at_most(draft)
    odd = write(tmp_path, ("sched_time\n" + "".join(f"{time}\n" for time in [*minutes, 1260])).encode())
    assert "edges" not in column(draft_domain(odd), "sched_time"), "1260 is no time of the clock"


def test_numbers_that_are_spread_as_codes_are_are_categories(tmp_path: Path):
    """Marital status and origin of a survey have peaks and holes; counts fall off, and a scale rises and falls once."""
    shapes = {
        "MSP": {1: 400, 2: 20, 3: 60, 4: 100, 5: 15, 6: 405}, "RAC": {1: 600, 2: 200, 6: 100, 8: 100}, "OWN": {0: 100, 1: 600, 2: 300},
        "NOC": {0: 500, 1: 250, 2: 150, 3: 70, 4: 30}, "LIK": {1: 100, 2: 200, 3: 400, 4: 200, 5: 100}, "Q2": {1: 170, 2: 180, 3: 190, 4: 180, 5: 180, 99: 100},
        "visits": {0: 500, 1: 100, 2: 300, 3: 100}, "kw": {55: 500, 66: 100, 81: 400},
    }  # fmt: skip
    columns = [[value for value, count in shape.items() for _ in range(count)] for shape in shapes.values()]
    rows = "\n".join(",".join(map(str, row)) for row in zip(*columns, strict=True))
    draft = draft_domain(write(tmp_path, f"{','.join(shapes)}\n{rows}\n".encode()))
    kinds = {entry["name"]: entry["kind"] for entry in draft["columns"]}
    assert {name for name, kind in kinds.items() if kind == "categorical"} == {"MSP", "RAC", "OWN"}
    assert column(draft, "Q2")["specials"] == [99]


def test_codes_of_long_lists_are_categories(tmp_path: Path):
    """Industries stand far apart and in many rows each; states leave out single numbers; neither is a squared or rounded quantity."""
    industries = [170 + 10 * (n * n % 997) for n in range(60)]
    states = [n for n in range(1, 57) if n not in {3, 7, 14, 43, 52}]
    made = {
        "work": lambda n: industries[n % 60], "OCCP": lambda n: 10 * (n % 400), "home": lambda n: states[n % len(states)],
        "OWN_RENT": lambda n: n % 3, "value": lambda n: n % 4, "agesq": lambda n: (20 + n % 55) ** 2,
        "limit": lambda n: 10_000 * (1 + n % 60), "paid": lambda n: 1000 * (n % 60) if n % 10 else 17 * n, "hours": lambda n: 1 + n % 48,
    }  # fmt: skip
    rows = "\n".join(",".join(str(make(n)) for make in made.values()) for n in range(3000))
    draft = draft_domain(write(tmp_path, f"{','.join(made)}\n{rows}\n".encode()))
    codes = {entry["name"] for entry in draft["columns"] if entry["kind"] == "categorical"}
    assert codes == {"work", "OCCP", "home", "OWN_RENT"}
    assert column(draft, "OCCP")["categories"] == "learn"


def test_identifiers_that_repeat_are_asked_about(tmp_path: Path):
    rows = "".join(f"N{14000 + n % 200}UA,{n % 150},2024-01-{1 + n % 28:02d},{n}\n" for n in range(3000))
    draft = draft_domain(write(tmp_path, ("plane,flight,last_order,x\n" + rows).encode()))
    assert draft["privacy_unit"] is None
    assert "make it the privacy unit: 'plane' (15 rows a value), 'flight' (20 rows a value)." in draft[NOTE]
    for name in ("plane", "flight"):
        assert column(draft, name)[NOTE].startswith("An identifier that repeats.")


def test_an_index_without_a_name_is_refused_with_the_remedy(tmp_path: Path):
    path = write(tmp_path, b",age,sex\n0,31,f\n1,42,m\n")
    for header in (None, True):
        with pytest.raises(InputUnusable, match=r"column 1 has no name .*index=False"):
            draft_domain(path, header=header)
    missing_first = draft_domain(write(tmp_path, b",red\nbig,blue\nsmall,red\n"))
    assert not missing_first["csv"]["header"], "the first value of rows without a header may be missing"


@pytest.mark.parametrize(
    ("name", "words", "book"),
    [
        ("country", ["DE", "FR", "AT"], "ISO 3166 alpha-2 codes"),
        ("iso_num", ["276", "250", "040"], "ISO 3166 numeric codes"),
        ("origin", ["DEU", "FRA", "AUT", "CHE", "USA"], "ISO 3166 alpha-3 codes"),
        ("born_in", ["Germany", "France", "Vietnam", "Turkey", "Bolivia", "Atlantis"], None),
        ("state", ["DE", "AL", "GA", "MD", "PA"], None),
    ],
)
def test_countries_are_a_public_book(name: str, words: list[str], book: str | None):
    assert code_book(name, words) == book


def test_words_for_missing_are_found_among_numbers_and_words(tmp_path: Path):
    rows = "".join(
        f"{'N' if n % 5 == 0 else n},{'unknown' if n % 3 == 0 else 'ab'[n % 2]}\n" for n in range(90)
    )
    path = write(tmp_path, ("income,word\n" + rows).encode())
    draft = draft_domain(path)
    assert draft["csv"]["null_values"] == ["", "N", "unknown"]
    assert (column(draft, "income")["kind"], column(draft, "income")["null"]) == ("numeric", "category")
    assert accepted(path, draft) == (90, 0)


def test_a_word_for_missing_that_means_something_elsewhere_counts_in_its_own_column_alone(tmp_path: Path):
    rows = "".join(f"{'N' if n % 5 == 0 else n},{'YN'[n % 2]}\n" for n in range(90))
    path = write(tmp_path, ("income,smoker\n" + rows).encode())
    draft = draft_domain(path)
    assert draft["csv"]["null_values"] == [""]
    assert column(draft, "income")["unreadable"] == "null"
    domain = TableDomain.from_json(confirmed(draft))
    with path.open("rb") as file:
        report = receive(file, content_type=CSV, domain=domain, sink=io.BytesIO(), scratch_folder=tmp_path)
    assert (report.rows_accepted, report.rows_refused) == (90, 0)


def test_rare_words_do_not_enter_the_draft(tmp_path: Path):
    rows = "".join(f"{'common' if n % 2 else 'usual'}\n" for n in range(1998)) + "secret\nsecret\n"
    text = render_draft(draft_domain(write(tmp_path, ("word\n" + rows).encode())))
    assert "secret" not in text
    assert json.loads(text)["columns"][0]["other"] is True


def test_one_extreme_value_moves_no_bound(tmp_path: Path):
    rows = "".join(f"{100 + n % 60}\n" for n in range(4000)) + "17000\n-1000\n"
    found = column(draft_domain(write(tmp_path, ("pressure\n" + rows).encode())), "pressure")
    assert (found["lower"], found["upper"]) == (100, 160)
    assert "all but 0.05 %" in found[NOTE]


def test_a_sentinel_lies_beyond_the_bounds(tmp_path: Path):
    rows = "".join(f"{-1 if n % 3 else n}\n" for n in range(900))
    found = column(draft_domain(write(tmp_path, ("since\n" + rows).encode())), "since")
    assert (found["specials"], found["lower"]) == ([-1], 0)


def test_skewed_amounts_get_bins_that_keep_their_quartiles(tmp_path: Path):
    rows = "".join(f"{1.002 ** (n % 6000) / 100:.2f}\n" for n in range(12_000))
    found = column(draft_domain(write(tmp_path, ("charge\n" + rows).encode())), "charge")
    assert found.get("spacing") == "log" or found.get("bins") == "learn"


@pytest.mark.parametrize(
    ("words", "book"),
    [
        (["DEU", "TUR", "POL", "ITA", "AUT", "RUS"], "ISO 3166 alpha-3 codes"),
        (["Germany", "Italy", "Poland", "Austria"], "English names of countries"),
        (["DE", "FR"], "ISO 3166 alpha-2 codes"),
    ],
)
def test_few_countries_too_get_the_note_of_a_public_book(words: list[str], book: str):
    rows = pa.table({"country": words * 50, "x": [n % 9 + 0.5 for n in range(50 * len(words))]})
    found = column(draft_frame(rows), "country")
    assert found["categories"] == sorted(words)
    assert f"If these are {book}, its categories as 'all' list the whole book" in found[NOTE]


def test_many_codes_are_learnt_and_free_text_is_dropped(tmp_path: Path):
    rows = "".join(f"{n % 630 + 100}.{n % 9},text {n}\n" for n in range(6300))
    draft = draft_domain(write(tmp_path, ("icd9,note\n" + rows).encode()))
    assert (column(draft, "icd9")["categories"], column(draft, "note")["kind"]) == ("learn", "ignored")
    assert column(draft, "icd9")[NOTE].startswith("ICD-9 codes: the common ones are learnt")


def test_words_that_are_too_rare_to_be_learnt_are_noted() -> None:
    """Reproduced: of 400 shops in 6,000 rows none was learnt, which was said only after the charge."""
    rare = [f"Shop {n % 397}" for n in range(9300)]
    common = [f"Shop {n % 20 if n < 6000 else 100 + n % 300}" for n in range(9300)]
    draft = draft_frame(pa.table({"rare": rare, "common": common, "x": [n % 9 + 0.5 for n in range(9300)]}))
    assert [column(draft, name)["categories"] for name in ("rare", "common")] == ["learn", "learn"]
    assert "a word needs about 250 rows, and 0 % of the rows have such a word" in column(draft, "rare")[NOTE]
    assert "a word needs" not in column(draft, "common")[NOTE]


def test_numbers_behind_one_letter_are_no_codes_of_diseases(tmp_path: Path):
    """Reproduced: tail numbers of aircraft were taken for them."""
    rows = "".join(f"N{100 + n % 800},{n}\n" for n in range(8000))
    found = column(draft_domain(write(tmp_path, ("tailnum,flight\n" + rows).encode())), "tailnum")
    assert "ICD" not in found.get(NOTE, "")


def test_a_table_in_memory_is_drafted_like_its_file(tmp_path: Path):
    path = write(tmp_path, DATA)
    of_file = draft_domain(path)
    of_table = draft_frame(
        pa.csv.read_csv(
            path,
            convert_options=pa.csv.ConvertOptions(
                column_types={name: pa.string() for name in LINES[0].split(",")}
            ),
        )
    )
    assert of_table["columns"] == of_file["columns"]
    assert of_table["csv"]["null_values"] == ["", "?"]


def test_rows_with_a_wrong_number_of_fields_are_pointed_at(tmp_path: Path):
    draft = draft_domain(write(tmp_path, b"a,b\n" + b"1,x\n2,y\n" * 5 + b"3,z,canary\n4\n"))
    assert "2 rows have more or fewer fields than columns, first row 12 of" in draft[NOTE]
    assert "canary" not in render_draft(draft)
