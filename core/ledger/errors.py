"""Errors of the ledger.

NotFound
  * PopulationNotFound    404  the population has no budget
  * ReservationNotFound   404  the ledger has no entry of this job
  * GrantNotFound         404  no such grant on this population
InvalidInput
  * ReasonRequired        422  raising a cap needs a written reason
Conflict
  * AlreadyReserved       409  a job has one reservation
  * PopulationFrozen      409  nothing new is reserved or spent
  * OwnerWithdrew         409  an owner of a job over several ledgers froze its own or revoked the grant
  * GrantClosed           409  expired or revoked
  * BudgetRefused         409
      * BudgetNotSet           there is no cap yet
      * CapBelowSpent          a cap cannot go below what is spent and reserved
      * GrantRefused           the charge fits under the cap but not under the grant
      * LedgerBroken           the last entry does not verify
InternalError
  * IllegalFold           500  entries that the ledger should have refused
"""

from uuid import UUID

from core.errors import BudgetRefused, Conflict, InternalError, InvalidInput, NotFound


class PopulationNotFound(NotFound):
    """The population has no budget."""

    code = "population-not-found"
    title = "No such population"


class ReservationNotFound(NotFound):
    """The ledger has no entry of this job."""

    code = "reservation-not-found"
    title = "No such reservation"


class AlreadyReserved(Conflict):
    """The job has a reservation already; a new attempt with new noise is a new order."""

    code = "already-reserved"
    title = "This job already has a reservation"


class BudgetNotSet(BudgetRefused):
    """No admin has set a cap yet, so nothing may be spent."""

    code = "budget-not-set"
    title = "The dataset has no budget yet"


class CapBelowSpent(BudgetRefused):
    """The new cap would be below what is spent and reserved; what was released cannot be taken back."""

    code = "cap-below-spent"
    title = "The cap cannot go below what is spent and reserved"


class IllegalFold(InternalError):
    """Entries in an order that the ledger does not allow.

    Args:
        job_id: whose entries they are; None for decisions.
        reason: what is wrong, in constant words, for the operator's log.
    """

    code = "ledger-illegal-entries"
    title = "The ledger holds entries it should have refused"

    def __init__(self, job_id: UUID | None, reason: str) -> None:
        super().__init__()
        self.job_id = job_id
        self.reason = reason


class PopulationFrozen(Conflict):
    """The dataset is frozen: nothing new is reserved, and no queued job starts."""

    code = "dataset-frozen"
    title = "The dataset is frozen"
    default_detail = "The dataset is frozen: no job may be ordered or started on it."
    default_remedy = "The ledger statement says by whom and why; an admin can unfreeze it."


class OwnerWithdrew(Conflict):
    """One owner of a job over several ledgers froze its ledger, or revoked its grant, before the job was claimed."""

    code = "owner-withdrew"
    title = "An owner withdrew before the job began"
    default_detail = (
        "An owner froze its dataset or revoked its grant before the job was claimed. No ledger is charged."
    )
    default_remedy = "Order again without that dataset, or once its owner agrees."


class LedgerBroken(BudgetRefused):
    """The last entry does not verify, so nothing may be spent until an operator has checked."""

    code = "ledger-broken"
    title = "The dataset's ledger does not verify"
    default_detail = "The last entry of this dataset's ledger was changed outside the service."
    default_remedy = "Ask an operator to verify the ledger and to restore the database."


class ReasonRequired(InvalidInput):
    """Raising an existing cap needs a written reason."""

    code = "reason-required"
    title = "A written reason is needed"
    default_detail = "A cap is raised only with a written reason."
    default_remedy = "Send a reason with the new cap. The larger cap is a promise only if what was released has no part in the reason."


class GrantNotFound(NotFound):
    """No such grant on this population."""

    code = "grant-not-found"
    title = "No such grant"
    default_detail = "There is no such grant on this dataset."
    default_remedy = "List the grants of the dataset."


class GrantClosed(Conflict):
    """The grant has expired or was revoked; nothing new draws on it."""

    code = "grant-closed"
    title = "The grant is closed"
    default_detail = "The grant has expired or was revoked."
    default_remedy = "File a new budget request."


class GrantRefused(BudgetRefused):
    """The charge fits under the cap but not under the grant."""

    code = "grant-refused"
    title = "The grant does not allow this"
