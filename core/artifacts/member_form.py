"""The form of the certificate of a generator that a member of a federation trained, `understudy.member-certificate/1`, as types."""

from typing import Final, Literal

from pydantic import Field

from core.artifacts import statements as say
from core.artifacts.certificate_form import CertificateForm, Composition, Model
from core.plan.several_owners.member_plan import MemberPlan

MEMBER_SCHEMA: Final = "understudy.member-certificate/1"


class MemberCountsDeployment(Model):
    """The view of every party where every owner counts in a service of its own."""

    actors: Literal[say.MEMBER_COUNTS_ACTORS]  # type: ignore[valid-type]


class MemberCountsComposition(Composition):
    """Composition of costs in one member's service."""

    within: Literal[say.MEMBER_COUNTS_WITHIN]  # type: ignore[valid-type]


class MemberCertificateForm(CertificateForm):
    """A whole certificate of one member; `declared_size` is of all members together, `mechanisms` and `ledger` this member's own.

    The plan's `federation` names the federation, its members with their declared sizes, and the member whose certificate this is.
    """

    schema_: Literal["understudy.member-certificate/1"] = Field(alias="schema")  # type: ignore[assignment]
    privacy_parameters_description: Literal[say.READING]  # type: ignore[valid-type]
    model: MemberCountsDeployment
    composition: MemberCountsComposition
    plan: MemberPlan
