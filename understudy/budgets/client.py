"""Caps and ledgers, as methods of the client: what may be spent on a population, and what was."""

from abc import ABC, abstractmethod
from typing import TypeVar

from understudy.budgets import calls
from understudy.budgets.results import Budget, Statement
from understudy.calls import Call
from understudy.exchange import Repetitions

Result = TypeVar("Result")


class Budgets(ABC):
    """What a client does with caps and ledgers; how calls are sent is the client's."""

    @abstractmethod
    def run(self, call: Call[Result], *, repetitions: Repetitions | None = None) -> Result:
        """Send a call and give its result."""

    def set_budget(
        self, dataset_id: str, *, epsilon: float, delta: float, reason: str | None = None
    ) -> Budget:
        """Set the cap of the dataset's population (admin); to raise one, say why."""
        return self.run(calls.set_budget(dataset_id, epsilon=epsilon, delta=delta, reason=reason))

    def read_budget(self, dataset_id: str) -> Budget:
        """Give the cap of the dataset's population."""
        return self.run(calls.read_budget(dataset_id))

    def read_ledger(self, dataset_id: str) -> Statement:
        """Give the ledger statement of the dataset's population."""
        return self.run(calls.read_ledger(dataset_id))
