"""Verify the release of a selection: the plans of all candidates and of the winner, their execution, and the total price."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from understudy.verifying import accounting, adaptive, planned, records
from understudy.verifying.adaptive import Selecting
from understudy.verifying.bundle_file import Opened
from understudy.verifying.executed import executed_problems

SCHEMA: Final = "understudy.selection-certificate/1"
_ONE_UNIT: Final = ("adjacency", "privacy_unit")

Json = Mapping[str, Any]


def selecting_of(plan: Json) -> Selecting:
    """All releases of a selection's plan, for the accountant."""
    return Selecting(
        candidates=tuple(tuple(planned.parts_of(one)) for one in plan["candidates"]),
        choice_epsilon=plan["choice_epsilon"],
        finals=tuple(tuple(planned.parts_of(one)) for one in plan["finals"]),
    )


def mechanism_of(plan: Json) -> dict[str, Any]:
    """The mechanism of a selection's plan, in the certificate's words."""

    def training(one: Json) -> dict[str, Any]:
        return {name: value for name, value in planned.mechanism_of(one).items() if name != "version"}

    count = len(plan["candidates"])
    choice = {"kind": "permute-and-flip", "epsilon": plan["choice_epsilon"], "candidates": count}
    parallel = {"kind": "parallel", "parts": [*map(training, plan["candidates"]), choice]}
    chosen = {"kind": "chosen", "parts": [training(one) for one in plan["finals"]]}
    return {"version": 1, "kind": "composed", "parts": [parallel, chosen]}


def plan_problems(opened: Opened) -> Iterator[str]:
    """Report a selection's plan that does not follow from its parts, its options and the declared columns."""
    plan = opened.certificate["plan"]
    candidates, finals = plan["candidates"], plan["finals"]
    parts = len(candidates) + 1
    described = records.described(opened.manifest)
    for kind, plans, size in (
        ("candidates", candidates, plan["part_size"]),
        ("finals", finals, plan["declared_size"]),
    ):
        for number, one in enumerate(plans):
            yield from (
                problem.replace("plan/", f"plan/{kind}/{number}/", 1)
                for problem in planned.plan_problems(one, described)
            )
            if one["declared_size"] != size:
                yield f"plan/{kind}/{number}/declared_size"
            if one["guarantee"] != plans[0]["guarantee"]:
                yield f"plan/{kind}/{number}/guarantee"
            if "learning" in one:
                # Candidates share one declared domain; a selection's sums have no place for thresholds.
                yield f"plan/{kind}/{number}/learning"
            if any(one[name] != finals[0][name] for name in _ONE_UNIT):
                yield f"plan/{kind}/{number}/privacy_unit"
    rules = {
        "finals": len(finals) == len(candidates),
        "part_size": plan["part_size"] == plan["declared_size"] // parts,
        "steps": plan["steps"] == max(one["steps"] for one in finals),
        "guarantee/delta": candidates[0]["guarantee"]["delta"]
        == finals[0]["guarantee"]["delta"]
        == plan["guarantee"]["delta"],
        "mechanism": planned.same(plan["mechanism"], mechanism_of(plan)),
        "records": opened.manifest.get("label_probabilities") is not None,
    }
    yield from (f"plan/{name}" for name, holds in rules.items() if not holds)


def statement_problems(certificate: Json) -> Iterator[str]:
    """Report members that differ from the plan and the winner."""
    plan, executed = certificate["plan"], certificate["executed"]
    if executed["winner"] >= len(plan["finals"]):
        yield "executed/winner"
        return
    final, unit = plan["finals"][executed["winner"]], certificate["privacy_unit"]
    grids = {
        "candidates": [planned.noise_grid(one) for one in plan["candidates"]],
        "final": planned.noise_grid(final),
    }
    derived: dict[str, object] = {
        "privacy_parameters": plan["guarantee"],
        "adjacency": final["adjacency"],
        "declared_size": plan["declared_size"],
        "epsilon": plan["epsilons"],
        "mechanism": plan["mechanism"],
        "mechanisms": planned.mechanism_rows(final),
        "noise_grid": grids,
        "plan_digest": planned.canonical_digest(plan),
    }
    yield from (name for name, value in derived.items() if not planned.same(certificate[name], value))
    described = "one record" if unit["column"] is None else "all records"
    if unit["column"] != final["privacy_unit"]["column"] or not unit["description"].startswith(described):
        yield "privacy_unit"


def steps_problems(certificate: Json) -> Iterator[str]:
    """Report differences between execution and plan, for any training."""
    plan, executed = certificate["plan"], certificate["executed"]
    if len(executed["candidates"]) != len(plan["candidates"]):
        yield "executed/candidates"
        return
    pairs = [
        (f"executed/candidates/{number}/", ran, one)
        for number, (ran, one) in enumerate(zip(executed["candidates"], plan["candidates"], strict=True))
    ]
    pairs.append(("executed/final/", executed["final"], plan["finals"][executed["winner"]]))
    for place, ran, one in pairs:
        yield from (problem.replace("executed/", place, 1) for problem in executed_problems(ran, one))


def recompute(certificate: Json) -> accounting.Recomputed:
    """Epsilon of all releases together, at the certificate's delta."""
    return adaptive.recompute(selecting_of(certificate["plan"]), certificate["privacy_parameters"]["delta"])


def charge_problems(certificate: Json) -> Iterator[str]:
    """Report charged amounts that differ from the cost of the selection, rounded up."""
    whole = partial(adaptive.divergence, selecting_of(certificate["plan"]))
    return accounting.charge_problems(certificate, whole, excess=adaptive.CHOICE_EXCESS)
