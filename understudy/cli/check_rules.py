"""``understudy check-rules``: which declared rules between columns the noisy counts in a bundle contradict."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.answers import tell
from understudy.cli.options import AsJson
from understudy.rules import check_rules as checked


def check_rules(
    bundle: Annotated[Path, typer.Argument(help="The bundle file, bundle.zip.")],
    as_json: AsJson = False,
) -> None:
    """Say which declared rules between columns the noisy counts in a bundle contradict, offline. It costs nothing.

    A contradicted rule is wrong, or rows that were trained on break it: correct the one or the other.
    """
    check = checked(bundle)
    tell(check.document, check.lines(), as_json=as_json)
