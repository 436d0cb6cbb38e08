"""Obtain a grant: use an open one, or file a budget request and have another person approve it.

With the keys of a running service that cannot approve, the request stays filed and the error says what to do next; a
later run then finds the grant.
"""

from collections.abc import Callable

from understudy.client import Client
from understudy.connection import Connection
from understudy.errors import ApprovalPending, Conflict, Forbidden, JobDoesNotFit, NotFound
from understudy.results.datasets import Dataset
from understudy.results.governance import BudgetRequest
from understudy.results.jobs import Quote
from understudy.wording.quotes import refused_by_cap

Say = Callable[[str], None]

APPROVERS = ("admin", "owner")
NOT_YET_POSSIBLE = frozenset({"budget-not-set", "dataset-frozen"})
"""Refusals of an approval that an admin can lift; the request stays open until then."""
HOPELESS = frozenset({"budget-refused", "dataset-frozen", "ledger-broken"})
"""Refusals that no grant helps against."""


def introduce(owner: Client, analyst: Client, dataset: Dataset) -> str:
    """Make the analyst a member of a dataset, and return the analyst's principal."""
    principal_id = analyst.governance.who_am_i().principal_id
    owner.governance.add_member(dataset.id, principal_id)
    return principal_id


def settle_pending(
    connection: Connection, analyst: Client, population_id: str, amounts: tuple[float, float], say: Say
) -> None:
    """Have a request of an earlier run approved, before anything is declared or sent again.

    Args:
        connection: the service and the keys.
        analyst: a client of the analyst.
        amounts: epsilon and delta that are needed; a smaller request does not count.

    Raises:
        ApprovalPending: if it still waits and no key here can approve it.
    """
    me = analyst.governance.who_am_i().principal_id
    for request in analyst.governance.list_requests(state="open"):
        enough = request.epsilon >= amounts[0] and request.delta >= amounts[1]
        if request.population_id == population_id and request.requested_by == me and enough:
            approve(connection, request, say)
            return


def obtain_grant(
    connection: Connection,
    analyst: Client,
    dataset: Dataset,
    *,
    ask: Callable[[str | None], Quote],
    amounts: tuple[float, float],
    purpose: str,
    say: Say,
) -> str:
    """Return the id of a grant that admits the job.

    Args:
        connection: the service and the keys.
        analyst: a client of the analyst, a member of the dataset.
        ask: asks for a quote of the job, drawing on a grant.
        amounts: epsilon and delta to ask for where no grant admits the job.
        purpose: for the person who decides.

    Raises:
        JobDoesNotFit: if no grant would help.
        ApprovalPending: if a request was filed and no key here can approve it.
    """
    require_admissible(ask(None), dataset)
    me = analyst.governance.who_am_i().principal_id
    for grant in analyst.governance.list_grants(dataset.id):
        if grant.state == "open" and grant.holder_id == me and ask(grant.id).fits:
            say(f"Drawing on grant {grant.id}: epsilon {grant.epsilon:g}, delta {grant.delta:g}.")
            return grant.id
    epsilon, delta = amounts
    request = analyst.governance.file_request(dataset.id, epsilon=epsilon, delta=delta, purpose=purpose)
    say(f"Budget request {request.id} filed: epsilon {epsilon:g}, delta {delta:g}, {purpose!r}.")
    return approve(connection, request, say)


def require_admissible(quote: Quote, dataset: Dataset) -> None:
    """Refuse a job that no grant would help, with what it costs and what is left.

    Raises:
        JobDoesNotFit: if the cap refuses it, or the dataset is frozen or its ledger broken.
    """
    if quote.refusal not in HOPELESS:
        return
    why = (
        refused_by_cap(quote)
        if quote.refusal == "budget-refused"
        else "The dataset's budget admits no job at all now"
    )
    raise JobDoesNotFit(
        f"the job does not fit into what is left of the dataset's budget. {why} [{quote.refusal}]. "
        f"`understudy ledger {dataset.id}` lists what was spent; an admin can raise the cap with a reason. Nothing was spent"
    )


def approve(connection: Connection, request: BudgetRequest, say: Say) -> str:
    """Approve a request with the first key that may approve, and return the id of the grant.

    Raises:
        ApprovalPending: if none may.
    """
    for role in APPROVERS:
        if role not in connection.keys:
            continue
        try:
            with connection.client(role) as approver:
                approved = approver.governance.approve_request(request.id)
        except (Forbidden, NotFound):
            continue
        except Conflict as refusal:
            if refusal.code not in NOT_YET_POSSIBLE:
                raise
            raise ApprovalPending(f"{pending(request)} So far it cannot be approved: {refusal}") from None
        assert approved.grant is not None, "an approved request has a grant"
        say(f"Approved with the {role}'s key: grant {approved.grant.id}.")
        return approved.grant.id
    raise ApprovalPending(pending(request))


def pending(request: BudgetRequest) -> str:
    """Say what was filed and what to do next."""
    return (
        f"budget request {request.id} (epsilon {request.epsilon:g}, delta {request.delta:g}, "
        f"{request.purpose!r}) waits for another person: you cannot approve your own request. "
        f"The owner of dataset {request.dataset_id} or an admin runs `understudy budget approve {request.id}`; "
        "then run the same command again, and it draws on the grant. Nothing was uploaded or spent."
    )
