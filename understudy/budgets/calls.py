"""Every request about caps and ledgers as a value; see `understudy.calls`."""

from understudy.budgets.results import Budget, Statement
from understudy.calls import Call


def set_budget(dataset_id: str, *, epsilon: float, delta: float, reason: str | None = None) -> Call[Budget]:
    """Set the cap of the dataset's population; to raise one, say why."""
    return Call(
        method="PUT",
        path=f"/v1/datasets/{dataset_id}/budget",
        read=Budget.from_json,
        body={"epsilon": epsilon, "delta": delta} | ({} if reason is None else {"reason": reason}),
    )


def read_budget(dataset_id: str) -> Call[Budget]:
    """Ask for the cap of the dataset's population."""
    return Call(method="GET", path=f"/v1/datasets/{dataset_id}/budget", read=Budget.from_json)


def read_ledger(dataset_id: str) -> Call[Statement]:
    """Ask for the ledger statement of the dataset's population."""
    return Call(method="GET", path=f"/v1/datasets/{dataset_id}/ledger", read=Statement.from_json)
