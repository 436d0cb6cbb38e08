"""Files of fake records of a domain."""

from typing import Any, Final

from understudy.documents import Json
from understudy.dummies.files import MOST_PIXELS, MOST_ROWS, WRITERS, fake_images
from understudy.dummies.refusals import DummyRefusal
from understudy.dummies.values import FakeColumn, fake_columns, fake_rows, settled
from understudy.errors import InvalidInput, library_missing
from understudy.sample_formats import IMAGE_FORMATS, formats_of

_BLOCK: Final = 2**10
_TRIED: Final = 2**14
_RAREST: Final = 1 / 1000
"""As a service refuses conditions that hardly a row meets."""


def dummy_file(domain: Json, *, rows: int, file_format: str | None, where: Json) -> bytes:
    """Draw a whole file of fake records; without a format in the usual one.

    Raises:
        DummyRefusal: they are not written so, are too many, or cannot be fixed so.
    """
    images = formats_of(domain) == IMAGE_FORMATS
    possible = ("npz",) if images else tuple(WRITERS)
    name = file_format or possible[0]
    if name not in possible:
        raise DummyRefusal(
            409, "format-not-for-release", f"Dummy mode writes: {', '.join(possible)}.", formats=[*possible]
        )
    if rows > MOST_ROWS:
        raise DummyRefusal(413, "too-large", f"Dummy mode draws at most {MOST_ROWS} rows at once.")
    if images:
        label = where.get("label")
        if set(where) - {"label"} or (label is not None and str(label) not in domain["labels"]):
            raise DummyRefusal(422, "invalid-condition", "Of images only a declared label can be fixed.")
        if rows * int(domain["height"]) * int(domain["width"]) * int(domain["channels"]) > MOST_PIXELS:
            raise DummyRefusal(413, "too-large", "Dummy mode draws fewer images at once.")
        return fake_images(domain, rows, None if label is None else str(label))
    columns = fake_columns(domain)
    made = _rows_where(domain, columns, rows, where) if where else fake_rows(columns, [{}] * rows)
    return WRITERS[name](columns, made)


def _rows_where(
    domain: Json, columns: tuple[FakeColumn, ...], rows: int, where: Json
) -> list[dict[str, Any]]:
    """Draw fake rows under conditions, which the engine reads.

    Raises:
        DummyRefusal: a service would refuse them, or hardly a fake row meets them.
        NotInstalled: the engine is missing.
    """
    try:
        from understudy.local.sampling.dummy_conditions import DummyConditions
    except ModuleNotFoundError as error:
        raise library_missing("A condition on fake rows", error.name, extra="offline") from None
    try:
        conditions = DummyConditions.read(settled(domain), where)
    except InvalidInput as no:
        raise DummyRefusal(no.status, no.code, no.detail, **no.facts) from None
    made: list[dict[str, Any]] = []
    tried = 0
    while len(made) < rows:
        if tried >= _TRIED and len(made) < tried * _RAREST:
            raise DummyRefusal(409, "condition-too-rare", "Hardly any fake row meets the condition.")
        made += conditions.met(fake_rows(columns, conditions.values(_BLOCK)))
        tried += _BLOCK
    return made[:rows]
