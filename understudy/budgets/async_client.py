"""Caps and ledgers, as methods of the asynchronous client; the methods are those of `understudy.budgets.client`."""

from abc import ABC, abstractmethod
from typing import TypeVar

from understudy.budgets import calls
from understudy.budgets.results import Budget, Statement
from understudy.calls import Call
from understudy.exchange import Repetitions

Result = TypeVar("Result")


class AsyncBudgets(ABC):
    """What an asynchronous client does with caps and ledgers; how calls are sent is the client's."""

    @abstractmethod
    async def run(self, call: Call[Result], *, repetitions: Repetitions | None = None) -> Result:
        """Send a call and give its result."""

    async def set_budget(
        self, dataset_id: str, *, epsilon: float, delta: float, reason: str | None = None
    ) -> Budget:
        """Set the cap of the dataset's population (admin); to raise one, say why."""
        return await self.run(calls.set_budget(dataset_id, epsilon=epsilon, delta=delta, reason=reason))

    async def read_budget(self, dataset_id: str) -> Budget:
        """Give the cap of the dataset's population."""
        return await self.run(calls.read_budget(dataset_id))

    async def read_ledger(self, dataset_id: str) -> Statement:
        """Give the ledger statement of the dataset's population."""
        return await self.run(calls.read_ledger(dataset_id))
