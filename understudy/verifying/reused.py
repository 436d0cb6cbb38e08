"""Counts of earlier releases that a plan takes over: which they may be, and what they do to the noise of a bundle's counts.

The charge is for the plan's own counts alone. What was released before was paid for then, and is named by the digest of its
counts; that those were released from the same rows is attested by the signature.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from understudy.verifying.anchors import counts_combinations, has_rounds, is_of_images
from understudy.verifying.marginals import is_of_marginals

Json = Mapping[str, Any]


def reused_problems(plan: Json) -> Iterator[str]:
    """Yield the places where the reused counts of a plan are not counts that it may reuse.

    Args:
        plan: of the published form.
    """
    reused, anchor = plan.get("reused"), plan["anchor"]
    if reused is None:
        return
    if anchor is None or is_of_images(anchor) or is_of_marginals(anchor) or not has_rounds(anchor):
        yield "plan/reused: the plan counts nothing itself"
    if "learning" in plan:
        yield "plan/reused: of a domain that is learnt, codes of another release mean something else"
    releases = [release for one in reused for release in (one["release_id"], *one["holds"])]
    if len(set(releases)) != len(releases):
        yield "plan/reused: the counts of a release are taken twice"
    kept = [one["tables"] for one in reused if one["tables"]]
    if len({one["by_class"] for one in kept}) > 1 or (len(kept) > 1 and any(one["screened"] for one in kept)):
        yield "plan/reused: pairs that are counted differently cannot be combined"
    if anchor is not None and any(
        one.get("combinations", False) != counts_combinations(anchor) for one in kept
    ):
        yield "plan/reused: combinations of codes and pairs are not the same counts"
    if kept and anchor is not None and anchor.get("screening_sensitivity", 0.0) > 0:
        yield "plan/reused: pairs that are taken over are not screened"


def says_what_is_reused(reading: str, plan: Json) -> bool:
    """Whether the promise in words is the one of a plan that reuses counts, or of one that does not; the schema has both."""
    return ("earlier releases" in reading) == ("reused" in plan)


def beside(plan: Json) -> str:
    """Suffix naming how many earlier releases, whose counts the release contains, a figure does not cover; empty without reuse."""
    count = sum(1 + len(one["holds"]) for one in plan.get("reused", ()))
    return (
        f"; in addition to {count} earlier release{'s' * (count > 1)} whose counts it holds" if count else ""
    )


def combined(plan: Json) -> dict[str, Any]:
    """The anchor of a plan, with the noise that its counts have together with those that it takes over."""
    anchor, reused = plan["anchor"], plan.get("reused")
    if not reused:
        return dict(anchor)
    std = anchor["noise_multiplier"] * anchor["sensitivity"]
    columns = _together(
        std / anchor["column_sensitivity"], [one["columns_noise_multiplier"] for one in reused]
    )
    size = anchor["table_sensitivity"]
    if not size:
        std = columns * anchor["column_sensitivity"]
        return {**anchor, "noise_multiplier": std / anchor["sensitivity"]}
    tables = [one["tables"]["noise_multiplier"] for one in reused if one["tables"]]
    std = _together(std / size, tables) * size
    return {
        **anchor,
        "noise_multiplier": std / anchor["sensitivity"],
        "column_sensitivity": std / columns,
    }


def keeps_groups_by_class(plan: Json) -> bool | None:
    """Whether a plan that keeps the groups of earlier pairs counts them by class; None where it keeps none."""
    return next((one["tables"]["by_class"] for one in plan.get("reused", ()) if one["tables"]), None)


def keeps_screened_pairs(plan: Json) -> bool:
    """Whether a plan counts the pairs that the screening of an earlier release chose."""
    return any(one["tables"]["screened"] for one in plan.get("reused", ()) if one["tables"])


def _together(own: float, others: list[float]) -> float:
    """The noise multiplier of counts combined by inverse variance."""
    return 1.0 / math.sqrt(math.fsum(noise**-2 for noise in (own, *others)))
