"""Wire types of people and their enrolments."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from core.db.tables.enrolment import Enrolment
from core.db.tables.person import Person
from core.platform.access.keys import KeyText
from core.platform.access.roles import Role
from service.principals.key_schemas import MAX_KEY_LENGTH, End, NewKey
from service.principals.schemas import DisplayName
from service.wire import Name

EnrolmentState = Literal["waiting", "accepted", "cancelled", "expired"]


class PersonOrder(BaseModel):
    """A person to create."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "Dr. Adler, ward statistics", "roles": ["owner"]}]},
    )

    name: DisplayName = Field(description="Name of the person, shown next to the id.")
    roles: list[Role] = Field(min_length=1, description="Roles of the person's keys.")


class EnrolmentView(BaseModel):
    """An enrolment without its token."""

    id: UUID
    principal_id: UUID
    state: EnrolmentState
    is_recovery: bool = Field(description="Whether the person had keys before.")
    created_by: UUID
    created_at: datetime
    expires_at: datetime = Field(description="The token works once until then.")
    accepted_at: datetime | None
    held_until: datetime | None = Field(
        description="End of the hold on the person's sealed data after a recovery; null without a hold."
    )
    cancelled_at: datetime | None
    cancelled_by: UUID | None

    @classmethod
    def of(cls, row: Enrolment, *, at: datetime) -> Self:
        """Show a row."""
        state: EnrolmentState = "expired" if row.expires_at <= at else "waiting"
        if row.accepted_at is not None:
            state = "accepted"
        if row.cancelled_at is not None:
            state = "cancelled"
        return cls(
            id=row.id,
            principal_id=row.principal_id,
            state=state,
            is_recovery=row.is_recovery,
            created_by=row.created_by,
            created_at=row.created_at,
            expires_at=row.expires_at,
            accepted_at=row.accepted_at,
            held_until=row.held_until,
            cancelled_at=row.cancelled_at,
            cancelled_by=row.cancelled_by,
        )


class NewEnrolment(EnrolmentView):
    """A new enrolment; the only response that ever contains the token."""

    token: str = Field(description="The token for accepting it. It is shown only once and not stored.")

    @classmethod
    def with_token(cls, row: Enrolment, token: KeyText, *, at: datetime) -> Self:
        """Convert a row together with its token."""
        return cls(**EnrolmentView.of(row, at=at).model_dump(), token=token.text)


class EnrolmentList(BaseModel):
    """Enrolments, newest first."""

    items: list[EnrolmentView]


class PersonView(BaseModel):
    """A person."""

    principal_id: UUID
    name: str | None = Field(description="Name of the person; null without a name.")
    roles: list[Role] = Field(description="Roles of the person's keys.")
    created_at: datetime
    enrolled_at: datetime | None = Field(
        description="When the person created a first key; null before that, and for principals whose keys an administrator created."
    )
    held_until: datetime | None = Field(
        description="End of the hold on the person's sealed data after a recovery; null without a hold."
    )

    @classmethod
    def of(cls, row: Person, names: Mapping[UUID, str]) -> Self:
        """Convert a row, with its name."""
        return cls(
            principal_id=row.principal_id,
            name=names.get(row.principal_id),
            roles=[Role(role) for role in row.roles],
            created_at=row.created_at,
            enrolled_at=row.enrolled_at,
            held_until=row.held_until,
        )


class NewPerson(PersonView):
    """A new person, with the enrolment to hand over."""

    enrolment: NewEnrolment


class PersonList(BaseModel):
    """All people, oldest first."""

    items: list[PersonView]


class Acceptance(BaseModel):
    """Acceptance of an enrolment, which creates the first key."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"token": "ue_...", "name": "laptop"}]}
    )

    token: SecretStr = Field(max_length=MAX_KEY_LENGTH, description="The token of the enrolment.")
    name: Name = Field("first key", description="Display name of the key.")
    expires_at: End = None


class AcceptedEnrolment(NewKey):
    """The first key, and the hold after a recovery."""

    held_until: datetime | None = Field(
        description="End of the hold on the person's sealed data; null without a hold."
    )
