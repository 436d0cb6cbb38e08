"""Quotes: what an order would cost, before anything runs and without opening the dataset."""

import math
from collections.abc import Sequence
from typing import Any, Final

from core.dp.accountant import rdp_at
from core.dp.charge import FEMTO, MICRO, Charge, charge_of
from core.dp.filters import Admission, Cap, admit
from core.dp.gaussian import joint_noise_multiplier
from core.dp.mechanism import Composed, DiscreteGaussian, Gaussian, Threshold, leaves
from core.dp.remaining import remaining_epsilon
from core.plan.domain.images import ImageDomain
from core.plan.expected_error import expected_error
from core.plan.marginals import MarginalsPlan
from core.plan.plan import DomainShape, Plan
from core.plan.reusing import epsilon_as_if

SPLIT_ORDER = 8
"""The Renyi order at which the parts' shares are stated: close to the order that determines epsilon at usual
targets."""

IMAGES: Final = "images"
NO_ANCHOR: Final = "no-anchor"
CHOSEN_UNDER_NOISE: Final = "chosen-under-noise"
"""Why a quote has no expected error: images; a critic alone counts nothing; a graphical model chooses its
counts under noise."""


def plan_charge(plan: Plan) -> Charge:
    """Return what the whole plan costs, at the delta of its guarantee."""
    return charge_of(plan.mechanism, delta=plan.guarantee.delta)


def make_quote(
    plan: Plan,
    cap: Cap | None,
    charges: Sequence[Charge],
    *,
    domain: DomainShape | ImageDomain | None = None,
) -> dict[str, Any]:
    """Return the quote as a JSON object.

    Args:
        cap: The population's cap; None if no budget is set, and then nothing fits.
        charges: Everything spent and reserved so far.
        domain: The plan's domain, for the expected error of counts; None omits that.
    """
    return {
        "synthesizer": plan.synthesizer,
        "guarantee": plan.guarantee.to_json(),
        "adjacency": plan.adjacency.value,
        "privacy_unit": plan.privacy_unit.to_json(),
        "declared_size": plan.declared_size,
        "steps": plan.steps,
        "sampling_rate": plan.sampling_rate,
        "expected_batch_size": plan.expected_batch_size,
        "noise": noise_of(plan),
        "split": split_of(plan),
        **learning_in(plan),
        **({} if domain is None else expected_error_in(plan, domain)),
        **reused_in(plan),
        "epsilon": plan.epsilons.to_json(),
        **room_for(plan_charge(plan), cap, charges),
        "plan_digest": plan.digest(),
    }


def room_for(charge: Charge, cap: Cap | None, charges: Sequence[Charge]) -> dict[str, Any]:
    """Return the effect of a charge on a budget: whether it fits, and what is left before and after."""
    admission = None if cap is None else admit(cap, [*charges, charge])
    fits = admission is not None and admission.admitted
    after = [*charges, charge] if fits else [*charges]
    return {
        "charge": charge.to_json(),
        "fits": fits,
        "carried_by": None if admission is None else admission.carried_by,
        "filters": {} if admission is None else filters_of(admission),
        "remaining_epsilon": None if cap is None else remaining_epsilon(cap, charges),
        "remaining_epsilon_after": None if cap is None else remaining_epsilon(cap, after),
    }


def noise_of(plan: Plan) -> list[dict[str, Any]]:
    """Return the noise multipliers per schedule block; `with_histograms` is the effective one of refresh steps."""
    rows: list[dict[str, Any]] = []
    for block in plan.blocks:
        row: dict[str, Any] = {
            "first_step": block.first_step,
            "steps": block.steps,
            "noise_multiplier": block.noise_multiplier,
        }
        if plan.acts is not None:
            row["with_histograms"] = joint_noise_multiplier(
                block.noise_multiplier,
                histograms=plan.acts.groups,
                histogram_noise_multiplier=plan.acts.noise_multiplier,
            )
        rows.append(row)
    return rows


def split_of(plan: Plan) -> dict[str, Any]:
    """Return the noise and the share of each part, in Renyi divergence at `SPLIT_ORDER`; shares add up to 1.

    `learning` is present only if something of the domain is learnt. With an anchor the label counts are one
    of its blocks, without noise or charge of their own.
    """
    # Thresholds use delta but none of the divergence.
    noised = {
        leaf: count for leaf, count in leaves(plan.mechanism).items() if not isinstance(leaf, Threshold)
    }
    whole = math.fsum(count * rdp_at(leaf, (SPLIT_ORDER,))[0] for leaf, count in noised.items())
    noise: dict[str, float | None] = {"label_histogram": None, "anchor": None, "critic": None}
    share = {"label_histogram": 0.0, "anchor": 0.0, "critic": 0.0}
    measured = Composed(parts=() if plan.anchor is None else tuple(plan.anchor.parts))
    for leaf, count in leaves(measured).items():
        share["anchor"] += count * rdp_at(leaf, (SPLIT_ORDER,))[0] / whole
    if plan.label_histogram is not None:
        leaf = DiscreteGaussian(noise_multiplier=plan.label_histogram.noise_multiplier)
        share["label_histogram"] = rdp_at(leaf, (SPLIT_ORDER,))[0] / whole
    if plan.learning is not None:
        noise["learning"] = plan.learning.noise_multiplier
        each = rdp_at(Gaussian(noise_multiplier=plan.learning.noise_multiplier), (SPLIT_ORDER,))[0]
        share["learning"] = len(plan.learning.releases) * each / whole
    if plan.anchor is not None:
        noise["anchor"] = plan.anchor.noise_multiplier
    if plan.label_histogram is not None:
        noise["label_histogram"] = plan.label_histogram.noise_multiplier
    if plan.blocks:
        noise["critic"] = plan.blocks[0].noise_multiplier
        share["critic"] = 1 - share["anchor"] - share["label_histogram"] - share.get("learning", 0.0)
    parts = {name: {"share": share[name], "noise_multiplier": noise[name]} for name in share}
    return {"order": SPLIT_ORDER} | parts


def learning_in(plan: Plan) -> dict[str, Any]:
    """Return what a plan learns of the domain and how precisely; empty if it learns nothing.

    `noise_std` is in units on every count; `threshold` is the noisy number of units that a category must
    exceed. Only basic composition covers a job with a threshold, so its filter and those of later jobs is
    `basic`.
    """
    learning = plan.learning
    if learning is None:
        return {}
    releases = [
        {
            "column": one.column,
            "learns": one.learns,
            "noise_std": learning.noise_multiplier * one.sensitivity,
            "threshold": learning.threshold if one.learns == "categories" else None,
        }
        for one in learning.releases
    ]
    return {"learning": {"delta": learning.delta, "releases": releases}}


def expected_error_in(plan: Plan, domain: DomainShape | ImageDomain) -> dict[str, Any]:
    """Return what a plan would count and the expected error of its synthetic rows, from public facts.

    Reused counts reduce the error. `expected_error` is None if it is not known in advance;
    `expected_error_missing` says why.
    """
    if plan.known is None or isinstance(domain, ImageDomain):
        reason = CHOSEN_UNDER_NOISE if isinstance(plan.anchor, MarginalsPlan) else NO_ANCHOR
        missing = IMAGES if isinstance(domain, ImageDomain) else reason
        return {"expected_error": None, "expected_error_missing": missing}
    found = expected_error(
        plan.known,
        cardinalities=domain.cardinalities,
        target_index=domain.target_index,
        declared_size=plan.declared_size,
        most_records=plan.privacy_unit.most_records,
        kept=plan.kept_groups,
    )
    return {"expected_error": found.to_json()}


def reused_in(plan: Plan) -> dict[str, Any]:
    """Return what a plan reuses and what that is worth; empty if it reuses nothing.

    `epsilon_as_if` is the epsilon at which one plan would have counted as precisely as all counts together;
    `epsilon_alone` that of the plan's own counts; both at its delta.
    """
    if not plan.reused:
        return {}
    releases = [
        {
            "release_id": one.release_id,
            "holds": list(one.holds),
            "counts": "columns" if one.tables is None else "columns-and-pairs",
        }
        for one in plan.reused
    ]
    as_if = {"epsilon_as_if": epsilon_as_if(plan), "epsilon_alone": epsilon_as_if(plan, alone=True)}
    return {"reused": as_if | {"releases": releases}}


def filters_of(admission: Admission) -> dict[str, dict[str, Any]]:
    """Return the state of every filter in plain units."""
    rows: dict[str, dict[str, Any]] = {}
    for name, room in admission.rooms.items():
        rows[name] = {
            "holds": room.holds,
            "capacity": max(room.capacity_micros, 0) / MICRO,
            "used": room.used_micros / MICRO,
        }
        if room.capacity_femtos is not None and room.used_femtos is not None:
            rows[name] |= {
                "capacity_delta": room.capacity_femtos / FEMTO,
                "used_delta": room.used_femtos / FEMTO,
            }
    return rows
