"""``understudy known``: counts already available from a dataset's releases."""

from typing import Annotated

import typer

from understudy.cli.answers import tell
from understudy.cli.options import AsJson
from understudy.cli.service import Service
from understudy.documents import Json, take


def known(
    dataset: Annotated[str, typer.Argument(help="Id of the dataset.")],
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Show the released counts of a dataset and their precision.

    They cost nothing to query, and a new job starts from them, so look here before you request budget.
    """
    with service.client("analyst") as client:
        document = client.read_known_counts(dataset)
    tell(document, known_lines(document), as_json=as_json)


def known_lines(document: Json) -> list[str]:
    """Format known counts as a few lines, the most precise release first.

    Args:
        document: as the service gave it.
    """
    (releases,) = take(document, "releases")
    if not releases:
        return ["no release of this dataset holds counts that you may read"]
    return [line for release in releases for line in _lines(release)]


def _lines(release: Json) -> list[str]:
    name, columns, pairs, groups = take(release, "release_id", "columns", "pairs", "most_groups")
    by_class, column, pair = take(release, "by_class", "column_std", "pair_std")
    as_if, delta, holds = take(release, "epsilon_as_if", "delta", "holds")
    within = "" if by_class is None else f", also within each class of '{by_class}'"
    held = f"; includes the counts of {len(holds)} earlier" if holds else ""
    noise = f"  noise of a typical count: {column:.1f} records of a column"
    if pair is not None:
        most = "at most " if pairs is None else ""
        noise += f", {most}{pair:.1f} of a pair (at most about {groups} groups per column)"
    return [
        f"release {name}: equivalent to spending epsilon {as_if:.2f} on counts (delta {delta:g}){held}",
        f"  {columns} columns and {'chosen' if pairs is None else pairs} pairs{within}",
        noise,
    ]
