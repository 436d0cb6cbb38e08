"""Measuring a utility report in a training child: everything public first, then the rows, once, with noise.

Until the mark is made nothing private has begun, and whatever fails is the machinery's; a release that is no longer the
ordered one is refused there too. All noise is keyed by the job, so a job that runs twice measures the same, to the byte.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from torch import Tensor

from core.artifacts.bundle import MANIFEST, unpack
from core.artifacts.errors import BundleInvalid, ExecutionDiffers
from core.artifacts.execution import SCHEMA
from core.data.objects import ObjectStore
from core.db.session import Database
from core.db.tables.release import Release
from core.plan.crowding import checked_columns
from core.plan.domain.declared import Domain
from core.plan.domain.images import ImageDomain
from core.plan.utility_reports.plan import ReportPlan
from models.dp.count_noise import GRID
from models.encoding import PrivateImages, PrivateTable
from models.randomness import KeyedStreams, Purpose
from models.reports.public_side import PublicSide, public_side
from models.reports.utility import noisy_terms
from models.software import software_of
from workers.assignment import Assignment
from workers.child import AttemptEnded, ExitCode, machinery

References = Mapping[str, list[float]]
_TOLERANCE: Final = 1e-9
"""Relative difference from the plan's sensitivity that rounding alone explains."""


class UtilityRecord:
    """A `models.releases.ReleaseRecorder` that checks the one release of a report against its plan, which is what was charged."""

    def __init__(self, plan: ReportPlan) -> None:
        self._plan = plan
        self._measured = 0

    def exact(
        self,
        purpose: int,
        step: int,
        parts: Iterable[tuple[Tensor, float]],  # noqa: ARG002 - private, never read
        *,
        sensitivity: float,
    ) -> None:
        """Compare the sensitivity with what was charged; the private values are not read.

        Raises:
            ExecutionDiffers: the plan has no such release, or one with more noise.
        """
        planned = (purpose, step) == (Purpose.REPORT_NOISE, 0)
        if not (planned and sensitivity * self._plan.noise_multiplier <= 1 + _TOLERANCE):
            raise ExecutionDiffers

    def noisy(self, purpose: int, step: int, *released: Tensor) -> None:  # noqa: ARG002 - only that it came is noted
        """Note the release."""
        self._measured += 1

    def require_as_planned(self) -> None:
        """Check that the report was measured exactly once.

        Raises:
            ExecutionDiffers: it was not measured, or more than once.
        """
        if self._measured != 1:
            raise ExecutionDiffers


def released_side(
    work: Assignment, *, database: Database, store: ObjectStore
) -> tuple[PublicSide, References]:
    """Open the release that the plan names, draw its records, and compute all that is public of the report.

    No private record is open yet.

    Raises:
        AttemptEnded: the release is not the ordered one, or database or object store do not answer.
    """
    plan = _plan_of(work)
    with machinery():
        with database.read_only() as session:
            release = session.get(Release, plan.release_id)
            if release is None or release.dataset_id != work.claim.dataset_id:
                raise AttemptEnded(ExitCode.MACHINERY)
            bundle_key = release.bundle_key
        content = store.get_bytes(bundle_key)
    try:
        bundle = unpack(content)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            digest = hashlib.sha256(archive.read(MANIFEST)).hexdigest()
        if digest != plan.manifest_sha256 or not _is_of(bundle.domain, work.domain):
            raise AttemptEnded(ExitCode.MACHINERY)
        public = public_side(bundle, plan)
    except BundleInvalid as error:
        raise AttemptEnded(ExitCode.MACHINERY) from error
    # Includes training the classifier: whatever goes wrong with synthetic records alone costs nothing.
    return public, public.references(plan.declared_size)


def measure(
    work: Assignment,
    public: PublicSide,
    references: References,
    records: Callable[[], PrivateTable | PrivateImages],
) -> bytes:
    """Measure once. Returns the noisy terms with all that is public, the same bytes for every attempt of a job.

    Raises:
        ExecutionDiffers: what was released is not the plan.
    """
    plan = _plan_of(work)
    record = UtilityRecord(plan)
    terms = noisy_terms(records(), public, plan, KeyedStreams(work.randomness_key, releases=record))
    record.require_as_planned()
    report: dict[str, Any] = {
        "schema": SCHEMA,
        "job_id": str(work.claim.job_id),
        "plan_digest": plan.digest(),
        "ordered_at": work.ordered_at.isoformat(),
        "terms": {kind: values.tolist() for kind, values in terms.items()},
        "references": references,
        "noise_grid": GRID,
        "software": software_of("core", "models", "workers"),
    }
    return json.dumps(report, sort_keys=True, allow_nan=False).encode()


def _is_of(released: Mapping[str, Any], declared: Domain) -> bool:
    """Whether a release has the dataset's domain. Learnt and checked parts may differ; the columns and their order may not."""
    document: dict[str, Any] = declared.to_json()
    if isinstance(declared, ImageDomain):
        return released == document
    learnt = {
        declared.privacy_unit if place is None else declared.modelled[place].name
        for place in (*(place for place, _what in declared.learnt), *checked_columns(declared))
    }
    found, wanted = (
        [{"name": one["name"], "kind": one["kind"]} if one["name"] in learnt else one for one in columns]
        for columns in (released["columns"], document["columns"])
    )
    return found == wanted and {**released, "columns": []} == {**document, "columns": []}


def _plan_of(work: Assignment) -> ReportPlan:
    plan = work.claim.plan
    assert isinstance(plan, ReportPlan), "a training is run by workers.training_child"
    return plan
