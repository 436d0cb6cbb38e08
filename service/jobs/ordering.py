"""Placing an order: first the plan, outside any transaction; then key, reservation, job and response in one transaction.

Planning takes noticeable CPU time, so it must not happen under the ledger's lock or while holding a connection. The
job's randomness key is 32 bytes from the operating system, sealed under the dataset's data key for this job: a worker
that resumes the job replays the same noise, and nobody else can read the key.
"""

from typing import Any, Final
from uuid import UUID, uuid4

from sqlalchemy.orm import Session

from core.data.sealing import seal_bytes
from core.db.tables.dataset import Dataset
from core.dp.charge import charge_of
from core.jobs.orders import place_order
from core.plan.devices import device_of
from core.plan.domain.images import SCHEMA as IMAGES
from core.plan.ordered_plan import OrderedPlan
from core.platform.access.roles import Principal
from core.platform.health.signs import served_devices
from core.platform.quotas import checks
from service import idempotency
from service.audit import concerns, record
from service.context import AppContext
from service.datasets import repository
from service.grants.choosing import choose
from service.idempotency import Answer
from service.jobs.schemas import JobView
from service.planning.facts import DatasetFacts
from service.planning.orders import GeneratorOrder
from service.quotes.federated import board_of, federated, require_shared
from service.quotes.order_delta import default_delta_of_order
from service.quotes.reuse import reusing, stored_counts
from service.quotes.together import Together, in_plans_order
from service.quotes.utility import report_of

RANDOMNESS_KEY_BYTES: Final = 32
ACCEPTED: Final = 202


class Ordering:
    """One order of one principal under one Idempotency-Key."""

    def __init__(self, context: AppContext, principal: Principal, order: GeneratorOrder, *, key: str) -> None:
        self._context = context
        self._principal = principal
        self._order = order
        self._key = key
        # Members added later (grant, selection, report, model, federation, reuse, further datasets, device) are left out at their defaults, so that older orders keep their digest.
        unnamed = {
            name
            for name in ("grant_id", "selection", "report", "model", "federation")
            if getattr(order, name) is None
        }
        if order.reuse:
            unnamed.add("reuse")
        if not order.further_datasets:
            unnamed.add("further_datasets")
        if order.device == "auto":
            unnamed.add("device")
        body = order.model_dump(mode="json", exclude=unnamed)
        self._digest = idempotency.request_digest(endpoint="create_job", body=body)
        concerns(order.dataset_id)

    def earlier_answer(self) -> Answer | None:
        """The stored response to this order, if it was placed before.

        Raises:
            IdempotencyKeyReused: The key belongs to another order.
        """
        with self._context.database.read_only() as session:
            return idempotency.find_answer(
                session, principal_id=self._principal.id, key=self._key, digest=self._digest
            )

    def plan(self) -> OrderedPlan:
        """Make the plan from public facts, without holding a connection.

        The first order on a population in this process waits until its ledger was compared with the heads recorded
        outside the database, because a restored ledger may lack spent budget.

        Raises:
            DatasetNotFound: No such dataset, or not visible to this principal.
            PopulationFrozen: The ledger lacks recorded entries and is frozen now.
            ReleaseNotFound: The dataset has no such release to report on.
            FederationDiffers: The board states another domain, size or plan.
            UnderstudyError: As ``Planner.plan``.
        """
        if self._order.further_datasets:
            return self._plan_together()
        with self._context.database.read_only() as session:
            row = repository.visible(session, self._order.dataset_id, self._principal)
            facts = federated(self._order, DatasetFacts.of(row))
            delta = default_delta_of_order(
                session, self._order, facts, self._principal, at=self._context.clock.now()
            )
            report = report_of(session, self._order, self._principal)
            stored = stored_counts(session, facts, self._principal) if self._order.reuse else ()
        self._context.witness.require_once(facts.population_id)
        plan = self._context.planner.plan(self._order, facts, delta, report=report)
        require_shared(self._order, plan)
        return reusing(plan, stored, self._order, facts, self._context.store)

    def _plan_together(self) -> OrderedPlan:
        with self._context.database.read_only() as session:
            together = Together.of(session, self._order, self._principal, at=self._context.clock.now())
        for facts in together.facts:
            self._context.witness.require_once(facts.population_id)
        return together.plan(self._context.planner, self._order)

    def place(self, session: Session, plan: OrderedPlan) -> tuple[Answer, bool]:
        """Reserve, queue and store the response, or find that of a copy of the request that was faster.

        Returns the response, and whether it was stored earlier.

        Raises:
            QuotaExceeded: The principal has reached its limit of queued jobs.
            DatasetNotReady: The rows are missing.
            NoGrant, GrantAmbiguous, GrantNotFound, GrantClosed: No usable grant.
            BudgetNotSet, BudgetRefused, PopulationFrozen: The ledger refuses the charge.
            IdempotencyKeyReused: The key belongs to another order.
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
        checks.require_job(session, self._principal.id, limit=self._context.settings.quota_queued_jobs)
        charge = charge_of(plan.mechanism, delta=plan.guarantee.delta)
        payers = []
        for dataset_id in in_plans_order(plan, self._order.dataset_id):
            each = repository.visible(session, dataset_id, self._principal)
            grant = choose(
                session,
                each.population_id,
                holder=self._principal.id,
                grant_id=self._order.named_grants[dataset_id],
                charge=charge,
                at=clock.now(),
            )
            payers.append((each, grant.id))
        (dataset, grant_id), *further = payers
        served = served_devices(session, at=clock.now())
        images = dataset.domain["schema"] == IMAGES
        device = device_of(plan, self._order.device, images=images, served=served)
        job_id = uuid4()
        job = place_order(
            session,
            dataset=dataset,
            plan=plan,
            ordered_by=self._principal.id,
            job_id=job_id,
            grant_id=grant_id,
            sealed_randomness_key=self._sealed_randomness_key(dataset, job_id),
            queue=self._context.queue,
            clock=clock,
            further=further,
            device=device,
            device_wish=None if device is None else self._order.device,
            sealed_federation=self._sealed_federation(dataset, job_id),
        )
        record(session, self._principal, action="job.order", object_id=job_id, clock=clock)
        view = JobView.of(job, release_id=None, worker_lives=device in served, now=clock.now())
        return view.model_dump(mode="json")

    def _sealed_federation(self, dataset: Dataset, job_id: UUID) -> bytes | None:
        board, data_key = board_of(self._order), self._data_key(dataset)
        return None if board is None or data_key is None else board.seal(data_key, job_id)

    def _data_key(self, dataset: Dataset) -> bytes | None:
        """The key of a dataset's rows; None if it has none yet, and then `place_order` refuses."""
        if dataset.wrapped_data_key is None:
            return None
        master_keys = self._context.settings.master_keys
        return master_keys.unwrap(dataset.wrapped_data_key, context=f"dataset:{dataset.id}")

    def _sealed_randomness_key(self, dataset: Dataset, job_id: UUID) -> bytes:
        data_key = self._data_key(dataset)
        if data_key is None:
            return b""
        return seal_bytes(data_key, self._context.entropy(RANDOMNESS_KEY_BYTES), context=f"job:{job_id}")
