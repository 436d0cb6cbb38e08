"""Releases: the list, and the page of one release with preview, queries, certificate and downloads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Self
from uuid import UUID

from fastapi import APIRouter, Query, Response

from core.artifacts.asking.question import LONGEST
from core.artifacts.bundle import COUNTS
from core.artifacts.private_models.certificate_form import SCHEMAS as MODELS
from core.artifacts.sampling.samples import ImageSamples, TableSamples
from core.errors import Conflict, InvalidInput, UnderstudyError
from core.plan.domain.images import SCHEMA as IMAGES
from service.dashboard.overview import dataset_names
from service.dashboard.owner_report_pages import owner_part
from service.dashboard.release_drawing import ROWS, Pictures
from service.dashboard.release_pictures import PictureCache
from service.dashboard.rendering import PAGE_HEADERS, page
from service.dashboard.utility_report_pages import utility_part
from service.dashboard.visit import CurrentVisit, Visit
from service.datasets.endpoints import read_dataset
from service.datasets.schemas import DatasetView
from service.jobs.endpoints import read_job
from service.jobs.schemas import JobWarning
from service.releases import repository
from service.releases.endpoints import (
    ask_counts,
    check_rules,
    download_bundle,
    draw_samples,
    list_releases,
    read_certificate,
    read_precision,
    read_release,
)
from service.releases.errors import ReleaseNotFound
from service.releases.schemas import AnswerView, CheckedRuleView, ContradictionView, RulesCheckView
from service.wire import Before
from service.wording import certificate_text, domain_text

RELEASES: Final = 25
ANSWER_ROWS: Final = 100
CONTRADICTIONS: Final = 3
"""Maximum number of column pairs shown per contradicted rule."""

router = APIRouter(include_in_schema=False)


@router.get("/releases")
def releases_page(visit: CurrentVisit, dataset_id: UUID | None = None, before: Before = None) -> Response:
    """List releases, newest first."""
    found = visit.ask(list_releases, dataset_id=dataset_id, job_id=None, limit=RELEASES, before=before)
    visit.require(read_certificate)
    shown = [release.id for release in found.items]
    return page(
        visit,
        "releases.html",
        releases=found.items,
        stated=visit.read(lambda session: repository.stated(session, shown, visit.principal)),
        models=MODELS,
        images=IMAGES,
        names=dataset_names(visit, [release.dataset_id for release in found.items]),
        next_before=found.next_before,
        is_first=before is None,
    )


@router.get("/releases/{release_id}")
def release_page(
    release_id: UUID,
    visit: CurrentVisit,
    question: Annotated[str, Query(max_length=LONGEST)] = "",
    preview: bool = False,
) -> Response:
    """Show one release, with the answer to a question if one was asked.

    The first preview opens the generator and draws, which takes longer than a page may: the page fetches it afterwards, unless
    `preview` asks for it here.
    """
    release = visit.ask(read_release, release_id=release_id)
    visit.require(read_certificate)
    certificate = visit.read(
        lambda session: repository.visible(session, release_id, visit.principal).certificate
    )
    # An owner of another dataset of a joint release does not see this one.
    dataset = visit.find(read_dataset, dataset_id=release.dataset_id)
    is_model = certificate.get("schema") in MODELS
    draws = visit.may(draw_samples) and not is_model
    shows = draws and dataset is not None
    kept: PictureCache = visit.request.app.state.pictures
    pictures = (_pictures(visit, release_id) if preview else kept.find(release_id)) if shows else None
    is_of_images = dataset is not None and dataset.domain.get("schema") == IMAGES
    formats = ImageSamples.MEDIA_TYPES if is_of_images else TableSamples.MEDIA_TYPES
    return page(
        visit,
        "release.html",
        release=release,
        names=dataset_names(visit, [release.dataset_id]),
        certificate=certificate,
        is_model=is_model,
        dataset=dataset,
        precision=visit.ask(read_precision, release_id=release_id) if visit.may(read_precision) else None,
        pictures=pictures,
        is_drawn_later=shows and pictures is None,
        is_of_images=is_of_images,
        columns=None if dataset is None else _modelled(dataset.domain),
        warning=JobWarning.of_certificate(certificate),
        asked=_asked(visit, release_id, certificate, question),
        checked=_checked(visit, release_id, certificate, dataset),
        charged=utility_part(visit, release_id, dataset),
        sealed=None if is_model else owner_part(visit, release_id, dataset),
        rows=ROWS,
        release_id=release_id,
        answer_rows=ANSWER_ROWS,
        sentences=certificate_text.in_words(certificate),
        mechanisms=certificate_text.mechanisms(certificate),
        not_covered=certificate_text.not_covered(certificate),
        may_download=visit.may(download_bundle),
        may_draw=draws,
        may_see_job=visit.may(read_job),
        formats=tuple(formats) if shows else (),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The query panel, with the answer or the reason why there is none; its question is empty if none was asked."""

    question: str
    answer: AnswerView | None = None
    problem: UnderstudyError | None = None


def _asked(visit: Visit, release_id: UUID, certificate: Mapping[str, Any], question: str) -> Asked | None:
    """The query panel, or None if the release has no counts or the visitor may not query them."""
    if COUNTS not in certificate.get("artefacts", {}) or not visit.may(ask_counts):
        return None
    if not question.strip():
        return Asked(question="")
    try:
        answer = visit.ask(ask_counts, release_id=release_id, question=question)
    except (InvalidInput, Conflict) as problem:
        return Asked(question=question, problem=problem)
    return Asked(question=question, answer=answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContradictedRule:
    """A rule that the counts contradict.

    Attributes:
        shown: The pairs of columns with the most violations, largest first.
    """

    words: str
    shown: Sequence[ContradictionView]
    further: int

    @classmethod
    def of(cls, words: str, rule: CheckedRuleView) -> Self:
        """Select the column pairs to show for a rule."""
        most = sorted(rule.contradictions, key=lambda found: -found.estimate)
        return cls(words=words, shown=most[:CONTRADICTIONS], further=len(most[CONTRADICTIONS:]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The declared rules compared with the counts: those contradicted, and those that the counts cannot check, in plain language."""

    check: RulesCheckView
    contradicted: Sequence[ContradictedRule]
    unchecked: Sequence[str]


def _checked(
    visit: Visit, release_id: UUID, certificate: Mapping[str, Any], dataset: DatasetView | None
) -> Checked | None:
    """The check, or None without counts, without rules, or without the right to see them."""
    declared = () if dataset is None else dataset.domain.get("rules", ())
    if not declared or COUNTS not in certificate.get("artefacts", {}) or not visit.may(check_rules):
        return None
    check = visit.ask(check_rules, release_id=release_id)
    named = [(domain_text.rule(one), rule) for one, rule in zip(declared, check.rules, strict=True)]
    return Checked(
        check=check,
        contradicted=[ContradictedRule.of(words, rule) for words, rule in named if rule.contradictions],
        unchecked=[words for words, rule in named if rule.finding == "not-checked"],
    )


@router.get("/releases/{release_id}/preview")
def preview_fragment(release_id: UUID, visit: CurrentVisit) -> Response:
    """Draw the preview of a release.

    Raises:
        ReleaseNotFound: No such release, or not visible to this visitor.
        ServiceBusy: Too many previews are being drawn.
    """
    visit.require(draw_samples)
    drawn = _pictures(visit, release_id)
    return page(visit, "preview.html", pictures=drawn, rows=ROWS, release_id=release_id)


@router.get("/releases/{release_id}/sheet.png")
def sheet(release_id: UUID, visit: CurrentVisit) -> Response:
    """Serve the sheet of synthetic images.

    Raises:
        ReleaseNotFound: No such release, not visible to this visitor, or not a release of images.
    """
    visit.require(draw_samples)
    drawn = _pictures(visit, release_id).sheet
    if drawn is None:
        raise ReleaseNotFound
    return Response(drawn, media_type="image/png", headers=dict(PAGE_HEADERS))


def _modelled(domain: Mapping[str, Any]) -> int:
    """Number of columns of synthetic rows; 0 of images."""
    return sum(column["kind"] not in {"ignored", "unit"} for column in domain.get("columns", ()))


def _pictures(visit: Visit, release_id: UUID) -> Pictures:
    bundle_key = visit.read(
        lambda session: repository.visible(session, release_id, visit.principal).bundle_key
    )
    kept: PictureCache = visit.request.app.state.pictures
    return kept.get(visit.context, release_id, bundle_key=bundle_key)
