"""What the commands say of the conditions of samples."""

from contextlib import suppress

from understudy.client import Client
from understudy.documents import Json, take
from understudy.errors import Refused

FIX = "Fix modelled columns to values of their domain, such as --where sick=yes, or --where COLUMN=null for a missing value."
"""What to do where a condition cannot be met, in the form of the command line."""
_BINNED = frozenset({"numeric", "date", "datetime"})


def bin_note(name: str, value: object, bounds: str | None) -> str:
    """Say that a value is drawn within its bin.

    Args:
        name: of the column.
        value: as it was given.
        bounds: of the bin; None where they are not known.
    """
    within = "" if bounds is None else f", {bounds}"
    return f"{name}={value} fixes its bin{within}: each row has a value drawn within it."


def declared_bin_notes(client: Client, release: str, where: Json) -> list[str]:
    """Say so of the columns of a release of the service, of which the release alone holds bins that were learnt.

    Args:
        client: a client that may see the release.
        release: its id.
        where: columns that are fixed, with their values.
    """
    columns: list[Json] = []
    with suppress(Refused):  # who may draw may not be allowed to read the declaration
        dataset = client.read_dataset(client.read_release(release).dataset_id)
        (domain,) = take(dataset.document, "domain")
        columns = domain.get("columns", [])
    return [
        bin_note(name, where[name], None)
        for column in columns
        for name in (column["name"], f"{column['name']}.difference")
        if column.get("kind") in _BINNED
        and where.get(name) is not None
        and where[name] not in column.get("specials", ())
    ]
