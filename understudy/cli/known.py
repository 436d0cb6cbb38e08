"""``understudy known``: what the releases of a dataset already answer."""

from typing import Annotated

import typer

from understudy.cli.answers import tell
from understudy.cli.options import AsJson
from understudy.cli.service import Service
from understudy.known_counts import known_lines


def known(
    dataset: Annotated[str, typer.Argument(help="Id of the dataset.")],
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Say which counts the releases of a dataset hold, and how precise they are, before you ask for a budget.

    Asking them costs nothing, and a new job starts from them.
    """
    with service.client("analyst") as client:
        document = client.read_known_counts(dataset)
    tell(document, known_lines(document), as_json=as_json)
