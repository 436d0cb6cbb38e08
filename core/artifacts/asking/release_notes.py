"""Notes for the reader of a release: declared rules that its noisy counts contradict. Post-processing, free of charge."""

from core.artifacts.asking.estimates import Estimates
from core.artifacts.asking.rules_check import check_rules
from core.artifacts.bundle import Bundle
from core.artifacts.counts import ReleasedCounts
from core.plan.domain.table import TableDomain


def release_notes(bundle: Bundle) -> tuple[str, ...]:
    """Return README paragraphs, one for each contradicted rule and one with the remedy; empty if there is none."""
    if bundle.counts is None or not bundle.domain.get("rules"):
        return ()
    counts = ReleasedCounts.from_bytes(bundle.counts)
    return check_rules(TableDomain.from_json(bundle.domain), Estimates(counts)).notes
