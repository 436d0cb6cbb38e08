"""The federation in a certificate of one member, and the noise of counts that are summed over members."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from understudy.verifying.anchors import has_rounds, is_of_images
from understudy.verifying.marginals import is_of_marginals

Json = Mapping[str, Any]


def problems(certificate: Json) -> Iterator[str]:
    """Report a plan's invalid federation, or declared sizes that do not add up to the plan's."""
    federation = certificate["plan"].get("federation")
    if federation is None:
        yield "plan/federation is missing"
        return
    members = federation["members"]
    names = [one["name"] for one in members]
    if len(names) < 2 or len(set(names)) < len(names) or federation["member"] not in names:  # noqa: PLR2004 - one owner has an ordinary certificate
        yield "plan/federation does not name two or more members, and this one among them"
    if sum(one["declared_size"] for one in members) != certificate["plan"]["declared_size"]:
        yield "plan/federation: the declared sizes do not add up to the plan's"


def counts_problems(certificate: Json) -> Iterator[str]:
    """Report a member's generator that uses more than counts of columns and pairs, and the `problems` of its federation."""
    plan = certificate["plan"]
    anchor = plan["anchor"]
    of_a_table = anchor is not None and not is_of_images(anchor) and not is_of_marginals(anchor)
    if plan["steps"] or "learning" in plan or "reused" in plan or plan["label_histogram"] is not None:
        yield "plan: more than the counts of all members"
    elif not of_a_table or not has_rounds(anchor):
        yield "plan/anchor: more than counts of columns and pairs"
    yield from problems(certificate)


def summed(plan: Json, anchor: Json) -> Json:
    """The anchor with the noise of the released counts: one noise per member if counts are summed over members."""
    if "federation" not in plan:
        return anchor
    members = len(plan["federation"]["members"])
    return {**anchor, "noise_multiplier": math.sqrt(members) * anchor["noise_multiplier"]}
