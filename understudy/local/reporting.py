"""An owner report of a training on this machine: what the service makes for owners, from the frame that they hold."""

import os
from pathlib import Path

from core.artifacts.bundle import unpack
from core.artifacts.reports.columns import columns_of, target_note, target_of
from core.artifacts.reports.errors import ReportForTablesOnly
from core.artifacts.reports.owner_contents import measure
from core.artifacts.reports.owner_page import Subject, render
from core.artifacts.sampling.sampler import Sampler
from core.plan.domain.declared import domain_from_json
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from models.encoding import PrivateTable
from understudy.local.accounts import answered
from understudy.local.frames import clean_frame
from understudy.local.intake import taken_in


def owner_records(frame: object, domain: TableDomain) -> PrivateTable:
    """Code the owner's rows for a comparison that the owner alone sees.

    Args:
        frame: the rows; see `understudy.local.fit`.
        domain: of the generator.

    Raises:
        InputUnusable: the frame cannot be used.
    """
    rows = taken_in([clean_frame(frame, domain)], domain, declared_size=None).records
    assert isinstance(rows, PrivateTable), "a table's records"
    return rows


def write_report(bundle: bytes, frame: object, file: Path, *, target: str | None) -> None:
    """Compare a generator with rows, and write the report where only this user reads it.

    Args:
        bundle: the generator.
        frame: the rows; see `understudy.local.fit`.
        file: the HTML file.
        target: the column to predict from the others; None for the domain's target, else the last of those with the fewest declared values.

    Raises:
        InvalidInput: no modelled column is called so, or the generator is one of images.
        InputUnusable: the frame cannot be used.
    """
    opened = unpack(bundle)
    with answered():
        domain = domain_from_json(opened.domain)
        if isinstance(domain, ImageDomain):
            raise ReportForTablesOnly
        chosen = target_of(domain, target)
        rows = owner_records(frame, domain)
    contents = measure(
        rows.codes,
        rows.unit_of_record,
        Sampler(opened).codes,
        columns_of(domain),
        target=chosen,
        target_note=target_note(domain, chosen),
    )
    promised = opened.certificate["privacy_parameters"]
    facts = (
        ("Guarantee of the generator", f"ε {promised['epsilon']}, δ {promised['delta']}"),
        ("Predicted column", chosen),
    )
    partial = file.with_name(f"{file.name}.part")
    html = render(Subject(title="your rows and this generator", facts=facts), contents)
    # A file or link that lies there already would keep its owner and rights.
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        out.write(html)
    partial.replace(file)
