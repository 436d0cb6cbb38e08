"""Notes of the rounds that a federation's member may have handed in, kept outside the database.

    federations/<job>/round-<number>

A restored database has forgotten the marks of rounds. The member would begin them again with the noise of its key, a board could answer
otherwise, and the rounds after that would be released a second time for one charge; a cancel would give back what had been handed in.
So a round is noted in the object store, and in the operator's second store, before its state leaves; its mark in the database came before.
A note without a mark shows that the database was restored: every round is then marked, so nothing is given back and no round is repeated.

Notes are never removed or overwritten, as those of spends (`core.platform.witness`). A restore puts back objects that the store lacks and no others.
"""

from collections.abc import Sequence
from typing import Any, Final, Protocol
from uuid import UUID

from sqlalchemy import select, update

from core.data.objects import ObjectStore, open_store
from core.db.session import Database
from core.db.tables.job import Job
from core.jobs import claims, repository
from core.jobs.leases import Claim
from core.jobs.states import ENDED, OPENING, TRAINING
from core.plan.ordered_plan import OrderedPlan, federation_of, ordered_plan_from_json
from core.plan.private_models.plan import ModelPlan
from core.plan.several_owners.member_plan import MemberPlan
from core.platform.settings import Settings
from workers.child import AttemptEnded, ExitCode, machinery

_FOLDER: Final = "federations"


class RoundNotes:
    """The notes of one job, the same in every store; what any of them knows has happened."""

    def __init__(self, job_id: UUID, *stores: ObjectStore) -> None:
        self._job_id, self._stores = job_id, stores

    def add(self, number: int) -> None:
        """Note a round.

        Raises:
            StoreError, OSError: A store does not answer.
        """
        for store in self._stores:
            if not store.exists(self._key(number)):
                store.put_bytes(self._key(number), b"")

    def has(self, number: int) -> bool:
        """Whether a round is noted."""
        return any(store.exists(self._key(number)) for store in self._stores)

    def _key(self, number: int) -> str:
        return f"{_FOLDER}/{self._job_id}/round-{number:06d}"


class StateBoard(Protocol):
    """As `models.exchange.StateBoard`, which the audit of ledgers has no library to import."""

    def exchange(self, number: int, state: bytes) -> Sequence[bytes]:
        """Hand in the own state of a round, and return every member's."""
        ...


class NotedBoard:
    """A `models.exchange.StateBoard` that notes every round before it hands in its state."""

    def __init__(self, board: StateBoard, notes: RoundNotes) -> None:
        self._board, self._notes = board, notes

    def exchange(self, number: int, state: bytes) -> Sequence[bytes]:
        """See `models.exchange.StateBoard`.

        Raises:
            AttemptEnded: A store does not answer, or as the board.
        """
        with machinery():
            self._notes.add(number)
        return self._board.exchange(number, state)


def noted(
    board: StateBoard, settings: Settings, claim: Claim, *, database: Database, store: ObjectStore
) -> NotedBoard:
    """The board of an attempt, with notes. No row is open yet.

    Raises:
        AttemptEnded: The database was restored, a store does not answer, or the lease is lost.
    """
    notes = RoundNotes(claim.job_id, *_stores(settings, store))
    with machinery():
        if notes.has(_begun(claim.plan, stage=claim.stage, step=claim.step, steps_begun=claim.steps_begun)):
            with database.transaction() as session:
                claims.advance(session, claim, **_whole(claim.plan))
            raise AttemptEnded(ExitCode.CHECKPOINT_LOST)
    return NotedBoard(board, notes)


def mark_forgotten_rounds(settings: Settings, *, database: Database, store: ObjectStore) -> int:
    """Mark all rounds of every live job whose notes are ahead of its marks. Returns how many there are.

    Raises:
        DatabaseUnavailable: The database is away.
        StoreError, OSError: A store does not answer.
    """
    stores = _stores(settings, store)
    live = select(Job).where(
        repository.of_several_owners(), Job.state.not_in([state.value for state in ENDED])
    )
    with database.read_only() as session:
        # A job that goes on meanwhile looks forgetful here, and not under its lock.
        found = [job.id for job in session.scalars(live).all() if _forgets(job, stores)]
    return sum(_marked(database, job_id, stores) for job_id in found)


def _marked(database: Database, job_id: UUID, stores: Sequence[ObjectStore]) -> bool:
    """Mark all rounds of a job if its notes are ahead of its marks. Returns whether they are."""
    with database.transaction() as session:
        job = repository.lock(session, job_id)
        forgets = job.state not in ENDED and _forgets(job, stores)
        if forgets:
            whole = repository.mark(**_whole(ordered_plan_from_json(job.plan)))
            session.execute(update(Job).where(Job.id == job_id).values(whole))
    return forgets


def _forgets(job: Job, stores: Sequence[ObjectStore]) -> bool:
    """Whether a job of a federation has handed in a later round than its marks say."""
    plan = ordered_plan_from_json(job.plan)
    if federation_of(plan) is None:
        return False
    begun = _begun(plan, stage=job.stage, step=job.step, steps_begun=job.steps_begun)
    return RoundNotes(job.id, *stores).has(begun)


def _stores(settings: Settings, store: ObjectStore) -> tuple[ObjectStore, ...]:
    return (store,) if settings.witness_url is None else (store, open_store(settings.witness_url))


def _begun(plan: OrderedPlan, *, stage: str | None, step: int, steps_begun: int) -> int:
    """The rounds that have begun by a job's marks, each of which is durable before its round."""
    if isinstance(plan, ModelPlan):
        rounds = plan.options.averaging_rounds
        assert rounds is not None, "a plan of a federation averages"
        return -(-steps_begun * rounds // plan.steps)
    assert isinstance(plan, MemberPlan), "a plan of a federation"
    if stage is None:
        return 0
    return step if stage == OPENING else plan.rounds


def _whole(plan: OrderedPlan) -> dict[str, Any]:
    """The mark of a job all of whose rounds have begun."""
    if isinstance(plan, MemberPlan):
        return {"stage": OPENING, "step": plan.rounds, "total": plan.rounds}
    return {"stage": TRAINING, "step": plan.steps, "total": plan.steps}
