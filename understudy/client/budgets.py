"""Caps and ledgers: what may be spent on a population, and what was."""

from understudy.calls import Call, given
from understudy.client.session import Session
from understudy.results.budgets import Budget, Statement


class Budgets(Session):
    """The client's methods for caps and ledgers."""

    def set_budget(
        self, dataset_id: str, *, epsilon: float, delta: float, reason: str | None = None
    ) -> Budget:
        """Set the cap of the dataset's population (admin). Raising a cap needs a reason."""
        body = given({"epsilon": epsilon, "delta": delta, "reason": reason})
        return self.run(Call("PUT", f"/v1/datasets/{dataset_id}/budget", Budget.from_json, body=body))

    def read_budget(self, dataset_id: str) -> Budget:
        """Return the cap of the dataset's population."""
        return self.run(Call("GET", f"/v1/datasets/{dataset_id}/budget", Budget.from_json))

    def read_ledger(self, dataset_id: str) -> Statement:
        """Return the ledger statement of the dataset's population."""
        return self.run(Call("GET", f"/v1/datasets/{dataset_id}/ledger", Statement.from_json))
