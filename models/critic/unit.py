"""One chunk worked through by itself, in steps that a device can record.

`measure` and `add` read and write the same memory at every call and take the same operations whatever the records and the
partition are. The forms have these steps beside their pass over whole batches, which gives the same bits for a batch of
one chunk.
"""

from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor

from models.dp.clipping import Partition, StandingRule

Given = TypeVar("Given")
Made = TypeVar("Made")


class UnitForm(Protocol):
    """A closed form whose chunks are units of a batch.

    The order is `fill`, `measure`, `add`, with a `rule` before; then `filled` has the unit's sum and squared norms.
    """

    at_once: int

    def fill(self, real: Tensor, fake: Tensor, mix: Tensor, *, labels: Tensor | None = None) -> None:
        """Put at most `at_once` records into place; see the form's `sum_and_squares` for the shapes."""
        ...

    def measure(self) -> None:
        """Make the factors of the records in place, and upper bounds of their squared norms. Can be recorded."""
        ...

    def rule(self, partition: Partition) -> None:
        """Clip by this partition from now on."""
        ...

    def add(self) -> None:
        """Make the clipped sum of what was measured. Can be recorded. Done once after it, for factors are scaled where they are."""
        ...

    @property
    def filled(self) -> tuple[Tensor, Tensor]:
        """(coordinates,) float64 sum and (at_once, blocks) float64 squared norms, valid until the next unit."""
        ...

    def sum_and_squares(
        self, real: Tensor, fake: Tensor, mix: Tensor, partition: Partition, *, labels: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The same in one pass over any number of chunks; see `models.critic.closed_form.ClosedForm.sum_and_squares`."""
        ...


class Unit(Generic[Given, Made]):
    """What lies between the steps of one unit.

    Args:
        at_once: places of a unit.
        blocks: of the layout.
        max_batch: public cap on the records of one batch, for the rounding allowance.
        terms: of one record in a coordinate of the sum, for the same.
        device: the critic's.
    """

    given: Given
    made: Made

    def __init__(
        self, at_once: int, blocks: int, *, max_batch: int, terms: int, device: torch.device
    ) -> None:
        self.rule = StandingRule(blocks, max_batch=max_batch, terms=terms, device=device)
        self.bounds = torch.zeros(at_once, blocks, dtype=torch.float64, device=device)

    def clips(self) -> Tensor:
        """(at_once, blocks) float64 clipping factors of the bounds."""
        return self.rule.factors(self.bounds)
