"""The plan of a generator that one member of a federation trains on its own rows and on noisy counts of the others.

Every member counts its own rows, adds the whole noise that its own ledger is charged for, and hands in the noisy counts, which are
integers of a public grid. All members add all of them. So each ledger is charged what a generator on its own rows would cost, and
the sums of k members have k times the variance. Which pairs of columns are counted, and in which groups of codes, follows from noisy sums,
so every member asks the same questions without another word.

A screening adds the owners' distances from independence. Their sum is at least the distance of all rows together, so a pair may be
counted in vain where owners differ, and none is left out for it.
"""

import math
from dataclasses import dataclass, field, fields, replace
from typing import ClassVar, Final, Literal

from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.counting_rules import FEWEST_GROUPS, MOST_CLASSES
from core.plan.domain.columns.kinds import OrderedColumn
from core.plan.domain.declared import Domain
from core.plan.domain.table import TableDomain
from core.plan.errors import InvalidPlan, InvalidSpec
from core.plan.plan import Plan, make_plan
from core.plan.plan_document import VERSION
from core.plan.several_owners.federation import Federation
from core.plan.spec import SynthesisSpec
from core.plan.stages import AnchorPlan

KIND: Final = "member"
BYTES_OF_COUNT: Final = 8
MOST_COUNT_BYTES: Final = 32 * 2**20
"""Most bytes that a member hands in in one round. Where noisy counts would ask for more, codes are merged into fewer groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberPlan(Plan):
    """Plan of one member's training of a generator; used in place of a `Plan`. `declared_size` is of all members together.

    Raises:
        InvalidPlan: as `Plan`; or the declared sizes do not add up, or the plan needs more than counts in rounds.
    """

    IDENTITY: ClassVar = {"version": VERSION, "kind": KIND}

    kind: Literal["member"] = field(default=KIND, repr=False, compare=False)
    federation: Federation
    """The owners whose counts are added, seen by one of them."""

    def __post_init__(self) -> None:
        # A class with slots is made anew, so super() without arguments finds the old one.
        Plan.__post_init__(self)
        anchor = self.anchor
        in_rounds = isinstance(anchor, AnchorPlan) and anchor.column_sensitivity > 0
        if not in_rounds or not self.only_counts or self.reused:
            raise InvalidPlan(
                "a plan of a federation's generator needs more than counts of columns and pairs"
            )
        if self.federation.declared_size != self.declared_size:
            raise InvalidPlan("the plan's declared size is not the sum of its federation's members'")

    @property
    def counts(self) -> AnchorPlan:
        """The member's own counts, with the noise that its ledger is charged for."""
        assert isinstance(self.anchor, AnchorPlan), "checked when it was made"
        return self.anchor

    @property
    def summed(self) -> AnchorPlan:
        """The counts of all members added: independent noises of one standard deviation each."""
        copies = math.sqrt(len(self.federation.members))
        return replace(self.counts, noise_multiplier=copies * self.counts.noise_multiplier)

    @property
    def rounds(self) -> int:
        """Exchanges with the other members: one for each release."""
        return len(self.counts.releases)

    @property
    def local_size(self) -> int:
        """The declared number of units whose rows lie in this service."""
        return self.federation.own_size


def make_member_plan(
    *,
    spec: SynthesisSpec,
    guarantee: PrivacyGuarantee,
    declared_size: int,
    domain: Domain,
    adjacency: Adjacency,
    privacy_unit: PrivacyUnit,
    federation: Federation,
) -> MemberPlan:
    """Return a member's plan: that of one dataset with all members' rows, whose counts have the noise of all members.

    Args:
        declared_size: of all members together.

    Raises:
        InvalidSpec: the order is of something that needs more than counts of a declared table, or as `make_plan`.
        BoundNeedsAnchor, TargetOutOfReach: as `make_plan`.
    """
    if spec.synthesizer != "idpgan" or not isinstance(domain, TableDomain):
        raise _more_than_counts()
    plan = make_plan(
        spec=spec,
        guarantee=guarantee,
        declared_size=declared_size,
        domain=domain,
        adjacency=adjacency,
        privacy_unit=privacy_unit,
        copies=len(federation.members),
    )
    if not plan.only_counts:
        raise _more_than_counts()
    made = MemberPlan(federation=federation, **{one.name: getattr(plan, one.name) for one in fields(plan)})
    if _bytes_of(domain, FEWEST_GROUPS) > MOST_COUNT_BYTES:
        raise InvalidSpec(
            f"the counts of a round would have more than {MOST_COUNT_BYTES} bytes",
            remedy="declare fewer columns or codes",
        )
    return made


def largest_counts(domain: TableDomain) -> int:
    """Return a bound on the bytes that a member hands in in one round, by public facts: eight for every cell.

    A column has at most as many groups as codes, and more groups than fit are merged (`models.tables.measurement.second_round.groups_of`).
    """
    return min(_bytes_of(domain, max(domain.cardinalities)), MOST_COUNT_BYTES)


def _bytes_of(domain: TableDomain, wanted: int) -> int:
    """A bound on the bytes of the counts of a round if so many groups of every column are wanted.

    Two neighbouring groups together have at least an even group's weight, so there are at most twice as many as wanted and one more,
    and those of codes that are merged with none (`models.tables.code_groups`).
    """
    groups = []
    for place, (column, codes) in enumerate(zip(domain.coded, domain.cardinalities, strict=True)):
        alone = 1 + (len(column.specials) if isinstance(column, OrderedColumn) else 0)
        groups.append(codes if place == domain.target_index else min(codes, 2 * wanted + 1 + alone))
    slices = 1 if domain.target_index is None else domain.cardinalities[domain.target_index]
    pairs = (sum(groups) ** 2 - sum(one**2 for one in groups)) // 2
    # By class of the target the other pairs are counted once for each class; never of a target with many.
    cells = pairs * (slices if slices <= MOST_CLASSES else 1) + slices * sum(groups)
    return BYTES_OF_COUNT * max(sum(domain.cardinalities), cells)


def _more_than_counts() -> InvalidSpec:
    return InvalidSpec(
        "a generator of a federation is trained on counts of a table whose domain is declared",
        remedy='order the synthesizer "idpgan" without "critic"',
    )
