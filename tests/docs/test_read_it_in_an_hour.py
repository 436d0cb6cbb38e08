"""The walk through the trusted code: its links are to the lines of what they name, and its table adds up."""

import re
from types import SimpleNamespace

import pytest

from docs.source_hook import on_page_markdown
from docs.source_lines import (
    LINK,
    MINUTES,
    PAGE,
    ROOT,
    lines_of,
    minutes_of,
    stops,
    true_page,
    with_true_lines,
)

FIX = "run `make docs` and commit the result"
TEXT = (ROOT / PAGE).read_text()
SUM = re.compile(r"^\| \[(\d+\. [^\]]+)\]\(#[\w-]+\) \| (\d+) \| (\d+) \|$", re.MULTILINE)


def test_every_link_is_to_the_lines_of_its_symbol_and_every_sum_is_true():
    assert true_page() == TEXT, FIX


def test_the_table_adds_up():
    rows = SUM.findall(TEXT)
    assert [title for title, _, _ in rows] == list(stops(TEXT)), FIX
    assert all(int(lines) == stops(TEXT)[title] > 0 for title, lines, _ in rows), FIX
    whole = sum(int(lines) for _, lines, _ in rows)
    assert sum(int(minutes) for _, _, minutes in rows) == MINUTES
    assert f"| **together** | **{whole:,}** | **{MINUTES}** |" in TEXT, FIX
    assert 1000 <= whole <= 1350, "an hour is over: read less, or move a symbol to what may be skipped"


def test_linked_lines_begin_and_end_with_the_definition():
    links = re.findall(r"\[`([\w.]+)`\]\(\.\./([\w/]+\.py)#L(\d+)-L(\d+)\)", TEXT)
    assert len(links) == len(LINK.findall(TEXT)) > 50, "every link has its lines"
    for symbol, path, first, last in links:
        source = (ROOT / path).read_text().splitlines()
        defined = source[int(first) - 1 : int(last)]
        name = symbol.rpartition(".")[2]
        assert any(re.match(rf"\s*(?:def|class) {name}\b|{name}\b.*=", line) for line in defined[:3]), (
            symbol,
            FIX,
        )
        assert defined[-1].strip(), (symbol, FIX)


def test_every_stop_says_which_tests_would_fail():
    pieces = re.split(r"^## \d+\. ", TEXT, flags=re.MULTILINE)[1:]
    assert len(pieces) == len(stops(TEXT))
    for piece in pieces:
        assert re.search(r"Would fail: `tests/[\w/]+\.py::\w+`", piece), piece.splitlines()[0]


def test_three_modules_open_private_rows_as_the_page_says():
    doors = {
        file.relative_to(ROOT).as_posix()
        for folder in ("core", "models", "service", "workers", "understudy", "migrations")
        for file in (ROOT / folder).rglob("*.py")
        if re.search(r"(?:from|import) core\.data(?:\.private_rows| import .*private_rows)", file.read_text())
    }
    sentence = (
        TEXT[TEXT.index("Three modules open private rows") :].split(".\n")[0].split("Import contracts")[0]
    )
    assert doors == set(re.findall(r"`(workers/\w+\.py)`", sentence))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (r"#L(\d+)-", "#L1-"),
        (r"\| \d+ \|$", "| 7 |"),
        (r"\*\*together\*\* \| \*\*[\d,]+", "**together** | **9"),
    ],
    ids=["line", "count", "sum"],
)
def test_a_wrong_number_is_seen_and_written_again(before, after):
    wrong = re.sub(before, after, TEXT, flags=re.MULTILINE)
    assert wrong != TEXT
    assert with_true_lines(wrong) == TEXT


@pytest.mark.parametrize(
    "change",
    [("`reserve`", "`reserve_twice`"), ("`Reservation.after`", "`Reservation.before`")],
    ids=["function", "method"],
)
def test_a_symbol_that_has_gone_is_named(change):
    with pytest.raises(LookupError, match=change[1].strip("`")):
        with_true_lines(TEXT.replace(f"[{change[0]}]", f"[{change[1]}]"))


@pytest.mark.parametrize(
    "stray",
    ["See [`reserve`](../core/ledger/ledger.py).\n", "| [`_move`](../core/ledger/ledger.py) | in | many |\n"],
)
def test_a_link_that_no_table_counts_is_refused(stray):
    with pytest.raises(LookupError, match="stands once"):
        with_true_lines(TEXT + stray)


def test_a_definition_has_its_decorators_and_its_end():
    source = (ROOT / "models/tables/anchor.py").read_text().splitlines()
    lines = lines_of("models/tables/anchor.py", "MomentLayout")
    assert source[lines[0] - 1].startswith("@dataclass")
    assert source[lines[0]] == "class MomentLayout:"
    assert lines[-1] == lines_of("models/tables/anchor.py", "MomentLayout.sensitivity")[-1]


@pytest.mark.parametrize("lines", [[1], [1, 1, 1], [77, 100, 42, 1], [10] * 7])
def test_minutes_are_whole_and_add_up(lines):
    shared = minutes_of(lines)
    assert sum(shared) == MINUTES
    assert all(
        abs(minutes - MINUTES * count / sum(lines)) < 1 for minutes, count in zip(shared, lines, strict=True)
    )


def test_on_the_site_links_lead_to_pages_of_the_source():
    page = SimpleNamespace(file=SimpleNamespace(src_uri=PAGE.removeprefix("docs/")))
    shown = on_page_markdown(TEXT, page)
    first = lines_of("core/ledger/ledger.py", "reserve")[0]
    assert f"[`reserve`](source/core/ledger/ledger.html#L-{first})" in shown
    assert "](../" not in shown
