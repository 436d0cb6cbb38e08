"""Bundles of selections verified offline; whatever is altered is refused, also with the key at hand."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.artifacts.selection_certificate import of_selection
from core.artifacts.selection_execution import SelectionExecuted
from tests.core.artifacts.certified import SIGNER
from tests.core.artifacts.certified_selection import packed, selection_plan, selection_statement
from understudy.verifying.planned import canonical_digest
from understudy.verifying.verification import Outcome, verify_bundle


def verified(stated: dict[str, Any], folder: Path) -> tuple[Outcome, list[str]]:
    path = folder / "bundle.zip"
    path.write_bytes(packed(stated))
    report = verify_bundle(path, public_keys=[SIGNER.public_key])
    return report.outcome, [check.name for check in report.refusals]


@pytest.mark.parametrize("winner", [0, 1])
def test_a_selection_that_ran_as_planned_is_verified(winner: int, tmp_path: Path) -> None:
    assert verified(selection_statement(winner), tmp_path) == (Outcome.VERIFIED, [])


def redigested(stated: dict[str, Any]) -> dict[str, Any]:
    stated["plan_digest"] = canonical_digest(stated["plan"])
    return stated


def halve_epsilon(stated: dict[str, Any]) -> None:
    for place in (stated, stated["plan"]):
        name = "epsilon" if place is stated else "epsilons"
        place[name] = {bound: value / 2 for bound, value in place[name].items()}
    stated["charge"]["epsilon_micros"] //= 2


def forget_a_candidate(stated: dict[str, Any]) -> None:
    parts = stated["plan"]["mechanism"]["parts"][0]["parts"]
    parts[0] = parts[1]
    stated["mechanism"] = stated["plan"]["mechanism"]


def larger_part(stated: dict[str, Any]) -> None:
    stated["plan"]["part_size"] += 1


def cheaper_choice(stated: dict[str, Any]) -> None:
    stated["plan"]["choice_epsilon"] = 0.1


def other_winner(stated: dict[str, Any]) -> None:
    stated["executed"]["winner"] = 0


def nobody(stated: dict[str, Any]) -> None:
    stated["executed"]["winner"] = 2


def fewer_steps(stated: dict[str, Any]) -> None:
    stated["executed"]["candidates"][0]["steps"] = 39


def fewer_trainings(stated: dict[str, Any]) -> None:
    stated["plan"]["finals"].append(stated["plan"]["finals"][0])


def another_guarantee(stated: dict[str, Any]) -> None:
    stated["plan"]["candidates"][1]["guarantee"] = {"epsilon": 0.9, "delta": 1e-6}


def another_unit(stated: dict[str, Any]) -> None:
    stated["plan"]["candidates"][0]["privacy_unit"] = {"column": "patient"}


def cheaper_divergence(stated: dict[str, Any]) -> None:
    stated["charge"]["rdp_micros"]["8"] -= 1


def coarser_grid(stated: dict[str, Any]) -> None:
    stated["noise_grid"]["candidates"][0]["critic"][0]["bits_below_noise"] = 30


def unit_of_person(stated: dict[str, Any]) -> None:
    stated["privacy_unit"]["column"] = "patient"


def half_epsilon_micros(stated: dict[str, Any]) -> None:
    stated["charge"]["epsilon_micros"] //= 2


def other_delta(stated: dict[str, Any]) -> None:
    stated["charge"]["delta_femtos"] += 1


@pytest.mark.parametrize(
    ("alter", "refused"),
    [
        (halve_epsilon, "epsilon"),
        (forget_a_candidate, "plan"),
        (larger_part, "plan"),
        (cheaper_choice, "plan"),
        (fewer_trainings, "plan"),
        (another_guarantee, "plan"),
        (another_unit, "plan"),
        (other_winner, "statements"),
        (nobody, "statements"),
        (coarser_grid, "statements"),
        (fewer_steps, "steps"),
        (cheaper_divergence, "charge"),
        (half_epsilon_micros, "charge"),
        (other_delta, "charge"),
    ],
)
def test_whatever_is_altered_is_refused_though_it_is_signed(
    alter: Callable[[dict[str, Any]], None], refused: str, tmp_path: Path
) -> None:
    stated = copy.deepcopy(selection_statement())
    alter(stated)

    outcome, refusals = verified(redigested(stated), tmp_path)

    assert outcome is Outcome.REFUSED
    assert refused in refusals


def test_a_missing_training_and_a_foreign_unit_are_refused(tmp_path: Path) -> None:
    stated = copy.deepcopy(selection_statement())
    stated["executed"]["candidates"].append(stated["executed"]["candidates"][0])
    assert verified(stated, tmp_path) == (Outcome.REFUSED, ["steps"])
    stated = copy.deepcopy(selection_statement())
    unit_of_person(stated)
    assert "statements" in verified(stated, tmp_path)[1]


def test_without_the_key_it_is_not_verified_and_another_form_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(packed(selection_statement()))

    assert verify_bundle(path).outcome is Outcome.SIGNER_UNKNOWN
    assert json.dumps(selection_statement())  # it is JSON to the last member
    plan = selection_plan()
    assert (
        of_selection(
            selection_statement(0),
            plan=plan,
            executed=SelectionExecuted.planned(plan, winner=1),
            noise_grid=selection_statement(1)["noise_grid"],
        )["executed"]
        == selection_statement(1)["executed"]
    )
