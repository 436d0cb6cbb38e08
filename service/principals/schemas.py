"""Wire types of the names of principals."""

from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from pydantic_core import PydanticCustomError

from core.db.tables.principal_name import LONGEST
from service.wire import plain_text


def _printable(text: str) -> str:
    # Line breaks, control characters and bidirectional marks can make one name look like another.
    if not text.isprintable():
        raise PydanticCustomError("printable", "a name must be one line of printable characters")
    return text


DisplayName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=LONGEST, strip_whitespace=True),
    AfterValidator(plain_text),
    AfterValidator(_printable),
]
"""The name of a principal, public within the installation."""


class NameOrder(BaseModel):
    """A name to set."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "Research group, north"}]}
    )

    name: DisplayName = Field(
        description="Shown next to the id to everyone who sees the id. Public within the installation."
    )


class PrincipalView(BaseModel):
    """A principal and its name."""

    principal_id: UUID
    name: str


class PrincipalList(BaseModel):
    """The requested principals that have a name, in the order of their ids."""

    items: list[PrincipalView]
