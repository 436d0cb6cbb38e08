"""``understudy budget``: caps, requests, approvals and grants; freezing; what one more job would cost."""

from typing import Annotated

import typer

from understudy.cli.answers import write_answer
from understudy.cli.options import (
    LARGEST_EPSILON,
    SMALLEST_EPSILON,
    AsJson,
    DatasetId,
    DefaultDelta,
    delta_option,
    finite,
)
from understudy.cli.service import Commands, Service
from understudy.results.budgets import Budget
from understudy.wording.budgets import beyond_the_cap, budget_lines, grant_line, request_line, what_if_lines

app = Commands(help="Request, grant and inspect privacy budget.", no_args_is_help=True)

RequestId = Annotated[str, typer.Argument(help="Id of the budget request.")]
Epsilon = Annotated[
    float,
    typer.Option(
        "--epsilon", min=SMALLEST_EPSILON, max=LARGEST_EPSILON, callback=finite, help="Epsilon of the budget."
    ),
]
Delta = Annotated[float, delta_option("Delta of the budget.")]
Reason = Annotated[str, typer.Option("--reason", help="Reason; kept in the ledger, for everybody to read.")]


@app.command("set")
def set_cap(
    dataset: DatasetId,
    epsilon: Epsilon,
    delta: Delta,
    reason: Annotated[
        str | None, typer.Option("--reason", help="Reason; required to raise an existing cap.")
    ] = None,
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Set the cap of the dataset's population, shared by everybody (admin)."""
    with service.client("admin") as client:
        write_budget(client.set_budget(dataset, epsilon=epsilon, delta=delta, reason=reason), as_json=as_json)


@app.command("what-if")
def what_if(
    dataset: DatasetId,
    epsilon: Epsilon,
    delta: DefaultDelta = None,
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Show whether one more job of this epsilon fits and what would remain. Nothing is reserved."""
    with service.any_client() as client:
        answer = client.governance.ask_what_if(dataset, epsilon=epsilon, delta=delta)
    write_answer(answer.document, what_if_lines(answer), as_json=as_json)


@app.command("request")
def request(
    dataset: DatasetId,
    epsilon: Epsilon,
    delta: Annotated[
        float | None,
        delta_option(
            "Delta of the budget. Default: the share of the cap's delta that epsilon is of the cap's."
        ),
    ] = None,
    *,
    purpose: Annotated[str, typer.Option("--purpose", help="Purpose, for the person who decides.")],
    as_json: AsJson = False,
    service: Service,
) -> None:
    """Request a part of a dataset's budget (analyst who is a member). An admin or the owner decides.

    Under the default rule one job draws on half of the delta: for a job of a larger delta request twice the job's.
    """
    with service.client("analyst") as client:
        filed = client.governance.file_request(dataset, epsilon=epsilon, delta=delta, purpose=purpose)
        left = client.read_budget(dataset)
    write_answer(
        filed.document,
        [
            request_line(filed),
            *beyond_the_cap(epsilon, left),
            f"Next, the owner or an admin: understudy budget approve {filed.id}",
        ],
        as_json=as_json,
    )


@app.command("requests")
def requests(
    state: Annotated[
        str | None,
        typer.Option("--state", help="Filter by state: open, approved, denied, withdrawn or expired."),
    ] = None,
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """List the budget requests that you may see, with the admin's key if there is one."""
    with service.governing_client() as client:
        found = client.governance.list_requests(state=state)
    lines = [request_line(each) for each in found] or ["no budget requests"]
    write_answer([each.document for each in found], lines, as_json=as_json)


@app.command("approve")
def approve(
    request_id: RequestId,
    epsilon: Annotated[
        float | None,
        typer.Option(
            "--epsilon",
            min=SMALLEST_EPSILON,
            max=LARGEST_EPSILON,
            callback=finite,
            help="Grant less than requested.",
        ),
    ] = None,
    delta: Annotated[float | None, delta_option("Grant less than requested.")] = None,
    note: Annotated[str | None, typer.Option("--note", help="Note to the analyst.")] = None,
    until: Annotated[
        str | None, typer.Option("--until", help="When the grant expires, such as 2027-01-31T00:00:00Z.")
    ] = None,
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Approve a budget request, in full or in part (admin or owner; never the person who asked)."""
    with service.governing_client() as client:
        approved = client.governance.approve_request(
            request_id, epsilon=epsilon, delta=delta, note=note, expires_at=until
        )
        left = client.read_budget(approved.dataset_id)
    granted = 0.0 if approved.grant is None else approved.grant.epsilon
    write_answer(approved.document, [request_line(approved), *beyond_the_cap(granted, left)], as_json=as_json)


@app.command("deny")
def deny(
    request_id: RequestId,
    note: Annotated[str, typer.Option("--note", help="Reason, shown to the analyst.")],
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Deny a budget request (admin or owner)."""
    with service.governing_client() as client:
        found = client.governance.deny_request(request_id, note=note)
    write_answer(found.document, [request_line(found)], as_json=as_json)


@app.command("withdraw")
def withdraw(request_id: RequestId, as_json: AsJson = False, *, service: Service) -> None:
    """Withdraw your budget request (analyst)."""
    with service.client("analyst") as client:
        found = client.governance.withdraw_request(request_id)
    write_answer(found.document, [request_line(found)], as_json=as_json)


@app.command("grants")
def grants(
    dataset: Annotated[
        str | None,
        typer.Argument(help="Name or id of the dataset. Default: all datasets, with what was drawn."),
    ] = None,
    holder: Annotated[
        str | None, typer.Option("--holder", help="Filter by the principal that holds the grant.")
    ] = None,
    state: Annotated[
        str | None, typer.Option("--state", help="Filter by state: open, expired or revoked.")
    ] = None,
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """List the grants on a dataset's population, or on all datasets. Analysts see their own."""
    with service.governing_client() as client:
        if dataset is not None and holder is None and state is None:
            found = client.governance.list_grants(dataset)
        else:
            found = client.governance.list_all_grants(dataset_id=dataset, holder_id=holder, state=state)
    lines = [grant_line(each) for each in found] or ["no grants"]
    write_answer([each.document for each in found], lines, as_json=as_json)


@app.command("revoke")
def revoke(
    grant: Annotated[str, typer.Argument(help="Id of the grant.")],
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Revoke a grant (admin or owner). What was drawn stays spent."""
    with service.governing_client() as client:
        found = client.governance.revoke_grant(grant)
    write_answer(found.document, [grant_line(found)], as_json=as_json)


@app.command("freeze")
def freeze(dataset: DatasetId, reason: Reason, as_json: AsJson = False, *, service: Service) -> None:
    """Stop orders and starts of jobs on a dataset's population (admin or owner)."""
    with service.governing_client() as client:
        write_budget(client.governance.freeze(dataset, reason=reason), as_json=as_json)


@app.command("unfreeze")
def unfreeze(dataset: DatasetId, reason: Reason, as_json: AsJson = False, *, service: Service) -> None:
    """Accept orders on a frozen population again (admin)."""
    with service.client("admin") as client:
        write_budget(client.governance.unfreeze(dataset, reason=reason), as_json=as_json)


def write_budget(budget: Budget, *, as_json: bool) -> None:
    """Show a budget."""
    write_answer(budget.document, budget_lines(budget), as_json=as_json)
