"""A certificate in plain language. Each sentence is derived from one member of the certificate; a missing member yields no sentence."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from core.artifacts.stated_split import stated_split
from core.plan.split import Split, percent
from service.wording.amounts import count, delta_up, epsilon_up, factor_up

_MECHANISMS: Final[Mapping[str, str]] = {
    "anchor": "one noisy measurement of columns and pairs of columns, or of images",
    "anchor-columns": "one noisy count of each column",
    "anchor-screening": "one noisy measurement of how far pairs of columns are from independence",
    "anchor-tables": "one noisy count of pairs of columns, in groups of values",
    "anchor-cells": "noisy measurement of parts of images",
    "anchor-brightness": "one noisy measurement of how bright the images are",
    "anchor-means": "noisy measurement of the average image of each class",
    "anchor-basis": "noisy measurement of the directions along which images vary",
    "anchor-moments": "noisy measurement of how much images vary along these directions",
    "one-way-counts": "one noisy count of every column",
    "marginal-scores": "noisy scoring of which columns to count together",
    "chosen-marginals": "noisy joint counts of the chosen columns",
    "label-histogram": "one noisy count of the classes",
    "learning-bounds": "learning the bounds of a column once, under noise",
    "learning-bins": "learning the bins of a column once, under noise",
    "learning-categories": "learning once, under noise, which categories many units share",
    "learning-records": "learning once, under noise, how many records of a unit count",
    "learning-crowded": "checking once, under noise, whether the declared bounds of a column are far too wide, and learning its bins if so",
    "critic-steps": "training steps, each on a random sample of the records, under noise",
    "principal-components": "noisy second moments, whose leading directions the model reads",
    "model-steps": "training steps, each on a random sample of the records, under noise",
    "model-accuracy": "noisy number of wrong answers on held-out units",
    "threshold-histograms": "noisy counts that set the clipping thresholds of training",
}


def in_words(certificate: Mapping[str, Any]) -> Sequence[str]:
    """The certificate's statements for a reader who signs off and is no programmer."""
    split = stated_split(certificate)
    return [*_sentences(certificate), *([] if split is None else [_in_parts(split)])]


def _in_parts(split: Split) -> str:
    """Shares of the budget, by part of the training."""
    asked = {
        "real": "which separates real records from generated ones",
        "labels": "which predicts the labels of images",
    }
    parts = {
        "learning the domain": split.learning,
        "counts of the target or labels": split.label_histogram,
        "noisy counts and moments (anchor)": split.anchor,
    }
    shares = [f"{name} {percent(part.share)}" for name, part in parts.items() if part and part.share]
    if split.critic.share:
        task = asked.get(str(split.critic.asks))
        shares.append(f"private critic {percent(split.critic.share)}" + (f", {task}" if task else ""))
    return f"Split of the budget: {', '.join(shares)}."


def not_covered(certificate: Mapping[str, Any]) -> Sequence[str]:
    """The limits that the certificate states, verbatim."""
    return [str(sentence) for sentence in certificate.get("not_covered", ())]


def mechanisms(certificate: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """The mechanisms that ran, in order, with their counts; those of a selection come first."""
    candidates = _candidates(certificate)
    selecting = [
        (
            "training of a candidate on its own disjoint part of the units, under noise",
            f"{count(candidates)} ×",
        ),
        ("selection of the best candidate on a further part, under noise", "1 ×"),
    ]
    return [*(selecting if candidates else ()), *_rows(certificate)]


def _candidates(certificate: Mapping[str, Any]) -> int:
    """The number of candidates of a selection; zero without a selection."""
    executed = certificate.get("executed", {})
    return len(executed["candidates"]) if "winner" in executed else 0


def _rows(certificate: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    return [
        (_MECHANISMS.get(str(row.get("name")), str(row.get("name"))), f"{count(int(row['times']))} ×")
        for row in certificate.get("mechanisms", ())
        if "times" in row
    ]


def _sentences(certificate: Mapping[str, Any]) -> Iterator[str]:
    promised, plan = certificate.get("privacy_parameters"), certificate.get("plan")
    reused = plan.get("reused", ()) if isinstance(plan, Mapping) else ()
    if promised:
        stated = certificate.get("epsilon", {}).get("reported", promised["epsilon"])
        yield (
            f"Including or excluding any one unit makes every outcome at most {factor_up(promised['epsilon'])} times as "
            f"likely (epsilon {epsilon_up(promised['epsilon'])}), except with probability {delta_up(promised['delta'])} "
            f"(delta)."
        )
        yield f"Recomputed from the mechanisms that ran, epsilon is {epsilon_up(stated)}."
        held = (
            "what this release adds to earlier ones"
            if reused
            else "the model and for every prediction"
            if isinstance(plan, Mapping) and plan.get("kind") == "model"
            else "the generator and for everything ever drawn from it"
        )
        yield f"This holds for {held}, against any recipient with any prior knowledge."
    if reused:
        earlier = sum(1 + len(one["holds"]) for one in reused)
        phrase = "1 earlier release" if earlier == 1 else f"{count(earlier)} earlier releases"
        yield (
            f"Its counts are combined with those of {phrase} of the same data, paid for at the time: "
            f"{', '.join(str(one['release_id']) for one in reused)}. For all of them together, the epsilons add up."
        )
    if candidates := _candidates(certificate):
        yield (
            f"{count(candidates)} candidates were trained on disjoint parts of the units. Number "
            f"{certificate['executed']['winner'] + 1} in the order was selected and trained on all units; epsilon covers "
            f"all of this."
        )
    if accuracy := certificate.get("accuracy"):
        yield (
            f"On held-out units the model's accuracy is {accuracy['estimate']:.1%}, between {accuracy['low']:.1%} and "
            f"{accuracy['high']:.1%} for the noise; this figure is part of what epsilon covers."
        )
    unit = certificate.get("privacy_unit")
    if unit:
        phrase = f"“{unit['column']}”: " if unit.get("column") else ""
        yield f"A unit is {phrase}{unit.get('description', 'one record')}."
        if "records" in unit:
            yield (
                f"At most {count(unit['records'])} records of a unit are used, each with full weight; the noise is calibrated for "
                f"that many records."
            )
    if "declared_size" in certificate:
        yield f"The data was declared to hold {count(int(certificate['declared_size']))} units; the true number is not disclosed."
    if "ledger" in certificate:
        link = certificate["ledger"].get("spent", {})
        if "sequence" in link:
            yield f"The price was charged in ledger entry {link['sequence']} before any record was read."
