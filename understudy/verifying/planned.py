"""Required statements of a certificate, derived from its plan by independent code.

The plan was charged. Every other statement on mechanisms, steps and noise follows from it; a difference is reported by the member's name.
This code shares nothing with the service.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from understudy.verifying import marginals
from understudy.verifying.anchors import (
    anchor_count,
    anchor_grid,
    anchor_noises,
    anchor_problems,
    anchor_releases,
)
from understudy.verifying.bounds import NoiseKind, Part
from understudy.verifying.calibrated import label_noise
from understudy.verifying.closeness import close
from understudy.verifying.learning import (
    learning_grid,
    learning_problems,
    learning_releases,
    left_of,
    rest_of,
    threshold_delta,
)
from understudy.verifying.records import Described
from understudy.verifying.renyi import divergence
from understudy.verifying.reused import reused_problems
from understudy.verifying.schedule import block_problems, histogram_groups, steps_fit

Json = Mapping[str, Any]
_GRID_BITS, _EXACT_BITS = 36, 52
_SPLIT_ORDER = 8


def canonical_digest(document: Json) -> str:
    """SHA-256 of a document's canonical JSON: sorted, no spaces, ASCII."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def joint_multiplier(own: float, acts: Json) -> float:
    """The effective multiplier of a gradient and its histograms on one sample: inverse squares add up."""
    return float(1 / math.sqrt(own**-2 + acts["groups"] * acts["noise_multiplier"] ** -2))


def parts_of(plan: Json) -> list[Part]:
    """All releases of a plan, for the accountants; thresholds take their delta beforehand."""
    parts = [
        Part(kind=NoiseKind.GAUSSIAN, noise_multiplier=noise, sampling_rate=1.0, count=1)
        for _name, _sensitivity, noise in learning_releases(plan)
    ]
    if plan["label_histogram"] is not None:
        noise = plan["label_histogram"]["noise_multiplier"]
        parts.append(
            Part(kind=NoiseKind.DISCRETE_GAUSSIAN, noise_multiplier=noise, sampling_rate=1.0, count=1)
        )
    parts += [
        Part(kind=NoiseKind.GAUSSIAN, noise_multiplier=noise, sampling_rate=1.0, count=1)
        for noise in anchor_noises(plan["anchor"])
    ]
    for block in plan["blocks"]:
        parts += [
            Part(
                kind=NoiseKind.GAUSSIAN,
                noise_multiplier=noise,
                sampling_rate=plan["sampling_rate"],
                count=count,
            )
            for noise, count in _block_steps(block, plan["acts"])
        ]
    return parts


def split_text(plan: Json) -> str:
    """The parts' shares of the whole plan's Renyi divergence at order 8, and the critic's task."""
    each = [divergence((part,), _SPLIT_ORDER) for part in parts_of(plan)]
    learnt, labels = len(learning_releases(plan)), int(plan["label_histogram"] is not None)
    anchored = learnt + labels + anchor_count(plan["anchor"])
    options = plan["options"]
    asks = options.get("critic_asks", "real") if options.get("critic") else "none"
    shares = {
        "learning": each[:learnt],
        "label histogram": each[learnt : learnt + labels],
        "anchor": each[learnt + labels : anchored],
        "critic": each[anchored:],
    }
    texts = (
        f"{name} {100 * math.fsum(own) / math.fsum(each):.3g} %"
        for name, own in shares.items()
        if own or name in {"anchor", "critic"}
    )
    return f"{', '.join(texts)} (asks {asks})"


def _block_steps(block: Json, acts: Json | None) -> Iterator[tuple[float, int]]:
    """Effective multipliers of a block with their numbers of steps: the ordinary steps, then the refreshes."""
    first, steps, own = block["first_step"], block["steps"], block["noise_multiplier"]
    refreshes = 0
    if acts is not None:
        interval = acts["interval"]
        refreshes = -(-(first + steps) // interval) - -(-first // interval)
    if steps > refreshes:
        yield own, steps - refreshes
    if acts is not None and refreshes:
        yield joint_multiplier(own, acts), refreshes


def mechanism_of(plan: Json) -> dict[str, Any]:
    """The mechanism of a plan, in the certificate's words."""
    kinds: list[dict[str, Any]] = []
    for part in parts_of(plan):
        noise = {"kind": part.kind.value, "noise_multiplier": part.noise_multiplier}
        if part.kind is NoiseKind.DISCRETE_GAUSSIAN or len(kinds) < _measurements(plan):
            kinds.append(noise)
        else:
            sampled = {"kind": "poisson-sampled", "sampling_rate": part.sampling_rate, "mechanism": noise}
            kinds.append({"kind": "repeated", "count": part.count, "mechanism": sampled})
    if delta := threshold_delta(plan):
        kinds.insert(len(learning_releases(plan)), {"kind": "threshold", "delta": delta})
    return {"version": 1, "kind": "composed", "parts": kinds}


def _measurements(plan: Json) -> int:
    label_histogram = int(plan["label_histogram"] is not None)
    return len(learning_releases(plan)) + label_histogram + anchor_count(plan["anchor"])


def same(stated: object, derived: object) -> bool:
    """Whether two documents are equal up to rounding in the last digits of non-integers."""
    if isinstance(derived, dict) and isinstance(stated, dict):
        return stated.keys() == derived.keys() and all(same(stated[name], derived[name]) for name in derived)
    if isinstance(derived, list) and isinstance(stated, list):
        return len(stated) == len(derived) and all(map(same, stated, derived))
    if isinstance(derived, float) and isinstance(stated, (int, float)):
        return close(float(stated), derived)
    return type(stated) is type(derived) and stated == derived


def mechanism_rows(plan: Json) -> list[dict[str, Any]]:
    """The table of a plan's mechanisms."""
    rows = [
        row(name, "gaussian", 1, 1.0, sensitivity, noise, noise * sensitivity)
        for name, sensitivity, noise in learning_releases(plan)
    ]
    label, anchor, acts, rate = plan["label_histogram"], plan["anchor"], plan["acts"], plan["sampling_rate"]
    if label is not None:
        noise = label["noise_multiplier"]
        rows.append(row("label-histogram", "discrete-gaussian", 1, 1.0, 1.0, noise, noise))
    rows += [
        row(name, "gaussian", times, 1.0, sensitivity, noise, noise * sensitivity)
        for name, times, sensitivity, noise in anchor_releases(anchor)
    ]
    if plan["steps"]:
        multipliers = {block["noise_multiplier"] for block in plan["blocks"]}
        constant = multipliers.pop() if len(multipliers) == 1 else None
        norm = plan["options"]["clipping_norm"]
        kind = "poisson-sampled-gaussian"
        rows.append(row("critic-steps", kind, plan["steps"], rate, norm, constant, None))
    if acts is not None:
        noise, times = acts["noise_multiplier"], -(-plan["steps"] // acts["interval"])
        kind = "poisson-sampled-gaussian"
        rows.append(row("threshold-histograms", kind, times, rate, 1.0, noise, noise))
    return rows


def row(
    name: str, kind: str, times: int, rate: float, sensitivity: float, noise: float | None, std: float | None
) -> dict[str, Any]:
    """A row of a table of mechanisms."""
    return {
        "name": name, "kind": kind, "times": times, "sampling_rate": float(rate), "sensitivity": float(sensitivity),
        "noise_multiplier": noise, "noise_std": std,
    }  # fmt: skip


def noise_grid(plan: Json) -> dict[str, Any]:
    """The grids for a plan by the service's rule: fine relative to the noise, coarse relative to float64."""
    critic = []
    for block in plan["blocks"]:
        sum_bits = math.ceil(math.log2(max(1.0, plan["max_sampled_batch"] / block["noise_multiplier"])))
        bits = min(_GRID_BITS, _EXACT_BITS - 2 - sum_bits)
        critic.append({"first_step": block["first_step"], "bits_below_noise": bits})
    return learning_grid(plan) | {
        "anchor": anchor_grid(plan["anchor"]),
        "label_counts": None if plan["label_histogram"] is None else 1,
        "critic": critic,
        "histograms": None if plan["acts"] is None else _GRID_BITS,
    }


def plan_problems(plan: Json, records: Described) -> Iterator[str]:
    """Report a plan that does not follow from its options, its guarantee and the declared columns."""
    yield from reused_problems(plan)
    if not marginals.fits_synthesizer(plan):
        yield "plan/options: not those of the synthesizer"
        return
    if plan["synthesizer"] in marginals.SYNTHESIZERS:
        if not same(plan["mechanism"], mechanism_of(plan)):
            yield "plan/mechanism"
        if "learning" in plan:
            yield "plan/learning: a graphical model is of a domain that is declared"
        yield from marginals.plan_problems(plan, records)
        return
    options, size = plan["options"], plan["declared_size"]
    batch = plan["expected_batch_size"]
    rules = {
        "expected_batch_size": batch == options["expected_batch_size"] and batch <= size,
        "sampling_rate": close(plan["sampling_rate"], batch / size),
        "max_sampled_batch": plan["max_sampled_batch"] == 4 * batch + 256,
        "steps": steps_fit(plan) and (plan["steps"] > 0) == options["critic"],
        "anchor": (plan["anchor"] is not None) == options["anchor"]
        and (options["anchor"] or options["critic"]),
        "acts": (plan["acts"] is not None) == options["acts"],
        "label_histogram": (plan["label_histogram"] is not None)
        == (records.labelled and not options["anchor"]),
        "options/anchor_share": _share_fits(options),
        "mechanism": same(plan["mechanism"], mechanism_of(plan)),
    }
    yield from (f"plan/{name}" for name, holds in rules.items() if not holds)
    yield from block_problems(plan)
    yield from learning_problems(plan, len(records.cardinalities))
    left, rest = left_of(plan), rest_of(plan)
    yield from anchor_problems(
        plan["anchor"],
        options,
        left,
        records,
        most_records=plan["privacy_unit"].get("records") or 1,
        rest=rest,
    )
    if plan["label_histogram"] is not None:
        noise = label_noise(left["epsilon"], left["delta"], rest=rest)
        if not close(plan["label_histogram"]["noise_multiplier"], noise, tolerance=1e-5):
            yield "plan/label_histogram/noise_multiplier"
    if plan["acts"] is not None:
        yield from _acts_problems(plan["acts"], options, records)


def says_how_noise_is_set(justification: list[str], plan: Json) -> bool:
    """Whether the sentence on noise matches an order that sets the noise, or one that leaves it to calibration; the schema has both."""
    ordered = plan["options"].get("first_noise_multiplier") is not None
    return (
        any("was set in the order, and that of the others follows" in said for said in justification)
        == ordered
    )


def _share_fits(options: Json) -> bool:
    share = options["anchor_share"]
    if options["anchor"] and options["critic"]:
        return bool(0 < share < 1)
    return bool(share == float(options["anchor"]))


def _acts_problems(acts: Json, options: Json, records: Described) -> Iterator[str]:
    for name in ("interval", "noise_multiplier", "lowest_edge", "edge_ratio", "bins"):
        if acts[name] != options[f"acts_{name}"]:
            yield f"plan/acts/{name}"
    if acts["groups"] != histogram_groups(options, image_outputs=records.image_outputs):
        yield "plan/acts/groups"
