"""Budgets, requests, grants and the effect of one more job, as lines for a reader."""

from understudy.documents import Json
from understudy.results.budgets import Budget, Statement
from understudy.results.governance import BudgetRequest, Grant, WhatIf
from understudy.wording.quotes import NEARLY


def budget_lines(budget: Budget) -> list[str]:
    """Format a budget as lines."""
    frozen_at = budget.document.get("frozen_at")
    return [*total_lines(budget), "takes orders" if frozen_at is None else f"FROZEN since {frozen_at}"]


def total_lines(found: Budget | Statement) -> list[str]:
    """Format a cap, the spent and the reserved amounts as three lines, and a fourth if their sums exceed the cap that they compose to."""
    composes = found.cap is not None and any(
        float(found.spent[name]) + float(found.reserved[name]) > found.cap[name]
        for name in ("epsilon", "delta")
    )
    return [
        "cap       not set" if found.cap is None else f"cap       {amounts(found.cap)}",
        f"spent     {amounts(found.spent)}",
        f"reserved  {amounts(found.reserved)}",
        *(
            ["          sums of the jobs' own epsilons and deltas, which compose to no more than the cap"]
            if composes
            else []
        ),
    ]


def amounts(document: Json) -> str:
    """Format the epsilon and delta of a document, stated as numbers or as exact decimals, in one form."""
    return "  ".join(f"{name} {number(document[name])}" for name in ("epsilon", "delta"))


def number(amount: float | str) -> str:
    """Format an amount, a number or an exact decimal, with all its digits: 1.499999 and 2e-06."""
    return f"{float(amount):.15g}"


def beyond_the_cap(epsilon: float, budget: Budget) -> list[str]:
    """Say that a requested or granted epsilon exceeds the remaining cap, in one line or none."""
    left = budget.document.get("remaining_epsilon")
    if left is None or NEARLY * epsilon <= left:
        return []
    return [
        f"The cap has epsilon {left:.4g} left for one more order, less than this: an order beyond it is refused."
    ]


def request_line(request: BudgetRequest) -> str:
    """Format a budget request as one line."""
    parts = [
        request.id,
        request.state,
        f"epsilon {request.epsilon:g}  delta {request.delta:g}",
        f"dataset {request.dataset_id}",
        f"by {request.requested_by}",
        repr(request.purpose),
    ]
    if request.note is not None:
        parts.append(f"note {request.note!r}")
    if request.grant is not None:
        parts.append(f"-> {grant_line(request.grant)}")
    return "  ".join(parts)


def grant_line(grant: Grant) -> str:
    """Format a grant as one line."""
    line = (
        f"grant {grant.id}  {grant.state}  epsilon {grant.epsilon:g}  delta {grant.delta:g}  "
        f"holder {grant.holder_id}  until {grant.expires_at}"
    )
    if "spent" not in grant.document:
        return line
    spent, reserved = (float(grant.document[name]["epsilon"]) for name in ("spent", "reserved"))
    left = grant.document["remaining_epsilon"]
    return f"{line}  spent {spent:g}  reserved {reserved:g}  left {'-' if left is None else f'{left:g}'}"


def what_if_lines(answer: WhatIf) -> list[str]:
    """Format the effect of one more job as lines."""
    lines = ["one more job: fits" if answer.fits else f"one more job: does NOT fit ({answer.refusal})"]
    for name, bound in (("cap", answer.cap), ("grant", answer.grant)):
        if bound is not None:
            lines.append(bound_line(name, bound))
    return lines


def bound_line(name: str, bound: Json) -> str:
    """Format a cap or a grant with one more job as one line."""
    start = f"  {name:<6} epsilon {bound['epsilon']:g}  delta {bound['delta']:g}"
    if bound["fits"]:
        return (
            f"{start}: carried by filter {bound['carried_by']}; one more job could have "
            f"epsilon {bound['remaining_epsilon']:.4g} now, {bound['remaining_epsilon_after']:.4g} after it"
        )
    free = bound.get("remaining_delta")  # services of earlier versions do not state it
    delta = "" if free is None else f"delta {number(free)}, and "
    return f"{start}: does not fit; left for one more job: {delta}epsilon {bound['remaining_epsilon']:.4g} at the default delta"
