"""The split of the budget that a certificate's plan states, for its readers."""

from collections.abc import Mapping
from typing import Any

from core.errors import InvalidInput
from core.plan.ordered_plan import ordered_plan_from_json
from core.plan.plan import Plan
from core.plan.split import Split, split_of


def stated_split(certificate: Mapping[str, Any]) -> Split | None:
    """Return the split of the training that made a generator; of a selection, that of the winner's final training.

    None for a private model, which has neither anchor nor critic, and for a certificate whose plan this version cannot read or whose winner is none of its candidates.
    """
    plan = certificate.get("plan") or {}
    if "finals" in plan:
        winner = (certificate.get("executed") or {}).get("winner")
        if not (isinstance(winner, int) and 0 <= winner < len(plan["finals"])):
            return None
        plan = plan["finals"][winner]
    if "blocks" not in plan:
        return None
    try:
        made = ordered_plan_from_json(plan)
        return split_of(made) if isinstance(made, Plan) else None
    except InvalidInput:
        return None
