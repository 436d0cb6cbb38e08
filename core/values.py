"""Values with one JSON document: frozen dataclasses whose fields and derived members are the members of the document.

The same declaration reads the document, writes it and gives its published schema. Types that a field names beyond its Python
type (`Field(gt=0)`) are checked on reading. `__post_init__` checks what holds of every value, read or made.
"""

import itertools
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Self, TypeVar, cast

from pydantic import (
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    computed_field,
)
from pydantic_core import CoreSchema, core_schema

from core.canonical import canonical, canonical_digest
from core.errors import InvalidInput

if TYPE_CHECKING:
    derived = property
else:

    def derived(getter: Callable[[Any], Any]) -> object:
        """Decorate a property that is written too; a document must state what it gives."""
        return computed_field(property(getter))


Identifier = Annotated[str, Field(pattern=r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Positive = Annotated[float, Field(gt=0, lt=1e13, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, lt=1e300, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
BelowOne = Annotated[float, Field(gt=0, lt=1)]
Count = Annotated[int, Field(ge=1, le=10**12)]
CountOrNone = Annotated[int, Field(ge=0, le=10**15)]

ADDED_LATER: Final = frozenset(
    {
        "critic_asks", "generator_check", "learning", "records", "reused", "anchor_screening_share",
        "column_sensitivity", "table_sensitivity", "screening_sensitivity", "combinations", "owners", "averaging_rounds", "federation",
        "first_noise_multiplier", "schedule_start", "adam_beta1", "adam_beta2", "names_per_unit", "model_check", "unanimous_only", "about_grey",
        "brightness_noise_multiplier", "cut_tails",
    }
)  # fmt: skip
"""Members that older documents lack; absence has one meaning."""


class _NeverNull:
    """Takes null out of a type: the member is left out instead."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        return schema["schema"] if schema["type"] == "nullable" else schema


class Published:
    """Gives a member the schema of another type, narrower than what its class accepts."""

    def __init__(self, kind: object) -> None:
        self.kind = kind

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        # As a field: the handler alone would write a class in full at every mention, instead of a reference.
        return handler(core_schema.model_field(adapter_of(self.kind).core_schema))


_T = TypeVar("_T")
OrAbsent = Annotated[_T | None, _NeverNull(), Field(exclude_if=lambda value: value is None)]
"""A member that is None here and left out of the document: one of `ADDED_LATER`, or one that does not apply."""


OrFalse = Annotated[bool, Field(exclude_if=lambda value: not value)]
"""A member that is left out of the document where it is false: one of `ADDED_LATER`."""


class Value:
    """Base of a frozen dataclass with one JSON document.

    Attributes:
        UNREADABLE: The error of a document that is not of this form, and its detail.
    """

    __slots__ = ()
    __pydantic_config__: ClassVar = ConfigDict()
    UNREADABLE: ClassVar[tuple[type[InvalidInput], str]]

    def to_json(self) -> dict[str, Any]:
        """Return the value as a JSON object."""
        return written(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote.

        Raises:
            InvalidInput: `UNREADABLE`, if a member is missing, unknown or of the wrong type, or a derived member is not
                what the others give; and what the class raises for a value out of range.
        """
        try:
            return cast("Self", read(cls, document))
        except ValueError:
            error, detail = cls.UNREADABLE
            raise error(detail) from None

    def digest(self) -> str:
        """Return the SHA-256 of the canonical JSON, in hexadecimal."""
        return canonical_digest(self.to_json())


@cache
def adapter_of(kind: object) -> TypeAdapter[Any]:
    """Return what reads and writes a type."""
    return TypeAdapter(cast("Any", kind))


def written(value: object, kind: object = None) -> dict[str, Any]:
    """Return a value as a JSON object.

    Args:
        kind: Its type, if that is a union.
    """
    document: dict[str, Any] = adapter_of(kind or value.__class__).dump_python(value, mode="json")
    return document


def read(kind: object, document: Mapping[str, Any]) -> object:
    """Return the value whose canonical JSON is that of the document, but for members that an older one lacks.

    Raises:
        ValueError: there is none; the message names no member and no value.
        InvalidInput: a value is out of range, as its class says.
    """
    try:
        value: object = adapter_of(kind).validate_python(document)
        stated, expected = canonical(document), written(value, kind)
        same = stated == canonical(expected) or stated == canonical(_as_old(expected, document))
    except (ValueError, TypeError, RecursionError):
        raise ValueError("the document is not of this form") from None
    if not same:
        raise ValueError("the document is not what its value is written as")
    return value


def _as_old(expected: Any, document: object) -> Any:  # noqa: ANN401 - any JSON
    """The expected document without the later members that this one lacks."""
    if isinstance(expected, dict) and isinstance(document, Mapping):
        return {
            name: _as_old(member, document.get(name))
            for name, member in expected.items()
            if name in document or name not in ADDED_LATER
        }
    if isinstance(expected, list) and isinstance(document, list):
        pairs = itertools.zip_longest(expected, document)
        return [_as_old(member, stated) for member, stated in pairs]
    return expected
