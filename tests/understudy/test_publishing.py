import json
import math
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.dp.charge import FEMTO, MICRO, ORDERS, Charge, decimal_of
from core.dp.filters import AdmissionRule, Cap, admit
from core.plan.mechanism_forms import FEWEST_CANDIDATES, MOST_CANDIDATES
from understudy import InputUnusable
from understudy.cli.publish import accuracy_lines, columns_left_out, notes_of, what_is_free
from understudy.order_options import parse_options, parse_selection, with_profile
from understudy.publishing.order import Order, budget_with_report, report_part, smallest_budget
from understudy.table_files import TableFiles

MANY = f"{FEWEST_CANDIDATES} to {MOST_CANDIDATES} times"


@given(epsilon=st.floats(0.01, 50), delta=st.floats(1e-12, 1e-2))
def test_the_smallest_budget_admits_exactly_one_such_job(epsilon: float, delta: float) -> None:
    cap_epsilon, cap_delta = smallest_budget(epsilon, delta)
    cap = Cap(epsilon=cap_epsilon, delta=cap_delta, rule=AdmissionRule.FILTERS)
    job = Charge(
        epsilon_micros=math.ceil(decimal_of(epsilon) * MICRO),
        delta_femtos=math.ceil(decimal_of(delta) * FEMTO),
        # The Renyi filters hold less than these, so that the basic filter alone decides.
        rdp_micros=(10**12,) * len(ORDERS),
    )
    assert admit(cap, [job]).admitted
    assert not admit(cap, [job, job]).admitted
    assert cap_epsilon - epsilon < 1e-6
    assert cap_delta / 2 - delta < 1e-15


@given(epsilon=st.floats(0.01, 50), delta=st.floats(1e-11, 1e-2), model=st.booleans())
def test_a_cap_that_publishing_sets_leaves_room_for_one_report_and_no_second_job(
    epsilon: float, delta: float, *, model: bool
) -> None:
    table = TableFiles(rows=Path("rows.csv"), domain={}, declared_size=1)
    order = Order(table=table, name="a", epsilon=epsilon, delta=delta, sample_rows=1, out=Path(), model=model)
    cap_epsilon, cap_delta = budget_with_report(order, smallest_budget(epsilon, delta))
    cap = Cap(epsilon=cap_epsilon, delta=cap_delta, rule=AdmissionRule.FILTERS)

    def charged(amounts: tuple[float, float]) -> Charge:
        return Charge(
            epsilon_micros=math.ceil(decimal_of(amounts[0]) * MICRO),
            delta_femtos=math.ceil(decimal_of(amounts[1]) * FEMTO),
            rdp_micros=(10**12,) * len(ORDERS),
        )

    job, report = charged((epsilon, delta)), charged(report_part(order, epsilon, delta))
    assert admit(cap, [job]).admitted
    assert admit(cap, [job, report]).admitted is not model
    assert not admit(cap, [job, job]).admitted


def test_plain_amounts_stay_plain() -> None:
    assert smallest_budget(1.0, 1e-6) == (1.0, 2e-6)


def test_settings_are_json_where_they_parse_and_text_elsewhere() -> None:
    settings = ["steps=50", "schedule=exponential", "acts=true", "critic_steps=adaptive", "gp_weight=0.5"]
    assert parse_options(settings) == {
        "steps": 50,
        "schedule": "exponential",
        "acts": True,
        "critic_steps": "adaptive",
        "gp_weight": 0.5,
    }


def test_a_profile_is_a_setting_with_an_option_of_its_own() -> None:
    assert with_profile({"steps": 5}, "idpgan") == {"steps": 5, "profile": "idpgan"}
    assert with_profile({"profile": "anchor"}, None) == {"profile": "anchor"}
    with pytest.raises(InputUnusable, match="--profile"):
        with_profile({"profile": "anchor"}, "auto")


@pytest.mark.parametrize("settings", [["steps"], ["=5"], ["a=1", "a=2"]])
def test_a_malformed_setting_is_refused(settings: list[str]) -> None:
    with pytest.raises(InputUnusable, match="--set"):
        parse_options(settings)


def test_candidates_are_options_files_or_the_rules(tmp_path: Path) -> None:
    file = tmp_path / "small.json"
    file.write_text(json.dumps({"options": {"steps": 50}}))
    selection = parse_selection(
        ["steps=500,schedule=exponential", "rules", str(file), "synthesizer=idpgan,critic=false"],
        epsilon=0.5,
        choice_epsilon=0.2,
    )
    assert selection == {
        "candidates": [
            {"options": {"steps": 500, "schedule": "exponential"}},
            {"options": {}},
            {"options": {"steps": 50}},
            {"synthesizer": "idpgan", "options": {"critic": False}},
        ],
        "epsilon": 0.5,
        "choice_epsilon": 0.2,
    }
    assert parse_selection([], epsilon=None, choice_epsilon=None) is None


@pytest.mark.parametrize(
    ("candidates", "epsilon", "settings", "message"),
    [
        (["rules"], None, [], "--selection-epsilon"),
        ([], 0.5, [], MANY),
        (["rules"], 0.5, [], MANY),
        (["rules"] * (MOST_CANDIDATES + 1), 0.5, [], MANY),
        (["rules", "steps=5"], 0.5, ["steps=5"], "--set and --profile are for"),
        (["rules", "absent.json"], 0.5, [], "no file absent.json"),
        (["rules", "steps=5,steps=6"], 0.5, [], "--candidate steps is given twice"),
    ],
)
def test_half_a_selection_is_refused(
    candidates: list[str], epsilon: float | None, settings: list[str], message: str
) -> None:
    with pytest.raises(InputUnusable, match=message):
        parse_selection(candidates, epsilon=epsilon, choice_epsilon=0.2, settings=settings)


@pytest.mark.parametrize("text", ["[]", "no JSON", '{"steps": 5}'])
def test_a_file_that_holds_no_candidate_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "candidate.json"
    file.write_text(text)
    with pytest.raises(InputUnusable, match=r"candidate\.json"):
        parse_selection(["rules", str(file)], epsilon=0.5, choice_epsilon=0.2)


@pytest.mark.parametrize(
    ("rows", "records", "told"),
    [
        (None, None, "as many as the declared size"),
        (50, None, "as many as the declared size"),
        (70, None, "More synthetic rows"),
        (None, "learn", "as many as records were counted, with noise"),
        (None, 3, "as many as records were counted, with noise"),
        (50, 3, "as many as the declared size"),
        (70, 3, "More synthetic rows"),
    ],
)
def test_why_as_many_rows_were_drawn_is_said(rows: int | None, records: int | str | None, told: str) -> None:
    unit = {"name": "u", "kind": "unit"} | ({} if records is None else {"records": records})
    table = TableFiles(rows=Path("rows.csv"), domain={"columns": [unit]}, declared_size=50)
    order = Order(table=table, name="a", epsilon=1, delta=1e-6, sample_rows=rows, out=Path("out"))
    assert told in what_is_free(order)
    assert "understudy sample --bundle out/bundle.zip --rows N" in what_is_free(order)


@pytest.mark.parametrize(
    ("kinds", "told"),
    [
        (["numeric", "categorical"], []),
        (["unit", "numeric", "ignored"], ["1 of 3 columns was modelled. Left out by the domain: c0, c2."]),
        (
            ["ignored"] * 12 + ["date"],
            [
                "1 of 13 columns was modelled. Left out by the domain: c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 and more."
            ],
        ),
    ],
)
def test_columns_that_are_not_released_are_named(kinds: list[str], told: list[str]) -> None:
    columns = [{"name": f"c{place}", "kind": kind} for place, kind in enumerate(kinds)]
    table = TableFiles(rows=Path("rows.csv"), domain={"columns": columns}, declared_size=50)
    order = Order(table=table, name="a", epsilon=1, delta=1e-6, sample_rows=50, out=Path("out"))
    assert columns_left_out(order) == told


def test_notes_of_the_bundle_are_shown_on_one_line_each(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.zip"
    with zipfile.ZipFile(bundle, "w") as archive:
        archive.writestr("README.md", "# A\n\n> The noise\x1b hides 'yes'.\n\n> Another.\n\nThis bundle\n")
    assert notes_of([tmp_path / "rows.csv", bundle]) == [
        "NOTE: The noise\\u001b hides 'yes'.",
        "NOTE: Another.",
    ]
    assert notes_of([tmp_path / "rows.csv"]) == []


def test_the_charged_accuracy_is_shown() -> None:
    measured = {"held_out_size": 300, "estimate": 0.8123, "low": 0.79, "high": 0.8346}
    assert accuracy_lines({"accuracy": measured}) == [
        "Accuracy on about 300 held-out units: 81.2%, between 79.0% and 83.5% for the noise at 95 %."
    ]
    assert accuracy_lines({"accuracy": None}) == []
    assert accuracy_lines({"schema": "understudy.certificate/1"}) == [], "a generator has none"
