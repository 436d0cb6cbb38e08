"""``understudy ask``: counts, means and shares with intervals, from the noisy counts in a bundle."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.answers import tell
from understudy.cli.options import AsJson
from understudy.errors import InputUnusable
from understudy.offline import ask as answered


def ask(
    bundle: Annotated[Path, typer.Argument(help="The bundle file, bundle.zip.")],
    question: Annotated[
        str,
        typer.Argument(
            help='Such as "age by sex where region = north", "mean of age by sex" or "share of sick = yes by ward".'
        ),
    ],
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the rows as CSV.")] = False,
    as_json: AsJson = False,
) -> None:
    """Answer a question from the noisy counts in a bundle, offline, with 95 % intervals. It costs nothing.

    A question may combine up to three columns. If they were not counted together, the answer is an estimate and states its
    assumption. For single numbers this is more precise than counting synthetic rows; the answer says how many
    synthetic rows would still be less precise.
    """
    if as_csv and as_json:
        raise InputUnusable("--csv and --json exclude each other")
    answer = answered(bundle, question)
    if as_csv:
        print(answer.to_csv(), end="")
    else:
        tell(answer.document, answer.lines(), as_json=as_json)
