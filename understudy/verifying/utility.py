"""Verify a utility report offline: its form, its signature, its recomputed price, and its figures.

Nobody without the dataset can check that the noisy numbers come from it; everything else follows from the numbers and the plan.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from understudy.verifying import accounting, form, renyi, signatures
from understudy.verifying.bounds import NoiseKind, Part
from understudy.verifying.verification import Check, Report, outcome_of

SCHEMA: Final = "understudy.charged-report/1"
_DEVIATIONS: Final = 1.96
_SHARES: Final[Mapping[str, int]] = {"columns": 1, "pairs": 2, "score": 1}
_CLOSE: Final = 1e-9
_ROUNDED: Final = 2e-5
"""Standard deviations are rounded up to six digits."""

Json = Mapping[str, Any]


def verify_report(document: Json, *, public_keys: Iterable[bytes] = ()) -> Report:
    """Verify a utility report; numpy, scipy and cryptography (the extra `audit`) must be installed.

    The public keys, of 32 bytes, are those that the reader trusts, from another source.
    """
    checks = [_check("form", form.problems(document, kind="charged"))]
    if checks[0].holds:
        part = Part(
            kind=NoiseKind.GAUSSIAN,
            noise_multiplier=document["plan"]["noise_multiplier"],
            sampling_rate=1.0,
            count=1,
        )
        found = accounting.recompute((part,), document["privacy_parameters"]["delta"])
        checks += [
            _signature(document, public_keys),
            _check("plan", plan_problems(document)),
            _check("epsilon", accounting.epsilon_problems(document, found)),
            _check("charge", accounting.charge_problems(document, partial(renyi.divergence, (part,)))),
            _check("numbers", number_problems(document)),
        ]
    return Report(outcome=outcome_of(checks), checks=tuple(checks), certificate=document)


def plan_problems(document: Json) -> Iterator[str]:
    """Report members that differ from the plan, and noise below the plan's multiplier."""
    plan = document["plan"]
    same = ("release_id", "adjacency", "declared_size", "mechanism")
    yield from (name for name in same if document[name] != plan[name])
    if document["privacy_parameters"] != plan["guarantee"]:
        yield "privacy_parameters"
    if document["epsilon"] != plan["epsilons"]:
        yield "epsilon"
    if document["privacy_unit"]["column"] != plan["privacy_unit"]["column"]:
        yield "privacy_unit"
    if plan["mechanism"]["noise_multiplier"] != plan["noise_multiplier"]:
        yield "plan/mechanism"
    terms = _terms(plan)
    stds = {kind: std for kind, std in plan["noise_stds"].items() if std is not None}
    rows = [(row["name"], row["times"], row["noise_std"]) for row in document["mechanisms"]]
    if stds.keys() != terms.keys() or rows != [(kind, terms[kind], stds[kind]) for kind in terms]:
        yield "mechanisms"
        return
    # One unit changes every term by at most one record.
    squared = math.fsum(count / stds[kind] ** 2 for kind, count in terms.items())
    if math.sqrt(squared) * plan["noise_multiplier"] > 1 + _CLOSE:
        yield "plan/noise_stds"
    whole = sum(_SHARES[kind] for kind in terms)
    for kind, count in terms.items():
        exact = plan["noise_multiplier"] * math.sqrt(count * whole / _SHARES[kind])
        if not exact * (1 - _CLOSE) <= stds[kind] <= exact * (1 + _ROUNDED):
            yield f"plan/noise_stds/{kind}"


def number_problems(document: Json) -> Iterator[str]:
    """Report numbers that do not follow from their noisy number and its noise, or belong to another column."""
    plan, results = document["plan"], document["results"]
    names, size = plan["columns"], plan["declared_size"]
    stds = {kind: std / (2 * size) for kind, std in plan["noise_stds"].items() if std is not None}
    if [row["name"] for row in results["columns"]] != names:
        yield "results/columns"
    couples = [[one, other] for index, one in enumerate(names) for other in names[index + 1 :]]
    if [row["names"] for row in results["pairs"]] != couples:
        yield "results/pairs"
    score = results["score"]
    if (None if score is None else score["target"]) != plan["target"]:
        yield "results/score"
        return
    for kind in ("columns", "pairs"):
        mean, rows = results[f"mean_of_{kind}"], results[kind]
        if (mean is None) != (not rows):
            yield f"results/mean_of_{kind}"
        elif rows:
            recomputed = math.fsum(row["noisy"] for row in rows) / len(rows)
            if abs(mean["noisy"] - recomputed) > _CLOSE or not _follows(
                mean, stds[kind] / math.sqrt(len(rows))
            ):
                yield f"results/mean_of_{kind}"
        yield from (
            f"results/{kind}/{number}" for number, row in enumerate(rows) if not _follows(row, stds[kind])
        )
    if score is not None and not _follows(score, stds["score"]):
        yield "results/score"


def _follows(row: Json, std: float) -> bool:
    reach = _DEVIATIONS * std
    wanted = {
        "noise_std": std,
        "estimate": _within(row["noisy"]),
        "low": _within(row["noisy"] - reach),
        "high": _within(row["noisy"] + reach),
    }
    return all(
        math.isclose(row[name], value, rel_tol=_CLOSE, abs_tol=_CLOSE) for name, value in wanted.items()
    )


def _terms(plan: Json) -> dict[str, int]:
    count = len(plan["columns"])
    counts = {"columns": count, "pairs": count * (count - 1) // 2, "score": int(plan["target"] is not None)}
    return {kind: terms for kind, terms in counts.items() if terms}


def _within(share: float) -> float:
    return min(1.0, max(0.0, share))


def _check(name: str, problems: Iterable[str]) -> Check:
    found = list(problems)
    return Check(name=name, holds=not found, detail="; ".join(found[:3]) or "holds")


def _signature(document: Json, public_keys: Iterable[bytes]) -> Check:
    keys = [key for key in public_keys if signatures.fingerprint(key) == document["key_id"]]
    if not keys:
        return Check(name="signature", holds=None, detail=f"none of the keys given is {document['key_id']}")
    holds = signatures.verifies(document, keys[0], context=SCHEMA)
    detail = "signed by a key that you trust" if holds else "the signature is not of this report"
    return Check(name="signature", holds=holds, detail=detail)
