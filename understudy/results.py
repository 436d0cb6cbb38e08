"""What the service answers, as frozen values. Fields are the documented ones; ``document`` keeps the whole JSON."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from understudy.errors import InputUnusable, UnexpectedAnswer

if TYPE_CHECKING:
    from understudy.charged.results import ReportJob

Json = Mapping[str, Any]
POLL_SECONDS = 0.5


class Handling(Protocol):
    """What jobs and releases ask of the client that gave them."""

    def wait_for_release(self, job_id: str, *, poll_seconds: float, progress: bool) -> "Release":
        """Wait for a job's release."""

    def sample_release(self, release_id: str, *, rows: int, form: str, where: Json | None) -> Any:  # noqa: ANN401 - see `understudy.tables`
        """Draw synthetic records into memory."""

    def download_bundle(
        self, release_id: str, target: Path, *, public_keys: Collection[bytes] | None
    ) -> None:
        """Write the generator bundle to a file."""

    def read_certificate(self, release_id: str) -> Json:
        """Give a release's certificate."""

    reports: Any
    """Sealed reports, for owners; see `understudy.sealed_reporting`."""

    def order_charged_report(
        self,
        release_id: str,
        *,
        epsilon: float,
        delta: float | None,
        target: str | None,
        columns: Sequence[str] | None,
    ) -> "ReportJob":
        """Order a charged report about a release."""


def take(document: object, *names: str) -> tuple[Any, ...]:
    """Take fields out of a JSON object.

    Args:
        document: the parsed JSON.
        names: the fields.

    Raises:
        UnexpectedAnswer: if it is not an object or lacks one of them.
    """
    missing = [name for name in names if not isinstance(document, Mapping) or name not in document]
    if missing or not isinstance(document, Mapping):
        message = f"the answer lacks {', '.join(missing)}; is this the address of an understudy service?"
        raise UnexpectedAnswer(message)
    return tuple(document[name] for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A declared private table. Everything here is public.

    Attributes:
        id: its id.
        population_id: whose ledger it draws on.
        name: what people call it.
        state: ``declared`` or ``ready``.
        declared_size: the public number of privacy units.
        document: the whole answer.
    """

    id: str
    population_id: str
    name: str
    state: str
    declared_size: int
    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        known = ("id", "population_id", "name", "state", "declared_size")
        return cls(**dict(zip(known, take(document, *known), strict=True)), document=document)


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeReport:
    """What happened to the uploaded rows. For the owner only: not differentially private.

    Attributes:
        rows_accepted: rows kept.
        rows_refused: rows left out.
        document: the whole report.
    """

    rows_accepted: int
    rows_refused: int
    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        accepted, refused = take(document, "rows_accepted", "rows_refused")
        return cls(rows_accepted=accepted, rows_refused=refused, document=document)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A file that is sent in parts.

    Attributes:
        id: its id.
        dataset_id: where its rows go.
        state: ``open``, ``completing``, ``completed``, ``refused``, ``aborted`` or ``expired``.
        part_bytes: size of every part but the last.
        parts_total: how many parts it has.
        parts: SHA-256 in hexadecimal of each part that has arrived, by number.
        document: the whole answer.
    """

    id: str
    dataset_id: str
    state: str
    part_bytes: int
    parts_total: int
    parts: Mapping[int, str]
    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        known = ("id", "dataset_id", "state", "part_bytes", "parts_total")
        (listed,) = take(document, "parts")
        return cls(
            **dict(zip(known, take(document, *known), strict=True)),
            parts=dict(take(part, "number", "sha256") for part in listed),
            document=document,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The cap of a population, for everybody together, and what is left of it.

    Attributes:
        cap: epsilon and delta, or None before an admin has set them.
        spent: epsilon and delta spent, as exact decimals.
        reserved: epsilon and delta reserved, as exact decimals.
        document: the whole answer.
    """

    cap: Json | None
    spent: Json
    reserved: Json
    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        cap, spent, reserved = take(document, "cap", "spent", "reserved")
        return cls(cap=cap, spent=spent, reserved=reserved, document=document)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """What a job would do and cost, computed without the private rows.

    Attributes:
        document: the whole answer.
    """

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
        """The code that an order would be refused with, or None where it fits."""
        refusal: str | None = take(self.document, "refusal")[0]
        return refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a job is; nothing in it is computed from private rows.

    Attributes:
        stage: what it is doing.
        step: steps done of this stage.
        total: steps of this stage.
        percent: of the whole job, 0 to 100.
        eta_seconds: estimated time to the end, or None.
        epsilon_planned: what the whole job spends.
    """

    stage: str | None
    step: int
    total: int
    percent: float
    eta_seconds: float | None
    epsilon_planned: float | None

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the part of an answer."""
        known = ("stage", "step", "total", "percent", "eta_seconds", "epsilon_planned")
        values = dict(zip(known, take(document, *known), strict=True))
        for name in ("step", "total", "percent"):
            values[name] = values[name] or 0
        return cls(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One ordered publication.

    Attributes:
        id: its id.
        dataset_id: its dataset.
        state: ``queued``, ``running``, ``succeeded``, ``failed`` or ``cancelled``.
        progress: how far it is.
        release_id: the release, once it succeeded.
        failure: stable code of a failure.
        document: the whole answer.
        client: the client that gave it.
    """

    id: str
    dataset_id: str
    state: str
    progress: Progress
    release_id: str | None
    failure: str | None
    document: Json
    client: Handling | None = field(default=None, repr=False, compare=False)

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        job_id, dataset_id, state, progress = take(document, "id", "dataset_id", "state", "progress")
        release_id, failure = take(document, "release_id", "failure")
        return cls(
            id=job_id,
            dataset_id=dataset_id,
            state=state,
            progress=Progress.from_json(progress),
            release_id=release_id,
            failure=failure.get("code") if isinstance(failure, Mapping) else failure,
            document=document,
        )

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state in {"succeeded", "failed", "cancelled"}

    def wait(self, *, poll_seconds: float = POLL_SECONDS, progress: bool = True) -> "Release":
        """Wait for the release, with a progress bar in a terminal or a notebook.

        Args:
            poll_seconds: pause between two looks.
            progress: whether there is a bar; in a pipe there never is.

        Raises:
            JobFailed: if it failed.
            JobCancelled: if it was cancelled.
        """
        return handled(self.client).wait_for_release(self.id, poll_seconds=poll_seconds, progress=progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A published generator.

    Attributes:
        id: its id.
        job_id: the job that made it.
        dataset_id: the dataset it is an understudy of.
        document: the whole answer.
        client: the client that gave it.
    """

    id: str
    job_id: str
    dataset_id: str
    document: Json
    client: Handling | None = field(default=None, repr=False, compare=False)

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        known = ("id", "job_id", "dataset_id")
        return cls(**dict(zip(known, take(document, *known), strict=True)), document=document)

    @property
    def certificate(self) -> Json:
        """What was spent, by which mechanism; asked for each time."""
        return handled(self.client).read_certificate(self.id)

    def sample(self, rows: int, *, form: str = "pandas", where: Json | None = None) -> Any:  # noqa: ANN401 - see `understudy.tables`
        """Draw synthetic rows or images into memory. It costs nothing, however many.

        Args:
            rows: how many.
            form: "pandas" for a DataFrame, "arrow" for an Arrow table; "numpy" for the arrays of images.
            where: columns that are fixed, with their values; see `Client.download_samples`.

        Raises:
            NotInstalled: a library is needed and not installed.
        """
        return handled(self.client).sample_release(self.id, rows=rows, form=form, where=where)

    def save(self, target: Path | str, *, public_keys: Collection[bytes] | None = None) -> Path:
        """Write the generator bundle to a file, whole or not at all.

        Args:
            target: the file.
            public_keys: signing keys that you trust; the bundle is then verified first.

        Raises:
            VerificationFailed: if keys are given and the bundle does not hold.
        """
        file = Path(target)
        handled(self.client).download_bundle(self.id, file, public_keys=public_keys)
        return file

    def order_report(
        self,
        *,
        epsilon: float,
        delta: float | None = None,
        target: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> "ReportJob":
        """Order a charged report (analyst): how far the release is from its table, for a small epsilon of its own.

        Args:
            epsilon: of the report; `Client.quote_charged_report` says before what it costs and how precise it is.
            delta: of the report; else the service's usual one.
            target: the column that a classifier, trained on synthetic rows, predicts; else the target of the domain.
            columns: columns to measure; else all. Fewer are measured more precisely.
        """
        return handled(self.client).order_charged_report(
            self.id, epsilon=epsilon, delta=delta, target=target, columns=columns
        )

    def sealed_report(self, target_file: Path | str, *, target: str | None = None) -> Path:
        """Have the release compared with the real rows and write the report (owner); NOT differentially private.

        Args:
            target_file: the HTML file; only this user can read it.
            target: the column to predict from the others; else the domain's target, or the last column.

        Raises:
            ReportNotMade: it could not be made.
        """
        file: Path = handled(self.client).reports.make(self.id, target_file, target=target)
        return file


def handled(client: Handling | None) -> Handling:
    """Give the client of a job or a release.

    Raises:
        InputUnusable: it was made from a document, not given by a client.
    """
    if client is None:
        message = (
            "this was read from a document; ask a client for it, then it can be waited for or drawn from"
        )
        raise InputUnusable(message)
    return client


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """The ledger of a population: caps, what is spent and reserved, every entry with its hash.

    Attributes:
        spent: epsilon and delta spent, as exact decimals.
        reserved: epsilon and delta reserved, as exact decimals.
        cap: epsilon and delta of the cap, or None before one is set.
        carried_by: the filter that carries the dataset.
        entries: all entries, oldest first.
        document: the whole answer.
    """

    spent: Json
    reserved: Json
    cap: Json | None
    carried_by: str | None
    entries: tuple[Json, ...]
    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        spent, reserved, cap, carried_by, entries = take(
            document, "spent", "reserved", "cap", "carried_by", "entries"
        )
        return cls(
            spent=spent,
            reserved=reserved,
            cap=cap,
            carried_by=carried_by,
            entries=tuple(entries),
            document=document,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A new API key, shown once.

    Attributes:
        key: the key in plain text.
        document: the whole answer.
    """

    key: str
    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        return cls(key=take(document, "key")[0], document=document)
