"""A certificate in plain words. Each sentence stands on a member of the certificate; where it lacks one, none is said."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from service.dashboard.labels import count, delta_up, epsilon_up, factor_up

_MECHANISMS: Final[Mapping[str, str]] = {
    "anchor": "measuring columns and pairs of columns, or images, once, under noise",
    "anchor-columns": "counting each column once, under noise",
    "anchor-screening": "measuring how far pairs of columns are from independence, once, under noise",
    "anchor-tables": "counting pairs of columns once, in groups of values, under noise",
    "anchor-cells": "measuring parts of images, under noise",
    "anchor-means": "measuring the average image of each class, under noise",
    "anchor-basis": "measuring along which directions images vary, under noise",
    "anchor-moments": "measuring how much they vary along these, under noise",
    "one-way-counts": "counting every column once, under noise",
    "marginal-scores": "scoring which columns to count together, under noise",
    "chosen-marginals": "counting the columns together that were chosen, under noise",
    "label-histogram": "counting the classes once, under noise",
    "learning-bounds": "learning the bounds of a column, once, under noise",
    "learning-bins": "learning the bins of a column, once, under noise",
    "learning-categories": "learning which categories many units share, once, under noise",
    "learning-records": "learning how many records of a unit count, once, under noise",
    "critic-steps": "training steps, each on a random part of the records, under noise",
    "threshold-histograms": "counts that set the limits of training, under noise",
}


def in_words(certificate: Mapping[str, Any]) -> Sequence[str]:
    """What a certificate says, for somebody who signs and is no programmer."""
    return list(_sentences(certificate))


def not_covered(certificate: Mapping[str, Any]) -> Sequence[str]:
    """What it does not speak for, in its own words."""
    return [str(sentence) for sentence in certificate.get("not_covered", ())]


def mechanisms(certificate: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """What ran, in the order in which it ran, and how often; of a selection, then, the selecting first."""
    candidates = _candidates(certificate)
    selecting = [
        ("training of a candidate on a part of the units of its own, under noise", f"{count(candidates)} ×"),
        ("choosing the best of them on one part more, under noise", "1 ×"),
    ]
    return [*(selecting if candidates else ()), *_rows(certificate)]


def _candidates(certificate: Mapping[str, Any]) -> int:
    """How many a selection chose from; none where there was no selection."""
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
            f"Whether or not one unit was in the data, every outcome is at most {factor_up(promised['epsilon'])} times as "
            f"likely (epsilon {epsilon_up(promised['epsilon'])}), but for a probability of {delta_up(promised['delta'])} "
            f"(delta)."
        )
        yield f"Worked out again from what ran, epsilon is {epsilon_up(stated)}."
        held = (
            "what this release adds to earlier ones"
            if reused
            else "the generator and for everything ever drawn from it"
        )
        yield f"This holds for {held}, whoever holds it and whatever they know."
    if reused:
        earlier = sum(1 + len(one["holds"]) for one in reused)
        told = "1 earlier release" if earlier == 1 else f"{count(earlier)} earlier releases"
        yield (
            f"Its counts are combined with those of {told} of the same data, which were paid for then: "
            f"{', '.join(str(one['release_id']) for one in reused)}. Of all of them together the epsilons add up."
        )
    if candidates := _candidates(certificate):
        yield (
            f"{count(candidates)} candidates were tried on parts of the units, and number "
            f"{certificate['executed']['winner'] + 1} in the order was chosen and trained on all units; epsilon counts all "
            f"of it."
        )
    unit = certificate.get("privacy_unit")
    if unit:
        told = f"“{unit['column']}”: " if unit.get("column") else ""
        yield f"A unit is {told}{unit.get('description', 'one record')}."
        if "records" in unit:
            yield (
                f"Of the records of a unit at most {count(unit['records'])} count, each of them fully; the noise is that of so "
                f"many records."
            )
    if "declared_size" in certificate:
        yield f"The data was declared to hold {count(int(certificate['declared_size']))} units; the true number is not told."
    if "ledger" in certificate:
        link = certificate["ledger"].get("spent", {})
        if "sequence" in link:
            yield f"The price was spent in entry {link['sequence']} of the ledger before the first record was opened."
