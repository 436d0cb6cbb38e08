"""Formats of synthetic records that the service offers for tables and for images."""

from collections.abc import Mapping

from understudy.documents import Json

TABLE_FORMATS = ("csv", "parquet", "jsonl", "arrow")
IMAGE_FORMATS = ("npz", "zip", "png")
"""Arrays, PNG files in a ZIP with a table of their labels, one contact sheet."""
FORMATS = TABLE_FORMATS + IMAGE_FORMATS
"""All of them; each is also the ending of such a file. The first of a kind is the usual one."""
_BY_SCHEMA: Mapping[str, tuple[str, ...]] = {"understudy.images/1": IMAGE_FORMATS}
_SHEET_COLUMNS = 8
_SHEET_PIXELS = 2**24
"""The service draws no larger contact sheet."""
_SHEET_GAP = 2


def formats_of(domain: Json) -> tuple[str, ...]:
    """Return the formats of what a declared domain describes, the usual one first."""
    return _BY_SCHEMA.get(str(domain.get("schema")), TABLE_FORMATS)


def sheet_images(domain: Json) -> int:
    """Return the number of images on a contact sheet that is easy to survey: eight per label."""
    pixels = (int(domain["height"]) + _SHEET_GAP) * (int(domain["width"]) + _SHEET_GAP)
    return min(_SHEET_COLUMNS * (len(domain["labels"]) or _SHEET_COLUMNS), _SHEET_PIXELS // pixels)
