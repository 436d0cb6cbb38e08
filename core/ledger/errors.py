"""What the ledger refuses, and why."""

from uuid import UUID

from core.errors import BudgetRefused, Conflict, InternalError, NotFound


class PopulationNotFound(NotFound):
    """No budget is kept under this population."""

    code = "population-not-found"
    title = "No such population"


class ReservationNotFound(NotFound):
    """The ledger has no entry of this job."""

    code = "reservation-not-found"
    title = "No such reservation"


class AlreadyReserved(Conflict):
    """This job has a reservation already; a new attempt with new noise is a new order."""

    code = "already-reserved"
    title = "This job already has a reservation"


class BudgetNotSet(BudgetRefused):
    """No admin has set a cap yet, so nothing may be spent."""

    code = "budget-not-set"
    title = "The dataset has no budget yet"


class CapBelowSpent(BudgetRefused):
    """The new cap would be below what is already spent and reserved; what was released cannot be taken back."""

    code = "cap-below-spent"
    title = "The cap cannot go below what is spent and reserved"


class IllegalFold(InternalError):
    """Entries of a reservation in an order that the ledger does not allow.

    Args:
        job_id: whose entries they are.
        reason: what is wrong; for the operator's log, constant words only.
    """

    code = "ledger-illegal-entries"
    title = "The ledger holds entries it should have refused"

    def __init__(self, job_id: UUID, reason: str) -> None:
        super().__init__()
        self.job_id = job_id
        self.reason = reason
