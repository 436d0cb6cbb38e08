import json
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from typer.testing import CliRunner

from core.dp.adjacency import MOST_RECORDS
from core.plan.domain.table import TableDomain
from understudy.cli import app
from understudy.drafts import changes
from understudy.drafts.bin_costs import equal_ratio_edges
from understudy.drafts.changes import change
from understudy.drafts.confirmation import walk
from understudy.drafts.marked_values import KINDS, accept_kinds, marks_of
from understudy.drafts.tables import draft_domain, render_draft
from understudy.errors import InputUnusable, InvalidInput
from understudy.table_files import DECLARED_SIZE, without_notes

ROWS = "patient_id,age,ward,died\n" + "".join(
    f"P{n % 50},{20 + n % 60},{'ABC'[n % 3]},{'yes' if n % 4 else 'no'}\n" for n in range(200)
)


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text(ROWS)
    file = tmp_path / "domain.json"
    file.write_text(render_draft(draft_domain(tmp_path / "rows.csv")))
    return file


def confirm(file: Path, *words: str, answers: str = "") -> tuple[int, str]:
    done = CliRunner().invoke(app, ["domain", "confirm", str(file), *words], input=answers)
    return done.exit_code, done.output


def test_who_accepts_everything_has_a_domain(draft: Path) -> None:
    status, said = confirm(draft, answers="\n" * 30)
    assert status == 0, said
    document = json.loads(draft.read_text())
    assert "_" not in {
        key[0] for key in (*document, *document["csv"], *(k for c in document["columns"] for k in c))
    }
    document.pop("declared_size")
    assert TableDomain.from_json(document).privacy_unit == "patient_id"
    assert draft.stat().st_mode & 0o777 == 0o600


def test_a_confirmed_domain_that_breaks_a_rule_is_refused_with_its_line(draft: Path) -> None:
    document = json.loads(draft.read_text())
    document["columns"][1] |= {"lower": 90, "upper": 20}
    draft.write_text(render_draft(document))
    status, _ = confirm(draft, "--accept", "words")
    assert status == 1, "nothing is checked while values are left"
    done = CliRunner().invoke(app, ["domain", "confirm", str(draft), "--accept", "all"])
    assert isinstance(done.exception, InvalidInput)
    said = str(done.exception)
    assert re.search(r"domain\.json, line \d+, column 'age', lower: 'lower' must be below 'upper'", said), (
        said
    )
    assert not marks_of(json.loads(draft.read_text())), "what was accepted stays accepted"


def test_nobody_who_answers_accepts_nothing(draft: Path) -> None:
    before = len(marks_of(json.loads(draft.read_text())))
    status, said = confirm(draft)
    assert status == 1
    assert f"{before} values are left" in said
    assert len(marks_of(json.loads(draft.read_text()))) == before


def test_a_person_stops_and_goes_on_later(draft: Path) -> None:
    assert confirm(draft, answers="\n\n\nq\n")[0] == 1
    left = {mark.kind for mark in marks_of(json.loads(draft.read_text()))}
    assert left == {"target", "file", "names", "kinds", "bounds", "words"}
    assert confirm(draft, answers="\n" * 30)[0] == 0


def test_kinds_are_accepted_by_name(draft: Path) -> None:
    words = [word for kind in KINDS if kind != "words" for word in ("--accept", kind)]
    assert confirm(draft, *words)[0] == 1
    assert {mark.kind for mark in marks_of(json.loads(draft.read_text()))} == {"words"}
    assert confirm(draft, "--accept", "all")[0] == 0
    with pytest.raises(InputUnusable, match="did you mean 'bounds'"):
        accept_kinds(json.loads(draft.read_text()), ["bound"])


def test_values_are_edited_explained_and_dropped(draft: Path) -> None:
    accepted = [word for kind in KINDS if kind not in {"bounds", "words"} for word in ("--accept", kind)]
    status, said = confirm(draft, *accepted, answers="?\ne\n18\n90\n\ne\n-C\n\ni\n\n")
    assert status == 0, said
    assert "the possible range, not the range of the rows" in said
    assert "a median may be off" in said
    age, ward, died = json.loads(draft.read_text())["columns"][1:]
    assert (age["lower"], age["upper"]) == (18, 90)
    assert (ward["categories"], ward["other"]) == (["A", "B"], True)
    assert died == {"name": "died", "kind": "ignored"}
    assert json.loads(draft.read_text())["target"] is None, "it was the dropped column"


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        ("lower", "200", "column 'age': lower must be below upper"),
        ("lower", "a", "column 'age': lower must be a finite number"),
        ("upper", "inf", "column 'age': upper must be a finite number"),
        ("upper", "1e400", "column 'age': upper must be a finite number"),
        ("upper", "70.5", "column 'age': upper of a column of whole numbers must be whole"),
        ("target", "dead", "there is no column 'dead'; did you mean 'died'?"),
        ("declared_size", "0", "declared_size: the size is a whole number"),
        ("categories", "A,A", "column 'ward': the list needs words, each once"),
        ("kind", "text", "may be changed to 'ignored' or 'unit'"),
        (
            "records",
            "many",
            "column 'patient_id': records must be learn, none, or a whole number from 1 to 1000",
        ),
        ("records", "0", "from 1 to 1000"),
        ("records", "1001", "from 1 to 1000"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_its_column_and_nothing_changes(
    draft: Path, key: str, text: str, said: str
) -> None:
    document = json.loads(draft.read_text())
    mark = next(mark for mark in marks_of(document) if mark.key == key)
    with pytest.raises(InputUnusable) as caught:
        change(document, mark, text)
    assert said in str(caught.value)
    assert document == json.loads(draft.read_text())


@pytest.mark.parametrize("text", ["inf", "-1e400", "nan"])
@pytest.mark.parametrize("key", ["upper", "edges", "difference"])
def test_a_number_that_is_not_finite_is_refused(key: str, text: str) -> None:
    column = {"name": "dose", "kind": "numeric", "type": "real", "lower": 0, "upper": 9, "edges": [0, 1, 9],
              "difference": {"from": "weight", "lower": 0, "upper": 9}, "_from_data": [key]}  # fmt: skip
    document = {"columns": [column], "target": None, "privacy_unit": None}
    number = text.replace("inf", "Infinity").replace("nan", "NaN")
    written = {"edges": f"0, {text}", "difference": f'{{"from": "weight", "lower": 0, "upper": {number}}}'}
    with pytest.raises(InputUnusable, match="finite"):
        change(document, marks_of(document)[0], written.get(key, text))


def typed_back(document: dict) -> str:
    """What is shown of the only value of a draft, which is edited to the text shown."""
    shown = []

    def ask(question: str) -> str:
        if "[o]ne by one" in question:
            return "o"
        if "[e]dit" in question:
            return "" if shown else "e"
        shown.append(re.fullmatch(r" +\w+ \[(.*)\](?: \(.*\))?: ", question)[1])
        return shown[0]

    walk(document, ask, lambda _line: None)
    return shown[0]


WORDS = st.text(st.sampled_from('ab,";- é'), max_size=4)


@given(st.lists(WORDS, min_size=1, max_size=12, unique=True))
@example(["", "NA"])
@example(["ICU, north", "surgery"])
@example(['6"', '"', '""'])
@pytest.mark.parametrize("key", ["null_values", "levels", "categories"])
def test_a_list_typed_as_it_is_shown_is_the_same_list(key: str, words: list[str]) -> None:
    holder = {key: list(words), "_from_data": [key]}
    column = {"name": "ward", "kind": "ordinal" if key == "levels" else "categorical"}
    document = {"csv": holder, "columns": []} if key == "null_values" else {"columns": [column | holder]}
    document |= {"target": None, "privacy_unit": None}
    shown = typed_back(document)
    found = document["csv"] if key == "null_values" else document["columns"][0]
    assert found[key] == words, shown


@pytest.mark.parametrize("target", ["ward, bed", '"ward"', "ward"])
def test_a_name_typed_as_it_is_shown_is_the_same_name(target: str) -> None:
    columns = [{"name": target, "kind": "categorical", "categories": ["a"]}]
    document = {"columns": columns, "target": target, "privacy_unit": None, "_from_data": ["target"]}
    shown = typed_back(document)
    assert document["target"] == target, shown


@pytest.mark.parametrize("text", ['"Smith, J", b', '"Smith, J" ,b', ' b , "Smith, J"', '-"c, d"', "-c, d"])
def test_a_word_with_a_comma_is_one_word_in_quotes(text: str) -> None:
    column = {"name": "by", "kind": "categorical", "categories": ["Smith, J", "b", "c, d"], "_from_data": ["categories"]}  # fmt: skip
    document = {"columns": [column], "target": None, "privacy_unit": None}
    change(document, marks_of(document)[0], text)
    assert {*column["categories"]} == {"Smith, J", "b"}


@pytest.mark.parametrize(("text", "records"), [("8", 8), ("learn", "learn"), ("none", None)])
def test_how_many_records_of_a_unit_count_is_edited(draft: Path, text: str, records: object) -> None:
    document = json.loads(draft.read_text())
    mark = next(mark for mark in marks_of(document) if mark.key == "records")
    assert mark.kind == "unit"
    change(document, mark, text)
    assert document["columns"][0].get("records") == records
    for left in [*marks_of(document)]:
        left.accept()
    document.pop(DECLARED_SIZE)
    assert TableDomain.from_json(without_notes(document)).to_json()["columns"][0].get("records") == records


def test_the_largest_bound_on_records_is_that_of_the_service() -> None:
    assert changes.MOST_RECORDS == MOST_RECORDS


def test_another_column_becomes_the_unit(draft: Path) -> None:
    document = json.loads(draft.read_text())
    change(document, next(mark for mark in marks_of(document) if mark.key == "privacy_unit"), "ward")
    assert document["privacy_unit"] == "ward"
    assert [column["kind"] for column in document["columns"]] == ["ignored", "numeric", "unit", "boolean"]


def test_a_draft_of_images_is_confirmed_too(tmp_path: Path) -> None:
    file = tmp_path / "domain.json"
    drafted = {
        "schema": "understudy.images/1", "height": 8, "width": 8, "channels": 1, "labels": ["a", "b"], "privacy_unit": None,
        "declared_size": 10,
    }  # fmt: skip
    file.write_text(
        json.dumps(drafted | {"_from_data": ["height", "labels", "declared_size"], "_note": "A draft."})
    )
    assert confirm(file, answers="\n\n\n")[0] == 0
    assert json.loads(file.read_text()) == drafted


def test_all_lists_the_public_book_of_countries() -> None:
    column = {
        "name": "country",
        "kind": "categorical",
        "categories": ["DE", "FR"],
        "_from_data": ["categories"],
    }
    document = {"columns": [column], "target": None, "privacy_unit": None}
    change(document, marks_of(document)[0], "all")
    assert len(column["categories"]) == 249
    assert {"DE", "NZ"} < set(column["categories"])
    change(document, marks_of(document)[0], "-NZ")
    assert "NZ" not in column["categories"]


def test_edges_meet_bounds_that_a_person_changes() -> None:
    column = {
        "name": "dep_time",
        "kind": "numeric",
        "type": "integer",
        "lower": 0,
        "upper": 2359,
        "edges": [0, 60, 100, 2300, 2359],
    }
    document = {
        "columns": [column | {"_from_data": ["lower", "upper", "edges"]}],
        "target": None,
        "privacy_unit": None,
    }
    marks = {mark.key: mark for mark in marks_of(document)}
    change(document, marks["lower"], "60")
    assert document["columns"][0]["edges"] == [60, 100, 2300, 2359]
    change(document, marks["edges"], "0, 1200, 2400")
    assert (document["columns"][0]["lower"], document["columns"][0]["upper"]) == (0, 2400)


def test_edges_of_equal_ratio_are_found_anew_for_bounds_that_a_person_changes() -> None:
    edges = equal_ratio_edges(2000, 550_000, 1.0)
    document = {"target": None, "privacy_unit": None, "columns": [
        {"name": "pay", "kind": "numeric", "type": "integer", "lower": 2000, "upper": 550_000, "edges": edges,
         "_from_data": ["lower", "upper", "edges"]},
    ]}  # fmt: skip
    upper = next(mark for mark in marks_of(document) if mark.key == "upper")
    change(document, upper, "1000000")
    assert document["columns"][0]["edges"] == equal_ratio_edges(2000, 1_000_000, 1.0)
    lower = next(mark for mark in marks_of(document) if mark.key == "lower")
    change(document, lower, "0")
    found = document["columns"][0]["edges"]
    assert found == [0, *equal_ratio_edges(2000, 1_000_000, 1.0)]


def test_whole_numbers_become_codes_levels_or_a_quantity(draft: Path) -> None:
    document = {"target": None, "privacy_unit": None, "columns": [
        {"name": "MSP", "kind": "categorical", "categories": ["1", "2", "6"], "other": False, "null": "category",
         "_from_data": ["name", "kind", "categories", "other", "null"]},
        {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 100, "_from_data": ["kind"]},
    ]}  # fmt: skip
    kind = next(mark for mark in marks_of(document) if mark.key == "kind")
    change(document, kind, "numeric")
    assert document["columns"][0] == {
        "name": "MSP", "null": "category", "kind": "numeric", "type": "integer", "lower": 1, "upper": 6,
        "_from_data": ["name", "null", "lower", "upper"],
    }  # fmt: skip
    change(document, kind, "ordinal")
    assert document["columns"][0]["levels"] == ["1", "2", "3", "4", "5", "6"]
    with pytest.raises(InputUnusable, match="did you mean 'ordinal'"):
        change(document, kind, "ordinl")
    of_age = next(mark for mark in marks_of(document) if mark.column == "age")
    with pytest.raises(InputUnusable, match="at most 60 whole numbers"):
        change(document, of_age, "categorical")
    status, said = confirm(draft, answers="\n\n\n\n\no\n" + "e\nignored\n" + "\n" * 30)
    assert status == 0, said


def test_signs_that_are_not_seen_stand_in_quotes_and_dates_in_an_order_are_asked_about(
    tmp_path: Path,
) -> None:
    rows = [
        f"2020-01-{1 + n % 28:02},2020-0{1 + n % 3}-{1 + n * 5 % 28:02},{'AB'[n % 2] if n % 7 else ''}"
        for n in range(200)
    ]
    (tmp_path / "rows.csv").write_text("came,left,ward\n" + "\n".join(rows) + "\n")
    file = tmp_path / "domain.json"
    file.write_text(render_draft(draft_domain(tmp_path / "rows.csv")))
    status, said = confirm(file, answers="\n" * 30)
    assert status == 0, said
    assert 'delimiter ",", header yes, null_values "", strip_spaces no' in said
    assert "If one of came, left is never after another, declare it" in said
    assert f"understudy domain confirm {file} --in-order FIRST,LAST" in said


def test_an_order_of_dates_is_declared_without_editing_the_file(tmp_path: Path) -> None:
    rows = [f"2020-01-{1 + n % 28:02},2020-02-{1 + n % 28:02} 10:30,{'AB'[n % 2]}" for n in range(200)]
    (tmp_path / "rows.csv").write_text("came,left,ward\n" + "\n".join(rows) + "\n")
    file = tmp_path / "domain.json"
    file.write_text(render_draft(draft_domain(tmp_path / "rows.csv")))
    for words, refusal in (
        ("came,leftt", "there is no column 'leftt'; did you mean 'left'"),
        ("came", "takes the names of columns"),
        ("came,ward", "came is date, ward is categorical"),
    ):
        asked = ["domain", "confirm", str(file), "--accept", "all", "--in-order", words]
        with pytest.raises(InputUnusable, match=refusal):
            CliRunner().invoke(app, asked, catch_exceptions=False)
    status, said = confirm(file, "--accept", "all", "--in-order", "came,left")
    assert status == 0, said
    assert "never after" not in said
    assert json.loads(file.read_text())["rules"] == [{"kind": "at_most", "columns": ["came", "left"]}]
    assert confirm(file, "--in-order", "came,left")[0] == 0
    assert len(json.loads(file.read_text())["rules"]) == 1, "once, however often it is said"


def test_a_wrong_answer_is_told_the_answers_of_its_question(draft: Path) -> None:
    _, said = confirm(draft, answers="zzz\nq\n")
    assert "Answer with Enter, e, a, ? or q." in said, "the privacy unit is no column to ignore"
    _, said = confirm(draft, "--accept", "unit", "--accept", "size", answers="a\na\na\na\nzzz\nq\n")
    assert "BOUNDS" in said
    assert "Answer with Enter, e, i, a, ? or q." in said


def test_ctrl_c_keeps_the_answers_given_before_it(draft: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = iter(["", "", "e", "150"])

    def ask(_question: str) -> str:
        if (answer := next(given, None)) is None:
            raise KeyboardInterrupt
        return answer

    monkeypatch.setattr("understudy.cli.domain._ask_on", lambda _screen: ask)
    status, said = confirm(draft)
    assert status == 130, said
    assert "values are left to confirm" in said
    document = json.loads(draft.read_text())
    assert document[DECLARED_SIZE] == 150
    assert "privacy_unit" not in document["_from_data"]
