"""``understudy precision`` and ``understudy figures``: how good a release is expected to be, in lines and as a page to share."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.answers import tell
from understudy.cli.options import AsJson
from understudy.cli.service import Service
from understudy.documents import Json, take
from understudy.quote_labels import expected_error_lines

ReleaseId = Annotated[str, typer.Argument(help="Id of the release.")]


def precision(release: ReleaseId, as_json: AsJson = False, *, service: Service) -> None:
    """Show the expected error of a release and the standard errors of its noisy counts. It costs nothing."""
    with service.any_client() as client:
        document = client.read_precision(release)
    tell(document, precision_lines(document), as_json=as_json)


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
    tell({"release_id": release, "written_to": written}, [f"released figures: {written}"], as_json=as_json)


def precision_lines(document: Json) -> list[str]:
    """Format a precision as lines, one a column.

    Args:
        document: as the service gave it.
    """
    size, counted, columns = take(document, "declared_size", "counted", "columns")
    lines = expected_error_lines(document)
    if counted is None:
        return [*lines, "  this release holds no noisy counts"]
    lines.append(f"  standard errors of the noisy counts ({counted}; declared size {size}):")
    for column in columns:
        error = column["standard_error"]
        known = "not counted" if error is None else f"±{error:,.1f} of each of {column['values']} counts"
        lines.append(f"    {column['name']}: {known}")
    return lines
