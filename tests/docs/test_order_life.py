"""The picture of an order's life shows what the code may do to a job and its reservation, and nothing else."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from core.jobs.states import STAGES, SUCCESSORS, Cause, JobState
from core.ledger import reservation
from core.ledger.reservation import EntryKind
from core.platform.budget_requests.states import RequestState
from docs.order_life_picture import STATIONS, branches, order_life_plots, turns

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"
WRITES = {
    "reserve_all": EntryKind.RESERVED,
    "spend": EntryKind.SPENT,
    "void": EntryKind.VOIDED,
    "settle": EntryKind.SETTLED,
    "settle_prefix": EntryKind.SETTLED,
}


@cache
def functions() -> dict[str, ast.FunctionDef]:
    """Every function of core.jobs, as `module.name`."""
    return {
        f"{path.stem}.{node.name}": node
        for path in sorted((ROOT / "core" / "jobs").glob("*.py"))
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }


def _calls(function):
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            called = node.func
            yield node, called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def _states(function):
    """The states that a function gives to a job: where it calls `move` or `end`, or makes the job."""
    given = (
        part
        for call, name in _calls(function)
        if name in {"move", "end", "Job"}
        for part in ast.walk(call)
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name)
    )
    return {JobState[part.attr] for part in given if part.value.id == "JobState"}  # type: ignore[attr-defined]


def test_every_transition_of_a_job_is_shown() -> None:
    shown = {turn.job for turn in turns()}
    allowed = {(before, after) for before, afters in SUCCESSORS.items() for after in afters}
    assert shown == allowed | {(None, JobState.QUEUED)}


def test_every_transition_of_a_reservation_is_shown() -> None:
    shown = {turn.reservation for turn in turns() if turn.reservation[0] is not turn.reservation[1]}
    assert shown == {(before, after) for before, afters in reservation.SUCCESSORS.items() for after in afters}


def test_the_functions_that_change_a_job_are_those_of_the_picture() -> None:
    code = {name: _states(function) for name, function in functions().items()}
    shown = defaultdict(set)
    for turn in turns():
        for name in turn.functions:
            shown[name].add(turn.job[1])
    assert {name: states for name, states in code.items() if states} == shown


def test_the_functions_that_write_the_ledger_are_those_of_the_picture() -> None:
    code = defaultdict(set)
    for name, function in functions().items():
        for _, called in _calls(function):
            if called in WRITES:
                code[WRITES[called]].add(name)
    shown = defaultdict(set)
    for turn in turns():
        if turn.reservation[0] is not turn.reservation[1]:
            shown[turn.reservation[1]].update(turn.functions)
    assert code[EntryKind.SPENT] == {"claims._spent"}, "a part of `claim`"
    code[EntryKind.SPENT] = {"claims.claim"}
    code[EntryKind.SETTLED].discard("endings.settle_prefix")
    assert code == shown


def test_a_job_changes_its_state_in_core_jobs_alone() -> None:
    movers = re.compile(r"\bendings\.(?:move|end)\(|from core\.jobs\.endings import [^\n]*\b(?:move|end)\b")
    found = {
        path.relative_to(ROOT).parts[:2]
        for folder in ("core", "service", "workers", "understudy")
        for path in (ROOT / folder).rglob("*.py")
        if movers.search(path.read_text())
    }
    assert found == {("core", "jobs")}


def test_requests_stages_and_causes_are_all_shown() -> None:
    states = [station.state for station in STATIONS]
    states += [state for branch in branches() for state in branch.states]
    assert {state for state in states if isinstance(state, RequestState)} == set(RequestState)
    assert [name for station in STATIONS for name, _ in station.stages] == list(STAGES)
    assert {cause for branch in branches() for cause in branch.causes} == set(Cause)


@pytest.mark.parametrize("name", ["order-wide.svg", "order-narrow.svg"])
def test_the_picture_is_described_in_words_and_shows_every_state(name: str) -> None:
    root = ET.fromstring(order_life_plots()[name])
    labels = {label.get("id"): label.text or "" for label in root if label.get("id")}
    assert set(root.get("aria-labelledby", "").split()) == labels.keys() == {"title", "desc"}
    assert all(f"{station.title}: {station.text}" in labels["desc"] for station in STATIONS)
    assert all(branch.text in labels["desc"] for branch in branches())
    drawn = {text.text for text in root.findall(f"{SVG}text") if "state" in (text.get("class") or "").split()}
    assert drawn >= {state.lower() for kind in (JobState, EntryKind, RequestState) for state in kind}
    width = float(root.get("width", "nan"))
    for text in root.findall(f"{SVG}text"):
        # 6.9 pixels a character: the widest of the listed fonts has 6.6 on average.
        if (text.get("class") or "") == "text":
            assert float(text.get("x", "nan")) + 6.9 * len(text.text or "") <= width, text.text
    assert "prefers-color-scheme: dark" in order_life_plots()[name]


def test_the_page_shows_both_forms() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    assert set(re.findall(r'"architecture/(order-\w+\.svg)"', page)) == order_life_plots().keys()
    assert "architecture.md#the-life-of-an-order" in (ROOT / "docs" / "read-it-in-an-hour.md").read_text()
