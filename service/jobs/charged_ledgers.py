"""What the ledgers of a job are charged: one reservation in each, and all of them move together."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.orm import Session

from core.jobs.repository import population_of
from core.ledger import ledger_queries
from core.ledger.reservation import EntryKind
from core.platform.access.roles import Principal
from service.datasets.repository import names_of
from service.jobs import repository


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargedLedger:
    """The reservation of a job in the ledger of one dataset.

    Attributes:
        dataset_id: whose ledger.
        name: of that dataset.
        state: the kind of the reservation's last entry.
        epsilon: what counts against the cap now.
        delta: likewise.
    """

    dataset_id: UUID
    name: str
    state: EntryKind
    epsilon: str
    delta: str


def charged_ledgers(session: Session, job_id: UUID, principal: Principal) -> Sequence[ChargedLedger]:
    """The reservations of a job in those ledgers that the principal may read.

    Raises:
        JobNotFound: No such job, or not visible to this principal.
    """
    row = repository.visible(session, job_id, principal)
    owners = row.plan.get("owners", ())
    datasets = {UUID(one["population_id"]): UUID(one["dataset_id"]) for one in owners}
    if not datasets:
        datasets = {population_of(session, row.dataset_id): row.dataset_id}
    seen = names_of(session, list(datasets.values()), principal)
    return [
        ChargedLedger(
            dataset_id=datasets[population_id],
            name=seen[datasets[population_id]],
            state=reservation.state,
            **ledger_queries.amounts(reservation.in_force),
        )
        for population_id, reservation in ledger_queries.reservations_of(session, job_id).items()
        if datasets[population_id] in seen
    ]
