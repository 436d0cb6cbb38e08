"""Verify the release of a private model: its plan, its execution, its accuracy, and its price."""

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from understudy.verifying import accounting, owners, renyi
from understudy.verifying.bounds import NoiseKind, Part
from understudy.verifying.bundle_file import MANIFEST, Opened
from understudy.verifying.calibrated import anchor_noise
from understudy.verifying.closeness import close
from understudy.verifying.planned import canonical_digest, row, same

SCHEMA: Final = "understudy.model-certificate/1"
FEDERATED_SCHEMA: Final = "understudy.federated-model-certificate/1"
AVERAGED_SCHEMA: Final = "understudy.averaged-model-certificate/1"
MEMBER_SCHEMA: Final = "understudy.member-model-certificate/1"
LOCAL_SCHEMA: Final = "understudy.local-model-certificate/1"
MANIFEST_SCHEMA: Final = "understudy.model-bundle/1"
_DIGESTED: Final = ("domain.json", "model.onnx", "weights.safetensors")
_MEMBERS: Final = frozenset({"schema", "target", "classes", "image", "cardinalities", "sha256"})
_HELD_OUT: Final = 10
_CONSTANT: Final = 0.998
_CAP: Final = (4, 256)
"""The public cap on a batch: a multiple of the expected batch, plus a constant."""
_GRID: Final = 2.0**-20
_GRID_BITS, _EXACT_BITS = 36, 52
_DEVIATIONS: Final = 1.96
_ROUNDED: Final = 1e-5
"""Noise multipliers are rounded up to six digits."""

Json = Mapping[str, Any]


def manifest_problems(opened: Opened) -> Iterator[str]:
    """Report a manifest that is not one of a model, lists other files, or belongs to another domain or plan."""
    manifest, domain, plan = opened.manifest, opened.domain, opened.certificate["plan"]
    if manifest.get("schema") != MANIFEST_SCHEMA or manifest.keys() != _MEMBERS:
        yield f"{MANIFEST} does not describe a model"
        return
    if manifest["sha256"] != {name: opened.files[name].sha256 for name in _DIGESTED}:
        yield f"{MANIFEST} lists other files than are there"
    if manifest["target"] != plan["target"] or manifest["classes"] != plan["classes"]:
        yield f"{MANIFEST} is of another target than the plan"
    image, cells = manifest["image"], manifest["cardinalities"]
    if "height" in domain:
        shape = [domain["height"], domain["width"], domain["channels"]]
        if image != shape or cells or plan["inputs"] != math.prod(shape):
            yield f"{MANIFEST} is of other images than the domain"
        if plan["target"] != "label" or len(domain["labels"]) != plan["classes"]:
            yield f"{MANIFEST} is of other labels than the domain"
    elif image is not None or not isinstance(cells, list) or sum(cells) != plan["inputs"]:
        yield f"{MANIFEST} is of other columns than the plan"
    elif domain.get("target") != plan["target"]:
        yield f"{MANIFEST} is of another target than the domain"


def domain_problems(opened: Opened) -> Iterator[str]:
    """Report a declared domain that differs from the certificate's."""
    certificate, domain, plan = opened.certificate, opened.domain, opened.certificate["plan"]
    stated = certificate["data_domain"]
    if stated["sha256"] != canonical_digest(domain):
        yield "data_domain/sha256 is not the hash of domain.json"
    columns = plan["inputs"] + 1 if "height" in domain else len(opened.manifest["cardinalities"]) + 1
    shades = 256 if "height" in domain else 1
    if stated["columns"] != columns or stated["cells"] != plan["inputs"] * shades + plan["classes"]:
        yield "data_domain is not of the model's columns"
    if domain.get("privacy_unit") != certificate["privacy_unit"]["column"]:
        yield "privacy_unit is not the declared domain's"


def plan_problems(
    plan: Json, *, federated: bool = False, averaged: bool = False, member: bool = False
) -> Iterator[str]:
    """Report numbers of a plan that do not follow from its options, and a mechanism that does not follow from its numbers.

    Args:
        federated: Whether the certificate names several ledgers.
        averaged: Whether the certificate states that the owners' weights were averaged.
        member: Whether it is the certificate of one member of a federation.
    """
    options, size, guarantee = plan["options"], plan["declared_size"], plan["guarantee"]
    held_out = size // _HELD_OUT if options["accuracy_share"] else 0
    batch = options["expected_batch_size"]
    if plan["held_out_size"] != held_out or not 1 <= batch <= size - held_out:
        yield "plan/held_out_size"
        return
    derived: dict[str, object] = {
        "sampling_rate": batch / (size - held_out),
        "max_sampled_batch": _CAP[0] * batch + _CAP[1],
        "steps": options["steps"],
    }
    yield from (f"plan/{name}" for name, value in derived.items() if not same(plan[name], value))
    for name, share in (
        ("pca_noise_multiplier", options["pca_share"]),
        ("accuracy_noise_multiplier", options["accuracy_share"]),
    ):
        noise = plan[name]
        if (noise is None) != (share == 0):
            yield f"plan/{name}"
        elif noise is not None:
            exact = anchor_noise(guarantee["epsilon"], guarantee["delta"], share=share)
            if not close(noise, exact, tolerance=_ROUNDED):
                yield f"plan/{name}"
    if (options["features"] == "pca") != (options["components"] > 0) or (options["network"] == "module") != (
        options["module"] is not None
    ):
        yield "plan/options"
    rounds = options.get("averaging_rounds")
    if (rounds is not None) != averaged or (
        averaged and (plan["steps"] % rounds or options["pca_share"] or options["accuracy_share"])
    ):
        yield "plan/options/averaging_rounds"
    yield from _sharing_problems(plan, federated=federated, member=member)
    if not same(plan["mechanism"], _mechanism(plan)):
        yield "plan/mechanism"


def _sharing_problems(plan: Json, *, federated: bool, member: bool) -> Iterator[str]:
    if not federated and "owners" in plan:
        yield "plan/owners: a certificate that names one ledger"
    if not member and "federation" in plan:
        yield "plan/federation: a certificate that names no federation"


def statement_problems(certificate: Json) -> Iterator[str]:
    """Report members that differ from the plan."""
    plan, unit = certificate["plan"], certificate["privacy_unit"]
    bits = min(
        _GRID_BITS,
        _EXACT_BITS
        - 2
        - math.ceil(math.log2(max(1.0, plan["max_sampled_batch"] / plan["noise_multiplier"]))),
    )
    derived: dict[str, object] = {
        "privacy_parameters": plan["guarantee"],
        "adjacency": plan["adjacency"],
        "declared_size": plan["declared_size"],
        "epsilon": plan["epsilons"],
        "mechanism": plan["mechanism"],
        "mechanisms": _rows(plan),
        "noise_grid": {
            "components": None if plan["pca_noise_multiplier"] is None else _GRID,
            "steps": bits,
            "accuracy": None if plan["accuracy_noise_multiplier"] is None else _GRID,
        },
        "plan_digest": canonical_digest(plan),
    }
    yield from (name for name, value in derived.items() if not same(certificate[name], value))
    described = "one record" if unit["column"] is None else "all records"
    if unit["column"] != plan["privacy_unit"]["column"] or not unit["description"].startswith(described):
        yield "privacy_unit"


def steps_problems(certificate: Json) -> Iterator[str]:
    """Report differences between execution and plan."""
    plan, executed = certificate["plan"], certificate["executed"]
    if executed["steps"] != plan["steps"]:
        yield "executed/steps"
    sums = plan["steps"] * len(
        plan.get("owners", [None]) if "averaging_rounds" in plan["options"] else [None]
    )
    expected = {
        "components": [] if plan["pca_noise_multiplier"] is None else [[0, 1, 1]],
        "gradients": [[0, 1, sums]],
        "accuracy": [] if plan["accuracy_noise_multiplier"] is None else [[0, 1, 1]],
    }
    yield from (
        f"executed/releases/{name}" for name, value in expected.items() if executed["releases"][name] != value
    )


def accuracy_problems(certificate: Json) -> Iterator[str]:
    """Report an accuracy that does not follow from the noisy number of wrong answers."""
    plan, accuracy = certificate["plan"], certificate["accuracy"]
    std, size = plan["accuracy_noise_multiplier"], plan["held_out_size"]
    if (accuracy is None) != (std is None):
        yield "accuracy"
        return
    if accuracy is None:
        return
    wrong, reach = accuracy["noisy_wrong"], _DEVIATIONS * std
    derived = {
        "noisy_wrong": wrong,
        "noise_std": std,
        "held_out_size": size,
        "estimate": _share(1 - wrong / size),
        "low": _share(1 - (wrong + reach) / size),
        "high": _share(1 - (wrong - reach) / size),
    }
    yield from (f"accuracy/{name}" for name, value in derived.items() if not same(accuracy[name], value))


def recompute(certificate: Json) -> accounting.Recomputed:
    """Epsilon of all releases together, at the certificate's delta."""
    return accounting.recompute(_parts(certificate["plan"]), certificate["privacy_parameters"]["delta"])


def charge_problems(certificate: Json) -> Iterator[str]:
    """Report charged amounts that differ from the cost of the training, rounded up."""
    return accounting.charge_problems(certificate, partial(renyi.divergence, _parts(certificate["plan"])))


def owners_problems(certificate: Json) -> Iterator[str]:
    """Report ledgers that differ from the plan's owners, or that were not charged the cost of the training."""
    yield from owners.problems(certificate, _parts(certificate["plan"]))


def _parts(plan: Json) -> tuple[Part, ...]:
    once = [plan[name] for name in ("pca_noise_multiplier", "accuracy_noise_multiplier")]
    steps = Part(
        kind=NoiseKind.GAUSSIAN,
        noise_multiplier=plan["noise_multiplier"],
        sampling_rate=plan["sampling_rate"],
        count=plan["steps"],
    )
    return (
        steps,
        *(
            Part(kind=NoiseKind.GAUSSIAN, noise_multiplier=noise, sampling_rate=1.0, count=1)
            for noise in once
            if noise is not None
        ),
    )


def _mechanism(plan: Json) -> dict[str, Any]:
    def gaussian(noise: float) -> dict[str, Any]:
        return {"kind": "gaussian", "noise_multiplier": noise}

    step = {
        "kind": "poisson-sampled",
        "sampling_rate": plan["sampling_rate"],
        "mechanism": gaussian(plan["noise_multiplier"]),
    }
    first, last = plan["pca_noise_multiplier"], plan["accuracy_noise_multiplier"]
    parts = [
        *([] if first is None else [gaussian(first)]),
        {"kind": "repeated", "count": plan["steps"], "mechanism": step},
        *([] if last is None else [gaussian(last)]),
    ]
    return {"version": 1, "kind": "composed", "parts": parts}


def _rows(plan: Json) -> list[dict[str, Any]]:
    noise, norm, rate = plan["noise_multiplier"], plan["options"]["clipping_norm"], plan["sampling_rate"]
    first, last = plan["pca_noise_multiplier"], plan["accuracy_noise_multiplier"]
    rows = [row("model-steps", "poisson-sampled-gaussian", plan["steps"], rate, norm, noise, noise * norm)]
    if first is not None:
        rows.insert(0, row("principal-components", "gaussian", 1, 1.0, 1.0, first, first))
    if last is not None:
        rows.append(row("model-accuracy", "gaussian", 1, 1.0, 1.0, last, last))
    return rows


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))


def check_problems(check: Mapping[str, Any]) -> Iterator[str]:
    """Report where what a model is said to have answered cannot be; that it was answered is attested only."""
    least = 1.0 if check.get("unanimous_only", False) else _CONSTANT
    if check["constant"] != (check["share"] >= least):
        yield "model_check/constant is not what was found"


def check_words(check: Mapping[str, Any]) -> str:
    """The finding of a model's check, on one line."""
    said = f"the commonest answer to {check['draws']} inputs drawn from the declared domain has {check['share']:.1%} of them"
    return f"CONSTANT: {said}" if check["constant"] else said
