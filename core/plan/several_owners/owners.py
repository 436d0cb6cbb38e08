"""The owners of a job over several datasets: one reservation in each ledger, one noise for all rows together.

Neighbours differ in one unit of one owner. A unit moves the clipped sum over all owners' rows by at most the clipping norm,
whichever owner it belongs to, so the job costs every ledger the whole mechanism.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from core.plan.errors import InvalidPlan, InvalidSpec
from core.values import Count, Identifier, Value

if TYPE_CHECKING:
    from core.plan.domain.declared import Domain

MOST_OWNERS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class DataOwner(Value):
    """One dataset of the job, as its owner declared it.

    Attributes:
        dataset_id: the dataset whose rows are read.
        population_id: the population whose ledger is charged.
        declared_size: the public number of privacy units.
    """

    UNREADABLE = InvalidPlan, "an owner of the plan lacks a member or has one of the wrong form"

    dataset_id: Identifier
    population_id: Identifier
    declared_size: Count


def require_together(owners: Sequence[DataOwner], declared_size: int) -> None:
    """Check the owners of a plan: two or more populations in ascending order, whose sizes add up to the plan's.

    Raises:
        InvalidPlan: they are not.
    """
    populations = [owner.population_id for owner in owners]
    if not 2 <= len(owners) <= MOST_OWNERS or populations != sorted(set(populations)):  # noqa: PLR2004 - one owner is an ordinary plan
        raise InvalidPlan("the plan's owners are not of different populations, in ascending order")
    if len({owner.dataset_id for owner in owners}) < len(owners):
        raise InvalidPlan("the plan names a dataset twice")
    if sum(owner.declared_size for owner in owners) != declared_size:
        raise InvalidPlan("the plan's declared size is not the sum of its owners'")


def ordered_owners(owners: Sequence[DataOwner], domains: "Sequence[Domain]") -> tuple[DataOwner, ...]:
    """Return the owners in the order of their populations' ids, if one job can be over all of their datasets.

    Raises:
        InvalidSpec: the domains differ, two datasets are of one population, or there are too many.
    """
    if len({domain.digest() for domain in domains}) > 1:
        raise InvalidSpec(
            "the datasets declare different domains",
            remedy="let every owner declare its dataset with the same domain file",
        )
    if len({owner.population_id for owner in owners}) < len(owners):
        raise InvalidSpec(
            "two of the datasets are of one population, whose ledger is charged once",
            remedy="name one dataset of each owner",
        )
    if len(owners) > MOST_OWNERS:
        raise InvalidSpec(f"more than {MOST_OWNERS} datasets", remedy="name fewer datasets")
    return tuple(sorted(owners, key=lambda owner: owner.population_id))
