"""Quotes and jobs as frozen values. Fields are the documented ones; ``document`` keeps the whole JSON.

The clients return the jobs of `understudy.client.handles` and `understudy.async_client.handles`: these facts, and waiting.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from understudy.documents import Json, named, take
from understudy.errors import JobCancelled, JobFailed

POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """Steps, noise and cost of a job, computed without the private rows."""

    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        take(document)
        return cls(document=document)

    @property
    def fits(self) -> bool:
        """Whether the ledger would admit the job now, under the cap and under the analyst's grant."""
        return bool(take(self.document, "fits")[0])

    @property
    def refusal(self) -> str | None:
        """The error code of an order now, or None if it fits."""
        refusal: str | None = take(self.document, "refusal")[0]
        return refusal

    @property
    def expected_error(self) -> Json | None:
        """Expected error of counts of synthetic rows, estimated from public facts alone.

        `one_way`, `two_way` and `three_way` are mean total variation distances over columns, pairs and triples, 0 to 1;
        `if_independent` are the same if no column depended on another; `measured` says what is counted. None where it is not known
        in advance: images, a critic alone, graphical models, selections and reports.
        """
        expected: Json | None = self.document.get("expected_error")
        return expected


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Progress of a job, computed without private rows.

    Attributes:
        step: steps done of this stage.
        total: steps of this stage.
        percent: of the whole job, 0 to 100.
        eta_seconds: estimated time to the end, or None.
        epsilon_planned: what the whole job spends, and what the ledger keeps charged until it ends.
        epsilon_so_far: what the part of the plan that has begun spends, as of the last report; None if the service does not state it.
    """

    stage: str | None
    step: int
    total: int
    percent: float
    eta_seconds: float | None
    epsilon_planned: float | None
    epsilon_so_far: float | None = None

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the part of an answer."""
        values = named(document, "stage", "step", "total", "percent", "eta_seconds", "epsilon_planned")
        for name in ("step", "total", "percent"):
            values[name] = values[name] or 0
        return cls(**values, epsilon_so_far=document.get("epsilon_so_far"))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """One ordered publication.

    Attributes:
        state: ``queued``, ``running``, ``succeeded``, ``failed`` or ``cancelled``.
        release_id: the release, once it succeeded.
        failure: stable code of a failure.
    """

    id: str
    dataset_id: str
    state: str
    progress: Progress
    release_id: str | None
    failure: str | None
    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        stated = named(document, "id", "dataset_id", "state", "progress")
        stated |= named(document, "release_id", "failure")
        stated["progress"] = Progress.from_json(stated["progress"])
        if isinstance(failure := stated["failure"], Mapping):
            stated["failure"] = failure.get("code")
        return cls(**stated, document=document)

    @property
    def warning(self) -> str | None:
        """Warning about what it published, with a remedy; None if there is none."""
        given = self.document.get("warning")
        return (
            None if given is None else " ".join([*take(given, "detail", "remedy"), f"[{given.get('code')}]"])
        )

    @property
    def waiting(self) -> str | None:
        """Why it cannot go on at present, with a remedy; None if it can."""
        given = self.document.get("waiting")
        return None if given is None else f"{' '.join(take(given, 'detail', 'remedy'))} [{given.get('code')}]"

    @property
    def ended(self) -> bool:
        """Whether its state is final."""
        return self.state in {"succeeded", "failed", "cancelled"}

    def require_release(self) -> str:
        """Return the id of the release of an ended job.

        Raises:
            JobFailed: if it failed.
            JobCancelled: if it was cancelled.
        """
        self._require_not_cancelled()
        if self.release_id is None:
            raise JobFailed(
                f"job {self.id} failed ({self.failure or 'no reason was given'}); {self._where_charged()}"
            )
        return self.release_id

    def require_report(self) -> str:
        """Return the id of the utility report of an ended job.

        Raises:
            JobFailed: if it failed, or is a job of another kind.
            JobCancelled: if it was cancelled.
        """
        self._require_not_cancelled()
        report_id = self.document.get("report_id")
        if not isinstance(report_id, str):
            why = self.failure or "it is no order of a report"
            raise JobFailed(f"job {self.id} has no report ({why}); {self._where_charged()}")
        return report_id

    def _require_not_cancelled(self) -> None:
        if self.state == "cancelled":
            raise JobCancelled(f"job {self.id} was cancelled; {self._where_charged()}")

    def _where_charged(self) -> str:
        return f"`understudy ledger {self.dataset_id}` says what it was charged"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportJobFacts(JobFacts):
    """An ordered utility report: a job that publishes no release."""

    @property
    def report_id(self) -> str | None:
        """The report, once the job has succeeded."""
        report_id: str | None = take(self.document, "report_id")[0]
        return report_id
