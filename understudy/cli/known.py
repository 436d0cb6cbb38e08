"""``understudy known``: what the releases of a dataset already answer."""

from typing import Annotated

import typer

from understudy.cli.answers import tell
from understudy.cli.options import AsJson, DataFolderPath, Key, Url
from understudy.connection import find_connection
from understudy.known_counts import known_lines


def known(
    dataset: Annotated[str, typer.Argument(help="Id of the dataset.")],
    as_json: AsJson = False,
    url: Url = None,
    key: Key = None,
    data_folder: DataFolderPath = None,
) -> None:
    """Say which counts the releases of a dataset hold, and how precise they are, before you ask for a budget.

    Asking them costs nothing, and a new job starts from them.
    """
    connection = find_connection(url=url, key=key, data_folder=data_folder)
    with connection.client("analyst") as client:
        document = client.read_known_counts(dataset)
    tell(document, known_lines(document), as_json=as_json)
