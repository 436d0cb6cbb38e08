"""Caps and ledgers: what may be spent on a population, and what was."""

from understudy.async_client.session import AsyncSession
from understudy.calls import Call, given
from understudy.results.budgets import Budget, Statement


class AsyncBudgets(AsyncSession):
    """The client's methods for caps and ledgers."""

    async def set_budget(
        self, dataset_id: str, *, epsilon: float, delta: float, reason: str | None = None
    ) -> Budget:
        """Set the cap of the dataset's population (admin). Raising a cap needs a reason."""
        body = given({"epsilon": epsilon, "delta": delta, "reason": reason})
        return await self.run(Call("PUT", f"/v1/datasets/{dataset_id}/budget", Budget.from_json, body=body))

    async def read_budget(self, dataset_id: str) -> Budget:
        """Return the cap of the dataset's population."""
        return await self.run(Call("GET", f"/v1/datasets/{dataset_id}/budget", Budget.from_json))

    async def read_ledger(self, dataset_id: str) -> Statement:
        """Return the ledger statement of the dataset's population."""
        return await self.run(Call("GET", f"/v1/datasets/{dataset_id}/ledger", Statement.from_json))
