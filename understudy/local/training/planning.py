"""The plan of a training, from public facts alone. `fit` and `quote` share this code, so they cannot differ."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.charge import Charge
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.declared import Domain, domain_from_json
from core.plan.domain.errors import DomainInvalid
from core.plan.installed import require_installed
from core.plan.plan import Plan, make_plan
from core.plan.quote import plan_charge
from core.plan.spec import SynthesisSpec
from understudy.documents import Json
from understudy.errors import InputUnusable
from understudy.local.ledger.accounts import answered, pair_of_numbers
from understudy.local.paths import AnyPath
from understudy.table_files import DECLARED_SIZE, MARK, marked, place_in, read_domain


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A requested training without its guarantee: declared facts and options, no rows."""

    domain: Domain
    declared_size: int
    spec: SynthesisSpec

    @classmethod
    def read(
        cls, domain: Json | AnyPath, *, declared_size: int | None, synthesizer: str, options: Json | None
    ) -> Self:
        """Read an order from the arguments of `fit`.

        Raises:
            InputUnusable: the domain is a draft, or the size is missing.
            InvalidInput: the domain or an option breaks a rule.
        """
        document, size = declaration_of(domain, declared_size)
        with answered():
            return cls(
                domain=read_declared(document),
                declared_size=size,
                spec=SynthesisSpec(synthesizer=synthesizer, options=options or {}),
            )

    def plan(self, guarantee: PrivacyGuarantee) -> Plan:
        """Plan the training; no row is read.

        Raises:
            core.errors.UnderstudyError: the plan is impossible, or a requirement of its synthesizer is not installed.
        """
        plan = make_plan(
            spec=self.spec,
            guarantee=guarantee,
            declared_size=self.declared_size,
            domain=self.domain,
            adjacency=Adjacency.ADD_OR_REMOVE,
            privacy_unit=PrivacyUnit(column=self.domain.privacy_unit, records=self.domain.records_per_unit),
            checks_bounds=True,
        )
        require_installed(plan.synthesizer)
        return plan

    def charge_at(self, guarantee: PrivacyGuarantee) -> Charge:
        """The charge of this training at a guarantee.

        Raises:
            core.errors.UnderstudyError: the plan is impossible.
        """
        return plan_charge(self.plan(guarantee))


def declaration_of(domain: Json | AnyPath, declared_size: int | None) -> tuple[Mapping[str, Any], int]:
    """Read a domain document and the declared size.

    Raises:
        InputUnusable: the domain is a draft, or the size is missing.
    """
    document = dict(domain) if isinstance(domain, Mapping) else read_domain(Path(domain))
    if marked(document):
        message = f"the domain is a draft: it still lists values that come from the rows under {MARK!r}"
        raise InputUnusable(message)
    size = document.pop(DECLARED_SIZE, None)
    size = size if declared_size is None else declared_size
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        message = (
            "no declared size: give declared_size=N, a round number near the truth that may be public; "
            "the exact number of rows is private and is never counted"
        )
        raise InputUnusable(message)
    return document, size


def read_declared(document: Mapping[str, Any]) -> Domain:
    """Read a domain document; an error names the column.

    Raises:
        DomainInvalid: the document breaks a rule.
    """
    try:
        return domain_from_json(document)
    except DomainInvalid as error:
        raise DomainInvalid(
            f"{place_in(dict(document), error.pointer)}: {error.detail}",
            pointer=error.pointer,
            problem=error.problem,
            remedy=error.remedy,
        ) from None


def guarantee_of(asked: PrivacyGuarantee | tuple[float, float]) -> PrivacyGuarantee:
    """Read a guarantee, or a pair of epsilon and delta.

    Raises:
        InputUnusable: the value is no pair of numbers.
    """
    if isinstance(asked, PrivacyGuarantee):
        return asked
    epsilon, delta = pair_of_numbers(asked, "the guarantee")
    try:
        return PrivacyGuarantee(epsilon=epsilon, delta=delta)
    except (TypeError, ValueError):
        raise InputUnusable(
            "the guarantee is a pair of numbers, epsilon and delta, such as (1.0, 1e-6)"
        ) from None
