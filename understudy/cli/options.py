"""Options that several commands share."""

import math
from pathlib import Path
from typing import Annotated

import typer

Url = Annotated[
    str | None,
    typer.Option("--url", help="Address of a running service; else UNDERSTUDY_URL, else the local stack."),
]
Key = Annotated[
    str | None,
    typer.Option(
        "--key",
        help="API key for every role; else UNDERSTUDY_KEY or UNDERSTUDY_OWNER_KEY, _ADMIN_KEY, _ANALYST_KEY, else the"
        " local stack's.",
    ),
]
DataFolderPath = Annotated[
    Path | None,
    typer.Option(
        "--data-folder", help="Data folder of the local stack; else UNDERSTUDY_DATA_FOLDER, else the user's."
    ),
]
SMALLEST_EPSILON = 1e-6
LARGEST_EPSILON = 1000.0
SMALLEST_DELTA = 1e-12
MOST_ROWS = 10**12


def finite(number: float | None) -> float | None:
    """Refuse what is not a number: no comparison with a bound does."""
    if number is not None and not math.isfinite(number):
        raise typer.BadParameter("must be a finite number")
    return number


Epsilon = Annotated[
    float,
    typer.Option(
        "--epsilon",
        min=SMALLEST_EPSILON,
        max=LARGEST_EPSILON,
        callback=finite,
        help="Epsilon of the job's guarantee.",
    ),
]
Delta = Annotated[
    float,
    typer.Option("--delta", min=SMALLEST_DELTA, max=1, callback=finite, help="Delta of the job's guarantee."),
]
DeclaredSize = Annotated[
    int | None,
    typer.Option(
        "--declared-size",
        min=1,
        max=MOST_ROWS,
        help='Public number of people or records; else "declared_size" in the domain file.',
    ),
]
Synthesizer = Annotated[
    str, typer.Option("--synthesizer", help="How the generator is made: idpgan, aim or mst.")
]
NoReuse = Annotated[
    bool, typer.Option("--no-reuse", help="Take over no counts of earlier releases of the dataset.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="An option of the synthesizer; may be given several times."
    ),
]
Candidates = Annotated[
    list[str] | None,
    typer.Option(
        "--candidate",
        metavar="FILE|KEY=VALUE,...",
        help="A candidate of a selection, instead of --set: its options, a JSON file with them, or the word rules for "
        "what the public rules pick; given two to 32 times. --epsilon is then of the winner's training alone.",
    ),
]
SelectionEpsilon = Annotated[
    float | None,
    typer.Option(
        "--selection-epsilon",
        min=SMALLEST_EPSILON,
        max=LARGEST_EPSILON,
        callback=finite,
        help="Epsilon of every candidate's training on its part of the units.",
    ),
]
ChoiceEpsilon = Annotated[
    float | None,
    typer.Option(
        "--choice-epsilon",
        min=SMALLEST_EPSILON,
        max=LARGEST_EPSILON,
        callback=finite,
        help="Epsilon of the choice among the candidates.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Write the whole answer as JSON.")]
AlreadyJson = Annotated[bool, typer.Option("--json", help="Changes nothing: the answer is JSON in any case.")]
