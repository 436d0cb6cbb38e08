"""``understudy precision``, ``figures``, ``report`` and ``known``: how good a release is, and what all releases already state."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.answers import write_answer
from understudy.cli.options import AsJson, DatasetId
from understudy.cli.service import Service
from understudy.documents import Json, take
from understudy.wording.quotes import expected_error_lines

REPORT_WARNING = (
    "NOT differentially private: for you alone; whatever you publish because of it is outside the promise"
)

ReleaseId = Annotated[str, typer.Argument(help="Id of the release.")]


def precision(release: ReleaseId, as_json: AsJson = False, *, service: Service) -> None:
    """Show the expected error of a release and the standard errors of its noisy counts. It costs nothing."""
    with service.any_client() as client:
        document = client.read_precision(release)
    write_answer(document, precision_lines(document), as_json=as_json)


def figures(
    release: ReleaseId,
    out: Annotated[Path, typer.Option("--out", help="HTML file to write.")] = Path("figures.html"),
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Write the released figures as one HTML file to pass on: guarantee in words, expected error, pictures. It costs nothing."""
    with service.any_client() as client:
        client.download_figures(release, out)
    written = str(out.resolve())
    write_answer(
        {"release_id": release, "written_to": written}, [f"released figures: {written}"], as_json=as_json
    )


def precision_lines(document: Json) -> list[str]:
    """Format a precision as lines, one a column."""
    size, counted, columns, hidden = take(document, "declared_size", "counted", "columns", "hidden")
    lines = [*(f"WARNING: {line}" for line in hidden), *expected_error_lines(document)]
    if counted is None:
        return [*lines, "  this release holds no noisy counts"]
    lines.append(f"  standard errors of the noisy counts ({counted}; declared size {size}):")
    for column in columns:
        error = column["standard_error"]
        known = "not counted" if error is None else f"±{error:,.1f} of each of {column['values']} counts"
        lines.append(f"    {column['name']}: {known}")
    return lines


def report(
    release: Annotated[str, typer.Argument(help="Id of a release of your dataset.")],
    out: Annotated[Path, typer.Option("--out", help="HTML file to write, readable by you only.")] = Path(
        "sealed-report.html"
    ),
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            help="Column to predict from the others. Default: the domain's target, else the last of the columns with the fewest declared values.",
        ),
    ] = None,
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Compare a release with the real rows and write the owner report (owner). It costs no budget."""
    with service.client("owner") as client:
        ordered = client.reports.order(release, target=target)
        made = ordered if ordered.ended else client.reports.wait(ordered.id)
        file = client.reports.download(made.id, out)
    document = {**made.document, "written_to": str(file.resolve())}
    write_answer(document, [f"owner report: {file.resolve()}", REPORT_WARNING], as_json=as_json)


def known(dataset: DatasetId, as_json: AsJson = False, *, service: Service) -> None:
    """Show the released counts of a dataset and their precision.

    They cost nothing to query, and a new job starts from them, so look here before you request budget.
    """
    with service.client("analyst") as client:
        document = client.read_known_counts(dataset)
    write_answer(document, known_lines(document), as_json=as_json)


def known_lines(document: Json) -> list[str]:
    """Format known counts as a few lines, the most precise release first."""
    (releases,) = take(document, "releases")
    if not releases:
        return ["no release of this dataset holds counts that you may read"]
    return [line for release in releases for line in _known_lines(release)]


def _known_lines(release: Json) -> list[str]:
    name, columns, pairs, groups = take(release, "release_id", "columns", "pairs", "most_groups")
    by_class, column, pair = take(release, "by_class", "column_std", "pair_std")
    as_if, delta, holds = take(release, "epsilon_as_if", "delta", "holds")
    within = "" if by_class is None else f", also within each class of '{by_class}'"
    held = f"; includes the counts of {len(holds)} earlier" if holds else ""
    noise = f"  noise of a typical count: {column:.1f} records of a column"
    if pair is not None:
        most = "at most " if pairs is None else ""
        noise += f", {most}{pair:.1f} of a pair (at most about {groups} groups per column, up to twice as many without an order)"
    return [
        f"release {name}: equivalent to spending epsilon {as_if:.2f} on counts (delta {delta:g}){held}",
        f"  {columns} columns and {'chosen' if pairs is None else pairs} pairs{within}",
        noise,
    ]
