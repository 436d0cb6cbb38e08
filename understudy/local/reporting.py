"""Owner reports of trainings on this machine, as the service makes them, from the owner's rows or images."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.artifacts.bundle import Bundle, unpack
from core.artifacts.reports.columns import MadeColumns, coded_rows, columns_of, target_note, target_of
from core.artifacts.reports.image_contents import measure_images, real_images
from core.artifacts.reports.image_page import render_images
from core.artifacts.reports.owner_contents import measure
from core.artifacts.reports.owner_page import Subject, render
from core.artifacts.sampling.image_sampler import ImageSampler
from core.artifacts.sampling.sampler import Sampler
from core.data.intake.clean_rows import CleanBlock
from core.plan.domain.codec import Codes
from core.plan.domain.declared import domain_from_json
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from understudy.errors import InputUnusable
from understudy.local.ledger.accounts import answered
from understudy.local.rows.frames import clean_frame
from understudy.local.rows.images import clean_images
from understudy.local.rows.intake import taken_in
from understudy.whole_files import whole_file

_WHY_FREE: Final = "no part of it is released: it is a file that only your user can read, and it is not protected once you share it"


def owner_rows(frame: object, domain: TableDomain) -> tuple[Codes, NDArray[np.int64], MadeColumns]:
    """Code all of the owner's rows, including rows left out of the training by a unit's bound, for a comparison that only the owner sees.

    Returns:
        (rows, columns) codes, (rows,) the unit of every row, and the values of columns coded as differences.

    Raises:
        InputUnusable: the frame is unusable.
    """
    intake = taken_in([clean_frame(frame, domain)], domain, declared_size=None)
    return coded_rows(intake.batches, domain)


def write_report(
    bundle: bytes,
    frame: object,
    file: Path,
    *,
    target: str | None,
    labels: object | None = None,
    units: object | None = None,
) -> None:
    """Compare a generator with rows or images, and write an HTML file that only this user can read; see `Generator.report`.

    Raises:
        InvalidInput: there is no such modelled column.
        InputUnusable: rows or images are unusable, or an argument is for the other kind.
    """
    opened = unpack(bundle)
    domain = domain_from_json(opened.domain)
    if isinstance(domain, ImageDomain):
        if target is not None:
            raise InputUnusable("a report of images predicts their label; leave target out")
        html = _of_images(opened, clean_images(frame, labels, units, domain), domain)
    elif labels is not None or units is not None:
        raise InputUnusable("labels and units are arguments for images only; a table has them in its columns")
    else:
        html = _of_rows(opened, frame, domain, target)
    with whole_file(file, private=True) as out:
        out.write(html.encode())


def _of_images(opened: Bundle, blocks: Iterable[CleanBlock], domain: ImageDomain) -> str:
    with answered():
        intake = taken_in(blocks, domain, declared_size=None)
    contents = measure_images(real_images(intake.batches, domain), ImageSampler(opened))
    subject = Subject(title="your images and this generator", facts=(_guarantee(opened),), why_free=_WHY_FREE)
    return render_images(subject, contents, domain)


def _of_rows(opened: Bundle, frame: object, domain: TableDomain, target: str | None) -> str:
    with answered():
        chosen = target_of(domain, target)
        codes, units, made = owner_rows(frame, domain)
    contents = measure(
        codes,
        units,
        Sampler(opened).codes,
        columns_of(domain),
        target=chosen,
        target_note=target_note(domain, chosen),
        made=made,
    )
    facts = (_guarantee(opened), ("Predicted column", chosen))
    subject = Subject(title="your rows and this generator", facts=facts, why_free=_WHY_FREE)
    return render(subject, contents)


def _guarantee(opened: Bundle) -> tuple[str, str]:
    promised = opened.certificate["privacy_parameters"]
    return "Guarantee of the generator", f"ε {promised['epsilon']}, δ {promised['delta']}"
