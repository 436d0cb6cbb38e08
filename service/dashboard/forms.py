"""Strict form parsing: one encoding, each field once, typed numbers and ids.

A form is turned into the API's own request model, so both follow the same validation rules. Error messages name our
fields and never echo submitted values.
"""

import re
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
MAX_FIELDS: Final = 2000

_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?")
_WHOLE: Final = re.compile(
    r"[0-9]{1,15}|[0-9]{1,3}([ \u00a0\u2009\u202f,'\u2019])[0-9]{3}(?:\1[0-9]{3}){0,3}"
)

Order = TypeVar("Order", bound=BaseModel)


class Form:
    """The fields of one form, in the order sent. An empty field counts as missing."""

    def __init__(self, fields: Mapping[str, Sequence[str]]) -> None:
        self._fields = fields

    def text(self, name: str) -> str | None:
        """The text of a field, or None if it is empty.

        Raises:
            FormInvalid: It was sent more than once.
        """
        found = self._fields.get(name, ())
        if len(found) > 1:
            raise FormInvalid(
                f"The field “{_shown(name)}” was sent more than once.", remedy="Send it only once."
            )
        return found[0].strip() or None if found else None

    def required(self, name: str) -> str:
        """The text of a field.

        Raises:
            FormInvalid: The field is empty.
        """
        found = self.text(name)
        if found is None:
            raise FormInvalid(
                f"The field “{_shown(name)}” is empty.",
                remedy="Go back, fill it in and submit the form again.",
            )
        return found

    def number(self, name: str) -> float | None:
        """A number with a decimal point or, without a point, a decimal comma.

        Raises:
            FormInvalid: Not a number.
        """
        found = self.text(name)
        if found is None:
            return None
        # `float` also reads underscores and the digits of other scripts.
        if not _NUMBER.fullmatch(found):
            raise FormInvalid(
                f"The field “{_shown(name)}” is not a number.", remedy="Enter a number such as 0.5 or 1e-6."
            )
        return float(found.replace(",", "."))

    def whole(self, name: str) -> int | None:
        """A whole number; one sort of spaces, apostrophes or commas may group its thousands, as pages write them. A point may not.

        Raises:
            FormInvalid: Not a whole number.
        """
        found = self.text(name)
        if found is None:
            return None
        number = whole_of(found)
        if number is None:
            raise FormInvalid(
                f"The field “{_shown(name)}” is not a whole number.",
                remedy="Enter it without decimals and without a point, such as 2500 or 2 500.",
            )
        return number

    def identity(self, name: str) -> UUID | None:
        """An id.

        Raises:
            FormInvalid: Not an id.
        """
        found = self.text(name)
        try:
            return None if found is None else UUID(found)
        except ValueError:
            raise FormInvalid(
                f"The field “{_shown(name)}” is not an id.",
                remedy="An id has 32 hexadecimal digits in five groups; copy all of it.",
            ) from None

    def once(self) -> str:
        """The form's idempotency key: repeated submissions of one form take effect once.

        A form without a key, such as one sent by a script, gets a new key and counts as a separate order.

        Raises:
            FormInvalid: The key is not an id.
        """
        return str(self.identity("once") or uuid4())

    def all(self, name: str) -> list[str]:
        """All values of a multiple-choice field."""
        return list(self._fields.get(name, ()))

    def entered(self, prefix: str) -> Mapping[str, str]:
        """The texts of fields whose names start alike, as they were typed, by the rest of their names."""
        return {
            name.removeprefix(prefix): texts[0]
            for name, texts in self._fields.items()
            if name.startswith(prefix)
        }


def whole_of(text: str) -> int | None:
    """The whole number that a text is, as pages write one; None if it is none."""
    return int(re.sub(r"[^0-9]", "", text)) if _WHOLE.fullmatch(text) else None


def order(kind: type[Order], **values: object) -> Order:
    """Build the API's request model from form values; missing fields keep their defaults.

    Raises:
        FormInvalid: The model rejects a field.
    """
    given = {name: value for name, value in values.items() if value is not None}
    try:
        return kind.model_validate(given)
    except ValidationError as refusal:
        wrong = sorted({_place(problem["loc"], kind) for problem in refusal.errors()})
        listed = ", ".join(f"“{_shown(name)}”" for name in wrong)
        raise FormInvalid(
            f"The form is invalid: check {listed}.",
            remedy="Go back, correct these fields and submit the form again.",
            fields=wrong,
        ) from None


async def read_form(request: Request) -> Form:
    """Parse the form in the body of a request.

    Raises:
        MalformedRequest: The body is not a form.
    """
    sent = Message()
    sent["content-type"] = request.headers.get("content-type", "")
    if sent.get_content_type() != MEDIA_TYPE:
        raise MalformedRequest("The request body is not a form.", remedy="Load the page again.")
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
    """The field that a validation error is about, or the whole form if it concerns several."""
    return str(location[0]) if location and location[0] in kind.model_fields else "form"


def _shown(name: str) -> str:
    return name.removesuffix("_id").replace("_", " ")
