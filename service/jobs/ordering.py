"""Placing an order: plan first, outside any transaction; then key, reservation, job and answer in one.

The plan takes a moment of arithmetic and must not be made under the ledger's lock or while a connection is held.
The job's randomness key is 32 bytes of the operating system, sealed under the dataset's data key for this very job:
whoever resumes the job replays the same noise, and nobody else can read it.
"""

from typing import Any, Final
from uuid import UUID, uuid4

from sqlalchemy.orm import Session

from core.access.roles import Principal
from core.db.tables.dataset import Dataset
from core.jobs.orders import place_order
from core.ledger import ledger_queries
from core.quotas import room
from core.storage.sealing import seal_bytes
from core.synthesis.selection import OrderedPlan
from service import idempotency
from service.audit import concerns, record
from service.context import AppContext
from service.datasets import repository
from service.datasets.facts import DatasetFacts
from service.grants.choosing import choose
from service.idempotency import Answer
from service.jobs.schemas import JobView
from service.quotes.reuse import reusing, stored_counts
from service.quotes.schemas import GeneratorOrder
from service.quotes.utility import report_of

RANDOMNESS_KEY_BYTES: Final = 32
ACCEPTED: Final = 202


class Ordering:
    """One order of one principal under one Idempotency-Key.

    Args:
        parts: The parts of this process.
        principal: Who orders.
        order: What is ordered.
        key: The Idempotency-Key.
    """

    def __init__(self, context: AppContext, principal: Principal, order: GeneratorOrder, *, key: str) -> None:
        self._context = context
        self._principal = principal
        self._order = order
        self._key = key
        # An order that names no grant, selection or report and reuses what it may has the digest that it had before there were any.
        unnamed = {name for name in ("grant_id", "selection", "report") if getattr(order, name) is None}
        if order.reuse:
            unnamed.add("reuse")
        body = order.model_dump(mode="json", exclude=unnamed)
        self._digest = idempotency.request_digest(endpoint="create_job", body=body)
        concerns(order.dataset_id)

    def earlier_answer(self) -> Answer | None:
        """The answer to this order if it was placed before.

        Raises:
            IdempotencyKeyReused: The key names another order.
        """
        with self._context.database.read_only() as session:
            return idempotency.find_answer(
                session, principal_id=self._principal.id, key=self._key, digest=self._digest
            )

    def plan(self) -> OrderedPlan:
        """The plan, from public facts; no connection is held while it is made.

        The first order on a population in this process waits until its ledger was held against what was noted outside the
        database: a restored one has forgotten what was spent.

        Raises:
            DatasetNotFound: No such dataset, or not for this principal.
            PopulationFrozen: The ledger lacks something of what was noted, and is frozen now.
            ReleaseNotFound: It has not the release that a report is to be about.
            UnderstudyError: As ``Planner.plan``.
        """
        with self._context.database.read_only() as session:
            row = repository.visible(session, self._order.dataset_id, self._principal)
            facts = DatasetFacts.of(row)
            cap = ledger_queries.cap_of(session, facts.population_id)
            report = report_of(session, self._order, self._principal)
            stored = stored_counts(session, facts, self._principal) if self._order.reuse else ()
        self._context.witness.require_once(facts.population_id)
        plan = self._context.planner.plan(self._order, facts, cap, report=report)
        return reusing(plan, stored, self._order, facts, self._context.store)

    def place(self, session: Session, plan: OrderedPlan) -> tuple[Answer, bool]:
        """Reserve, queue and remember the answer; or find that a copy of the request was faster.

        Returns:
            The answer, and whether it is an earlier one.

        Raises:
            QuotaExceeded: As many jobs of the principal wait as may.
            DatasetNotReady: The rows are not there.
            NoGrant, GrantAmbiguous, GrantNotFound, GrantClosed: No grant, or not this one, pays.
            BudgetNotSet, BudgetRefused, PopulationFrozen: The ledger refuses.
            IdempotencyKeyReused: The key names another order.
        """
        return idempotency.once(
            session,
            principal_id=self._principal.id,
            key=self._key,
            digest=self._digest,
            at=self._context.clock.now(),
            work=lambda: Answer(status=ACCEPTED, body=self._new_job(session, plan)),
        )

    def _new_job(self, session: Session, plan: OrderedPlan) -> dict[str, Any]:
        clock = self._context.clock
        room.require_job(session, self._principal.id, limit=self._context.settings.quota_queued_jobs)
        dataset = repository.visible(session, self._order.dataset_id, self._principal)
        grant = choose(
            session,
            dataset.population_id,
            holder=self._principal.id,
            grant_id=self._order.grant_id,
            at=clock.now(),
        )
        job_id = uuid4()
        job = place_order(
            session,
            dataset=dataset,
            plan=plan,
            ordered_by=self._principal.id,
            job_id=job_id,
            grant_id=grant.id,
            sealed_randomness_key=self._sealed_randomness_key(dataset, job_id),
            queue=self._context.queue,
            clock=clock,
        )
        record(session, self._principal, action="job.order", object_id=job_id, clock=clock)
        return JobView.of(job, release_id=None, now=clock.now()).model_dump(mode="json")

    def _sealed_randomness_key(self, dataset: Dataset, job_id: UUID) -> bytes:
        if dataset.wrapped_data_key is None:
            return b""  # no rows yet: place_order refuses
        master_keys = self._context.settings.master_keys
        data_key = master_keys.unwrap(dataset.wrapped_data_key, context=f"dataset:{dataset.id}")
        return seal_bytes(data_key, self._context.entropy(RANDOMNESS_KEY_BYTES), context=f"job:{job_id}")
