"""``understudy report``: the owner report, which compares a release with the real rows for their owner alone."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.answers import tell
from understudy.cli.options import AsJson
from understudy.cli.service import Service

WARNING = (
    "NOT differentially private: for you alone; whatever you publish because of it is outside the promise"
)


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
    tell(document, [f"owner report: {file.resolve()}", WARNING], as_json=as_json)
