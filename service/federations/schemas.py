"""Wire types of federations."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator

from core.db.tables.federation import Federation
from core.db.tables.federation_member import FederationMember
from core.plan.defaults import WITHOUT_CRITIC
from core.plan.private_models.options import ModelRequest
from core.plan.several_owners import federation as plans
from core.plan.several_owners.member_plan import KIND as MEMBER
from service.wire import Delta, Document, Epsilon, Name, NextBefore, coarse

MOST_UNITS = 10**12
_ABSENT = frozenset({"components", "hidden", "module", "pca_share"})
"""Options of a plan that an order leaves out where they are zero or null."""
FederationState = Literal["open", "done", "failed", "ended"]
FederationKind = Literal["model", "generator"]
MemberName = Annotated[str, Field(pattern=plans.MEMBER_NAME)]


class DeclaredMember(BaseModel):
    """An owner of the federation."""

    model_config = ConfigDict(extra="forbid")

    name: MemberName = Field(description="Unique in the federation; certificates state it.")
    declared_size: Annotated[int, Field(ge=1, le=MOST_UNITS, strict=True)] = Field(
        description="The public number of privacy units that this owner declares for its dataset."
    )


class GeneratorTerms(BaseModel):
    """A generator that the members of a federation train on sums of their noisy counts."""

    model_config = ConfigDict(extra="forbid")

    options: Document = Field(
        default_factory=dict,
        description="Options of the synthesizer `idpgan` without a critic. Others follow public rules.",
    )


class FederationOrder(BaseModel):
    """A federation to create: what is trained, under which guarantee for every member, and who takes part."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "name": "readmissions",
                    "domain": {"schema": "understudy.domain/1", "columns": []},
                    "epsilon": 1.0,
                    "delta": 1e-6,
                    "model": {"steps": 200, "averaging_rounds": 20},
                    "members": [
                        {"name": "north", "declared_size": 20000},
                        {"name": "south", "declared_size": 30000},
                    ],
                }
            ]
        },
    )

    name: Name
    domain: Document = Field(
        description="The domain that every member has declared, equal to the byte of its canonical form."
    )
    epsilon: Epsilon = Field(description="Epsilon of every member's ledger.")
    delta: Delta
    model: ModelRequest | None = Field(
        None,
        description="Options of the classifier, `averaging_rounds` among them. Others follow public rules.",
    )
    generator: GeneratorTerms | None = Field(
        None,
        description="A generator of tables to train instead of a `model`, on noisy counts that are added.",
    )
    members: list[DeclaredMember] = Field(min_length=2, max_length=plans.MOST_MEMBERS)
    round_seconds: float = Field(
        3600.0,
        ge=1,
        le=7 * 86_400,
        allow_inf_nan=False,
        strict=True,
        description="How long a round may take from its first state, or from the end of the round before. Then the federation fails.",
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.model is None) == (self.generator is None):
            raise ValueError("a federation trains either a model or a generator")
        return self


class MemberCertificate(BaseModel):
    """A member, and the certificate of its training once it has handed it in."""

    name: str
    declared_size: int
    rounds_handed_in: int = Field(description="Rounds of which the board has taken this member's state.")
    certificate: dict[str, Any] | None = Field(
        description="As its own service signed it. The board checks its plan alone: verify it with the keys of that service."
    )


class FederationProgress(BaseModel):
    """What is trained, and how far it is."""

    id: UUID
    name: str
    kind: FederationKind = Field(description="What the members train.")
    state: FederationState = Field(
        description="open; done after the last round; failed if members missed a deadline; ended by the analyst."
    )
    vanished: str | None = Field(description="The members that missed the deadline of a round.")
    rounds: int
    rounds_done: int
    waits_for: list[str] = Field(
        description="The members whose state of the open round has not arrived; empty once the federation is over."
    )
    deadline: datetime | None = Field(
        description="When the open round fails; null before its first state, and once the federation is over."
    )
    created_at: datetime
    ended_at: datetime | None = Field(description="When it failed or was ended.")


class FederationSummary(FederationProgress):
    """A federation in a list."""

    members: list[str] = Field(description="Their names.")

    @classmethod
    def of(cls, row: Federation, here: Collection[int]) -> Self:
        """Show a row; `here` are the places of the members that have handed in their state of the open round."""
        return cls(**_progress(row, here), members=_names(row))


class FederationList(BaseModel):
    """A page of federations, newest first."""

    items: list[FederationSummary]
    next_before: NextBefore


class FederationView(FederationProgress):
    """A federation and how far it is."""

    round_seconds: float
    plan: dict[str, Any] = Field(
        description="The plan of the first member; those of the others differ in its name."
    )
    plan_sha256: str = Field(description="Of what the plans of all members have in common.")
    domain_sha256: str
    members: list[MemberCertificate]

    @classmethod
    def of(cls, row: Federation, members: Sequence[FederationMember], here: Collection[int]) -> Self:
        """Show a row with its members in order; `here` are the places of those that have handed in their state of the open round."""
        sizes = [one["declared_size"] for one in row.plan["federation"]["members"]]
        return cls(
            **_progress(row, here),
            round_seconds=row.round_seconds,
            plan=row.plan,
            plan_sha256=plans.shared_digest(row.plan),
            domain_sha256=row.domain_sha256,
            members=[
                MemberCertificate(
                    name=one.name,
                    declared_size=size,
                    rounds_handed_in=_handed_in(row, is_here=one.place in here),
                    certificate=one.certificate,
                )
                for one, size in zip(members, sizes, strict=True)
            ],
        )


class NewFederation(FederationView):
    """A new federation with the tokens of its members, which only this response contains."""

    tokens: dict[str, str] = Field(description="By member. Hand each to its owner over a private channel.")


class Membership(BaseModel):
    """What one member has to order in its own service, and how far the federation is."""

    federation_id: UUID
    member: str
    members: list[DeclaredMember]
    state: FederationState
    vanished: str | None
    rounds_done: int
    round_seconds: float
    epsilon: float
    delta: float
    model: ModelRequest | None = Field(
        description="The options of the planned model, as an order takes them; null for a generator."
    )
    generator: GeneratorTerms | None = Field(
        description="The options of the planned generator, as an order takes them; null for a model."
    )
    domain_sha256: str
    plan_sha256: str

    @classmethod
    def of(cls, row: Federation, member: FederationMember) -> Self:
        """Show a row to a member."""
        options, counted = row.plan["options"], kind_of(row) == "generator"
        return cls(
            federation_id=row.id,
            member=member.name,
            members=[DeclaredMember(**one) for one in row.plan["federation"]["members"]],
            state=row.state,  # type: ignore[arg-type]  # the table's check
            vanished=row.vanished,
            rounds_done=rounds_done(row),
            round_seconds=row.round_seconds,
            epsilon=row.plan["guarantee"]["epsilon"],
            delta=row.plan["guarantee"]["delta"],
            model=None
            if counted
            else ModelRequest(
                **{name: value for name, value in options.items() if value or name not in _ABSENT}
            ),
            generator=GeneratorTerms(options={name: options[name] for name in sorted(WITHOUT_CRITIC)})
            if counted
            else None,
            domain_sha256=row.domain_sha256,
            plan_sha256=plans.shared_digest(row.plan),
        )


class RoundView(BaseModel):
    """Which members have handed in their state of a round."""

    round: int
    members: list[str]
    complete: bool


def rounds_done(row: Federation) -> int:
    """Complete rounds."""
    return row.rounds if row.state == "done" else row.round


def kind_of(row: Federation) -> FederationKind:
    """What the members train."""
    return "generator" if row.plan["kind"] == MEMBER else "model"


def _handed_in(row: Federation, *, is_here: bool) -> int:
    """The rounds of which a member has handed in its state: every complete one, and perhaps the open one."""
    return row.rounds if row.state == "done" else row.round + is_here


def _names(row: Federation) -> list[str]:
    return [one["name"] for one in row.plan["federation"]["members"]]


def _progress(row: Federation, here: Collection[int]) -> dict[str, Any]:
    """The members of `FederationProgress`."""
    is_open = row.state == "open"
    until = None
    if is_open and row.round_since is not None:
        until = coarse(row.round_since + timedelta(seconds=row.round_seconds))
    return {
        "id": row.id,
        "name": row.name,
        "kind": kind_of(row),
        "state": row.state,
        "vanished": row.vanished,
        "rounds": row.rounds,
        "rounds_done": rounds_done(row),
        "waits_for": [name for place, name in enumerate(_names(row)) if place not in here] if is_open else [],
        "deadline": until,
        "created_at": coarse(row.created_at),
        "ended_at": None if row.ended_at is None else coarse(row.ended_at),
    }


def is_of_member(certificate: Mapping[str, Any], row: Federation, member: FederationMember) -> bool:
    """Whether a certificate states the plan of this member."""
    plan = certificate.get("plan")
    if not isinstance(plan, dict) or not isinstance(plan.get("federation"), dict):
        return False
    same = plans.shared_digest(plan) == plans.shared_digest(row.plan)
    return same and plan["federation"].get("member") == member.name
