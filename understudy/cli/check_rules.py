"""``understudy check-rules``: which declared rules between columns the noisy counts in a bundle contradict."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.answers import tell
from understudy.cli.options import AsJson
from understudy.offline import check_rules as checked


def check_rules(
    bundle: Annotated[Path, typer.Argument(help="The bundle file, bundle.zip.")],
    as_json: AsJson = False,
) -> None:
    """Check offline which declared rules the noisy counts in a bundle contradict. It costs nothing.

    If a rule is contradicted, either it is wrong or training rows break it: correct one of them.
    """
    check = checked(bundle)
    tell(check.document, check.lines(), as_json=as_json)
