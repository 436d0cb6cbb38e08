"""Counts of earlier releases in a plan: the conditions for reuse, and their effect on the noise of a bundle's counts.

The charge covers the plan's own counts alone. Earlier releases were paid for at their time and are identified by the digest of their
counts; only the signature attests that they come from the same rows.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from understudy.verifying.anchors import counts_combinations, has_rounds, is_of_images
from understudy.verifying.marginals import is_of_marginals

Json = Mapping[str, Any]


def reused_problems(plan: Json) -> Iterator[str]:
    """Yield reused counts of a plan that it may not reuse."""
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
    """Whether the guarantee in words matches a plan that reuses counts, or one that does not; the schema has both."""
    return ("earlier releases" in reading) == ("reused" in plan)


def beside(plan: Json) -> str:
    """Suffix with the number of earlier releases that a figure does not cover although the release contains their counts; empty without reuse."""
    count = sum(1 + len(one["holds"]) for one in plan.get("reused", ()))
    return (
        f"; in addition to {count} earlier release{'s' * (count > 1)} whose counts it holds" if count else ""
    )


def combined(plan: Json) -> dict[str, Any]:
    """A plan's anchor, with the noise of its counts combined with the reused ones."""
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
    return {**anchor, "noise_multiplier": std / anchor["sensitivity"], "column_sensitivity": std / columns}


def keeps_groups_by_class(plan: Json) -> bool | None:
    """Whether a plan that keeps the groups of earlier pairs counts them by class; None if it keeps no groups."""
    return next((one["tables"]["by_class"] for one in plan.get("reused", ()) if one["tables"]), None)


def keeps_screened_pairs(plan: Json) -> bool:
    """Whether a plan counts the pairs chosen by an earlier release's screening."""
    return any(one["tables"]["screened"] for one in plan.get("reused", ()) if one["tables"])


def _together(own: float, others: list[float]) -> float:
    """The noise multiplier of counts combined by inverse variance."""
    return 1.0 / math.sqrt(math.fsum(noise**-2 for noise in (own, *others)))
