"""Files of fake records of a domain."""

from understudy.documents import Json
from understudy.dummies.files import MOST_PIXELS, MOST_ROWS, WRITERS, fake_images
from understudy.dummies.refusals import DummyRefusal
from understudy.dummies.values import fake_columns, fake_rows, require_condition
from understudy.sample_formats import IMAGE_FORMATS, formats_of


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
    wrong = require_condition(columns, where)
    if wrong is not None:
        raise DummyRefusal(422, "invalid-condition", wrong)
    made = fake_rows(columns, rows, where)
    if len(made) < rows:
        raise DummyRefusal(409, "condition-too-rare", "Hardly any fake row meets the condition.")
    return WRITERS[name](columns, made)
