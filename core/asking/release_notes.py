"""Notes for the reader of a release: declared rules that its noisy counts contradict. Post-processing, free of charge."""

from core.asking.estimates import Estimates
from core.asking.rules_check import check_rules
from core.domain.table import TableDomain
from core.releases.bundle import Bundle
from core.releases.counts import ReleasedCounts


def release_notes(bundle: Bundle) -> tuple[str, ...]:
    """Return README paragraphs, one for each contradicted rule and one with the remedy; empty if there is none."""
    if bundle.counts is None or not bundle.domain.get("rules"):
        return ()
    counts = ReleasedCounts.from_bytes(bundle.counts)
    return check_rules(TableDomain.from_json(bundle.domain), Estimates(counts)).notes
