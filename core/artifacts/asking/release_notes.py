"""Notes for the reader of a release: rules that its counts contradict, bounds that are too wide, and what their noise hides. Post-processing, free of privacy cost."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from core.artifacts.asking.crowded_bins import crowded_columns
from core.artifacts.asking.estimates import Estimates
from core.artifacts.asking.hidden import hidden_class, unlisted_words
from core.artifacts.asking.rules_check import check_rules
from core.artifacts.bundle import Bundle
from core.artifacts.counts import ReleasedCounts
from core.plan.domain.images import SCHEMA as IMAGES
from core.plan.domain.table import TableDomain


def release_notes(bundle: Bundle, *, learnt: Iterable[int] = ()) -> tuple[str, ...]:
    """Return README paragraphs: one per contradicted rule and one with the remedy, the bound on records, columns whose bounds are too wide, and `noise_notes`.

    Args:
        learnt: indices of the columns with learnt words.
    """
    if bundle.counts is None or bundle.domain.get("schema") == IMAGES:
        return ()
    domain, estimates = (
        TableDomain.from_json(bundle.domain),
        Estimates(ReleasedCounts.from_bytes(bundle.counts)),
    )
    rules = check_rules(domain, estimates).notes if domain.rules else ()
    return (
        *rules,
        *_bound_on_records(domain),
        *crowded_columns(domain, estimates),
        *noise_notes(domain, estimates, learnt=learnt),
    )


def _bound_on_records(domain: TableDomain) -> Iterator[str]:
    """The declared or learnt bound on a unit's records."""
    records = domain.records_per_unit
    if records is not None:
        counts = ("record", "counts") if records == 1 else ("records", "count")
        unit = " ".join(str(domain.privacy_unit).split())
        yield (
            f"At most {records:,} {counts[0]} of each '{unit}' {counts[1]}: counts and rows cover only these records, which may be fewer than the table's."
        )


def noise_notes(domain: TableDomain, estimates: Estimates, *, learnt: Iterable[int]) -> tuple[str, ...]:
    """Name the class of the target that the noise hides, and the columns with few learnt words.

    Args:
        domain: the domain with all learnt parts.
        learnt: indices of the columns with learnt words.
    """
    hidden = hidden_class(domain, estimates)
    return (*(() if hidden is None else (hidden,)), *unlisted_words(domain, estimates, learnt))


def learnt_words(certificate: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the indices of the columns whose words the training of a release learnt."""
    learning = certificate.get("plan", {}).get("learning") or {"releases": ()}
    return tuple(one["column"] for one in learning["releases"] if one["learns"] == "categories")
