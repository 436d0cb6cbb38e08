"""Releases: the published generator, its certificate, its noisy counts, and any number of synthetic rows."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, BinaryIO, Final
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import TypeAdapter

from core.artifacts.asking.answer import OpenedCounts
from core.artifacts.asking.codes import counted_by
from core.artifacts.asking.errors import AnswerTooLong, NoCounts, NotCounted, QuestionInvalid
from core.artifacts.asking.hidden_rows import hidden_where
from core.artifacts.asking.question import LONGEST
from core.artifacts.asking.release_notes import learnt_words, noise_notes
from core.artifacts.errors import (
    ConditionTooRare,
    FormatNotForRelease,
    InvalidCondition,
    NothingToDraw,
    SpreadsheetSafeIsForCsv,
    TooManyForFormat,
)
from core.artifacts.sampling import formats, image_formats
from core.artifacts.sampling.samples import Samples, open_samples
from core.db.tables.dataset import Dataset
from core.db.tables.release import Release
from service.context import AppContext
from service.dependencies import CurrentPrincipal, InjectedContext, OpenSession
from service.edge.concurrency import ServiceBusy
from service.edge.json_body import read_json
from service.edge.streaming import Pieces
from service.planning.facts import DatasetFacts
from service.problem import MalformedRequest, problems
from service.releases import repository
from service.releases.errors import ReleaseNotFound
from service.releases.precision import expected_error_of
from service.releases.schemas import (
    AnswerView,
    ColumnPrecisionView,
    PrecisionView,
    ReleaseList,
    ReleaseView,
    RulesCheckView,
    SampleFormat,
)
from service.strict_route import StrictRoute
from service.wire import DEFAULT_PAGE, Before, Document, PageSize

router = APIRouter(prefix="/releases", tags=["releases"], route_class=StrictRoute)

SAMPLING_ERRORS = (
    ReleaseNotFound,
    ServiceBusy,
    NothingToDraw,
    FormatNotForRelease,
    TooManyForFormat,
    InvalidCondition,
    ConditionTooRare,
    SpreadsheetSafeIsForCsv,
)
MAX_ROWS = 10**12
PIECE_BYTES = 256 * 1024

Responses = dict[int | str, dict[str, Any]]

_BINARY: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
_BUNDLE: Responses = {200: {"description": "The ZIP.", "content": {"application/zip": _BINARY}}}
_CERTIFICATE: Responses = {
    200: {"description": "The certificate.", "content": {"application/json": {"schema": {"type": "object"}}}}
}
_SAMPLES: Responses = {
    200: {
        "description": "The rows or images.",
        "content": dict.fromkeys(
            sorted({*formats.MEDIA_TYPES.values(), *image_formats.MEDIA_TYPES.values()}), _BINARY
        ),
    }
}

Rows = Annotated[int, Query(ge=1, le=MAX_ROWS, description="Number of synthetic rows or images.")]
Format = Annotated[
    SampleFormat | None,
    Query(
        alias="format",
        description=(
            "Rows as csv (default), parquet, jsonl or arrow (a stream); images as npz (default), "
            "zip (PNG files and a table of their labels) or png (one contact sheet)."
        ),
    ),
]


Where = Annotated[
    str | None,
    Query(
        max_length=10_000,
        description=(
            'Conditions by column, as a JSON object such as {"sick": "yes", "ward": ["A", "B"], "age": {"from": 65}}; for images '
            '{"label": "7"}. A value, a list of values, or a range with "from" or "above" and "to" or "below"; null is a missing value. '
            "The target is fixed by the generator's own condition, other columns by rejecting rows that differ; for one "
            "number or time its bin is fixed. A condition that fewer than about one row in a thousand satisfies is refused."
        ),
    ),
]


HiddenWhere = Annotated[
    str | None,
    Query(
        max_length=10_000,
        description="Conditions by column, as samples take them: `hidden` then says whether the noise hides the rows that meet them.",
    ),
]


SpreadsheetSafe = Annotated[
    bool,
    Query(
        description=(
            "CSV only: put an apostrophe before column names and values that a spreadsheet would run as formulas. Leave it out if a "
            "program reads the file."
        )
    ),
]


AskedQuestion = Annotated[
    str,
    Query(
        min_length=1,
        max_length=LONGEST,
        description=(
            "For example `age by sex where region = north`, `mean of age by sex` or `share of sick = yes by ward`; see the "
            "documentation's page on asking."
        ),
    ),
]


@router.get("", summary="List releases")
def list_releases(
    principal: CurrentPrincipal,
    session: OpenSession,
    dataset_id: UUID | None = None,
    job_id: UUID | None = None,
    limit: PageSize = DEFAULT_PAGE,
    before: Before = None,
) -> ReleaseList:
    """The releases that the key may see, newest first; optionally of one dataset or job only."""
    rows, next_before = repository.page(
        session, principal, dataset_id=dataset_id, job_id=job_id, limit=limit, before=before
    )
    return ReleaseList(items=[ReleaseView.of(row) for row in rows], next_before=next_before)


@router.get("/{release_id}", summary="Read a release", responses=problems(ReleaseNotFound))
def read_release(release_id: UUID, principal: CurrentPrincipal, session: OpenSession) -> ReleaseView:
    """The release, with links to its parts."""
    return ReleaseView.of(repository.visible(session, release_id, principal))


@router.get(
    "/{release_id}/bundle",
    summary="Download the generator",
    response_class=StreamingResponse,
    responses={**problems(ReleaseNotFound, ServiceBusy), **_BUNDLE},
)
def download_bundle(
    release_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> StreamingResponse:
    """The generator as a ZIP: weights, ONNX network, domain, certificate, and instructions for sampling without this service."""
    release = repository.visible(session, release_id, principal)
    return context.sampling.streams.answer(
        _object_pieces(context.store.open(release.bundle_key)),
        media_type="application/zip",
        headers={"Content-Disposition": f'attachment; filename="bundle-{release_id}.zip"'},
    )


@router.get(
    "/{release_id}/certificate",
    summary="Read the certificate",
    response_class=JSONResponse,
    responses={**problems(ReleaseNotFound), **_CERTIFICATE},
)
def read_certificate(release_id: UUID, principal: CurrentPrincipal, session: OpenSession) -> JSONResponse:
    """The spent budget, the mechanisms, and everything needed to recompute it."""
    return JSONResponse(repository.visible(session, release_id, principal).certificate)


@router.get(
    "/{release_id}/samples",
    summary="Sample synthetic rows or images",
    response_class=StreamingResponse,
    responses={**problems(*SAMPLING_ERRORS), **_SAMPLES},
)
def draw_samples(
    release_id: UUID,
    principal: CurrentPrincipal,
    context: InjectedContext,
    session: OpenSession,
    rows: Rows = 1000,
    file_format: Format = None,
    where: Where = None,
    spreadsheet_safe: SpreadsheetSafe = False,
) -> StreamingResponse:
    """Rows or images sampled from the generator, streamed as they are made. This costs no privacy, for any number."""
    release = repository.visible(session, release_id, principal)
    samples = opened_samples(context, release.id, bundle_key=release.bundle_key)
    name = next(iter(samples.MEDIA_TYPES)) if file_format is None else file_format.value
    pieces = samples.write(rows, name, condition_of(where), spreadsheet_safe=spreadsheet_safe)
    return context.sampling.streams.answer(
        pieces,
        media_type=samples.MEDIA_TYPES[name],
        headers={"Content-Disposition": f'attachment; filename="samples-{release_id}.{name}"'},
    )


@router.get(
    "/{release_id}/counts",
    summary="Query the noisy counts",
    responses=problems(ReleaseNotFound, QuestionInvalid, NoCounts, NotCounted, AnswerTooLong),
)
def ask_counts(
    release_id: UUID,
    principal: CurrentPrincipal,
    context: InjectedContext,
    session: OpenSession,
    question: AskedQuestion,
) -> AnswerView:
    """Counts, means and shares with 95 % intervals, from the noisy counts of the release. This costs no privacy.

    Counts are of records, weighted so that all records of a privacy unit together count as one.
    """
    release = repository.visible(session, release_id, principal)
    return AnswerView.of(opened_counts(context, release).answer(question))


@router.get(
    "/{release_id}/precision",
    summary="Read the precision",
    responses=problems(ReleaseNotFound, InvalidCondition),
)
def read_precision(
    release_id: UUID,
    principal: CurrentPrincipal,
    context: InjectedContext,
    session: OpenSession,
    where: HiddenWhere = None,
) -> PrecisionView:
    """The expected error of synthetic rows, the standard errors of the noisy counts, and what their noise hides. This costs no privacy.

    Computed from the plan, the declared domain and the noise of the released counts; no record is read.
    """
    release = repository.visible(session, release_id, principal)
    facts = DatasetFacts.of(session.get_one(Dataset, release.dataset_id))
    try:
        counts: OpenedCounts | None = opened_counts(context, release)
    except NoCounts:
        counts = None
    wanted = condition_of(where)
    return PrecisionView(
        hidden=[] if counts is None else _hidden(counts, release, wanted),
        declared_size=facts.declared_size,
        **expected_error_of(release.certificate, facts),
        counted=None if counts is None else counted_by(counts.domain),
        columns=[]
        if counts is None
        else [ColumnPrecisionView(**asdict(column)) for column in counts.precision],
    )


def _hidden(counts: OpenedCounts, release: Release, wanted: Mapping[str, Any]) -> list[str]:
    """What the noise of the counts hides: of the rows that meet conditions, or of all where there are none."""
    if wanted:
        hidden = hidden_where(counts, wanted)
        return [] if hidden is None else [hidden]
    return [*noise_notes(counts.domain, counts.estimates, learnt=learnt_words(release.certificate))]


@router.get("/{release_id}/rules", summary="Check the rules", responses=problems(ReleaseNotFound, NoCounts))
def check_rules(
    release_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> RulesCheckView:
    """Which declared rules between columns the noisy counts of the release contradict. This costs no privacy.

    Computed from the released counts and the declared domain alone; no record is read.
    """
    release = repository.visible(session, release_id, principal)
    return RulesCheckView.of(opened_counts(context, release).rules_check)


_CONDITION: Final = TypeAdapter[dict[str, Any]](Document)


def condition_of(where: str | None) -> dict[str, Any]:
    """Parse the columns to fix.

    Raises:
        InvalidCondition: Not a JSON object.
    """
    if where is None:
        return {}
    try:
        return _CONDITION.validate_python(read_json(where.encode()))
    except (MalformedRequest, RequestValidationError, ValueError):
        raise InvalidCondition(
            "The condition is not a JSON object of which every name stands once."
        ) from None


def opened_samples(context: AppContext, release_id: UUID, *, bundle_key: str) -> Samples:
    """Open the generator of a release, or find it in the cache."""
    return context.sampling.samplers.get(
        release_id,
        lambda: open_samples(context.store.get_bytes(bundle_key), threads=context.settings.sampling_threads),
    )


def opened_counts(context: AppContext, release: Release) -> OpenedCounts:
    """Open the counts of a release, or find them in the cache.

    Raises:
        NoCounts: It has none.
    """
    bundle_key = release.bundle_key

    def opened() -> OpenedCounts:
        with context.store.open(bundle_key) as file:
            return OpenedCounts.open(file)

    return context.sampling.counts.get(release.id, opened)


def _object_pieces(file: BinaryIO) -> Pieces:
    with file:
        while piece := file.read(PIECE_BYTES):
            yield piece
