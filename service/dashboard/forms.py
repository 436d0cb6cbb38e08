"""Forms of pages, read strictly: one encoding, each field once, numbers and ids as what they are.

A form becomes the very order that the API takes, so both are held to the same rules; where one is broken, the answer
names fields of ours and never what was sent.
"""

from collections.abc import Mapping, Sequence
from email.message import Message
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl
from uuid import UUID, uuid4

from fastapi import Request
from pydantic import BaseModel, ValidationError

from service.dashboard.errors import FormInvalid
from service.problem import MalformedRequest

MEDIA_TYPE: Final = "application/x-www-form-urlencoded"
MAX_FIELDS: Final = 200

Order = TypeVar("Order", bound=BaseModel)


class Form:
    """The fields of one form. An empty field is one that was left out.

    Args:
        fields: All values by name, in the order in which they were sent.
    """

    def __init__(self, fields: Mapping[str, Sequence[str]]) -> None:
        self._fields = fields

    def text(self, name: str) -> str | None:
        """The text of a field, or None where it was left empty.

        Raises:
            FormInvalid: It was sent more than once.
        """
        found = self._fields.get(name, ())
        if len(found) > 1:
            raise FormInvalid(f"The field “{_shown(name)}” was sent more than once.", remedy="Send it once.")
        return found[0].strip() or None if found else None

    def required(self, name: str) -> str:
        """The text of a field.

        Raises:
            FormInvalid: It was left empty.
        """
        found = self.text(name)
        if found is None:
            raise FormInvalid(
                f"The field “{_shown(name)}” is empty.",
                remedy="Go back, fill it in, and send the form again.",
            )
        return found

    def number(self, name: str) -> float | None:
        """A number with a point or, where there is no point, a comma.

        Raises:
            FormInvalid: It is not one.
        """
        found = self.text(name)
        if found is None:
            return None
        try:
            return float(found if "." in found else found.replace(",", "."))
        except ValueError:
            raise FormInvalid(
                f"The field “{_shown(name)}” is not a number.", remedy="Write it like 0.5 or 1e-6."
            ) from None

    def identity(self, name: str) -> UUID | None:
        """An id.

        Raises:
            FormInvalid: It is not one.
        """
        found = self.text(name)
        try:
            return None if found is None else UUID(found)
        except ValueError:
            raise FormInvalid(
                f"The field “{_shown(name)}” is not an id.",
                remedy="An id has 32 hexadecimal digits in five groups; copy it whole.",
            ) from None

    def once(self) -> str:
        """The key under which what was sent is done once, however often the button was pressed.

        A form sent without one, by a script that knows none, is an order of its own.

        Raises:
            FormInvalid: It is no id.
        """
        return str(self.identity("once") or uuid4())

    def all(self, name: str) -> list[str]:
        """Every value of a field that may be ticked several times."""
        return list(self._fields.get(name, ()))


def order(kind: type[Order], **values: object) -> Order:
    """The order of the API that a form makes; what was left out keeps its default.

    Raises:
        FormInvalid: The order's own rules refuse a field.
    """
    given = {name: value for name, value in values.items() if value is not None}
    try:
        return kind.model_validate(given)
    except ValidationError as refusal:
        wrong = sorted({_place(problem["loc"], kind) for problem in refusal.errors()})
        listed = ", ".join(f"“{_shown(name)}”" for name in wrong)
        raise FormInvalid(
            f"The form does not say what is needed: look at {listed}.",
            remedy="Go back, correct what is named, and send the form again.",
            fields=wrong,
        ) from None


async def read_form(request: Request) -> Form:
    """The form in the body of a request.

    Raises:
        MalformedRequest: The body is not a form.
    """
    sent = Message()
    sent["content-type"] = request.headers.get("content-type", "")
    if sent.get_content_type() != MEDIA_TYPE:
        raise MalformedRequest("The page sent something else than a form.", remedy="Load the page again.")
    try:
        pairs = parse_qsl(
            (await request.body()).decode(),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_FIELDS,
        )
    except ValueError:
        raise MalformedRequest("The form could not be read.", remedy="Load the page again.") from None
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    return Form(fields)


def _place(location: Sequence[Any], kind: type[BaseModel]) -> str:
    """The field that a problem is about; of the form as a whole where it is about several."""
    return str(location[0]) if location and location[0] in kind.model_fields else "form"


def _shown(name: str) -> str:
    return name.removesuffix("_id").replace("_", " ")
