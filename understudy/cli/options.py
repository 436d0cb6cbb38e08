"""Options that several commands share."""

import math
from pathlib import Path
from typing import Annotated, Any

import typer

Url = Annotated[
    str | None,
    typer.Option("--url", help="Address of a running service. Default: UNDERSTUDY_URL, or the local stack."),
]
Key = Annotated[
    str | None,
    typer.Option(
        "--key",
        help="API key for every role. Default: UNDERSTUDY_KEY, or UNDERSTUDY_OWNER_KEY, _ADMIN_KEY and _ANALYST_KEY, or the"
        " local stack's.",
    ),
]
DataFolderPath = Annotated[
    Path | None,
    typer.Option(
        "--data-folder",
        help="Data folder of the local stack. Default: UNDERSTUDY_DATA_FOLDER, or the user's.",
    ),
]
DatasetId = Annotated[str, typer.Argument(help="Name or id of the dataset.")]
SMALLEST_EPSILON = 1e-6
LARGEST_EPSILON = 1000.0
SMALLEST_DELTA = 1e-12
MOST_ROWS = 10**12


def finite(number: float | None) -> float | None:
    """Refuse NaN, which passes every comparison with a bound."""
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
        help="Epsilon of the job's guarantee: what one person's presence can change. Tens of thousands of people: start at 1 "
        "(docs/choosing-epsilon.md).",
    ),
]


def delta_option(meaning: str) -> Any:  # noqa: ANN401 - typer types its options so
    """Return the option `--delta`, with its meaning for a command."""
    return typer.Option("--delta", min=SMALLEST_DELTA, max=1, callback=finite, help=meaning)


Delta = Annotated[
    float, delta_option("Delta of the job's guarantee: far below one in the number of people, such as 1e-6.")
]
DefaultDelta = Annotated[
    float | None,
    delta_option(
        "Delta of the job. Default: a sixteenth of the cap's, of several caps the smallest; less where the grant has less left."
    ),
]
DeclaredSize = Annotated[
    int | None,
    typer.Option(
        "--declared-size",
        min=1,
        max=MOST_ROWS,
        help='Public number of people or records. Default: "declared_size" in the domain file.',
    ),
]
Synthesizer = Annotated[str, typer.Option("--synthesizer", help="Synthesizer: idpgan, aim or mst.")]
NoReuse = Annotated[
    bool, typer.Option("--no-reuse", help="Do not reuse counts of earlier releases of the dataset.")
]
OnDevice = Annotated[
    str,
    typer.Option(
        "--device",
        help="Kind of device to train on: auto (by a public rule and the workers that live), cpu or gpu.",
    ),
]
Model = Annotated[
    bool,
    typer.Option(
        "--model",
        help="Train a private classifier of the target or of the labels instead of a generator; --set then sets its options.",
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="auto|idpgan|anchor",
        help="Parts of the synthesizer idpgan: by public rules (auto, the default), the private critic alone (idpgan), or the noisy "
        "counts alone (anchor).",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set an option of the synthesizer. Repeatable."),
]
Candidates = Annotated[
    list[str] | None,
    typer.Option(
        "--candidate",
        metavar="FILE|KEY=VALUE,...",
        help="Candidate of a selection, instead of --set: options, a JSON file with options, or `rules` for the "
        "defaults. Give 2 to 32 of them; --epsilon then applies to training the winner alone.",
    ),
]
SelectionEpsilon = Annotated[
    float | None,
    typer.Option(
        "--selection-epsilon",
        min=SMALLEST_EPSILON,
        max=LARGEST_EPSILON,
        callback=finite,
        help="Epsilon of training each candidate on its part of the units.",
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
AsJson = Annotated[bool, typer.Option("--json", help="Print the whole answer as JSON.")]
AlreadyJson = Annotated[bool, typer.Option("--json", help="No effect: the output is always JSON.")]
TrustedKeys = Annotated[
    list[str] | None, typer.Option("--key", help="Trusted public signing key, hexadecimal. Repeatable.")
]
KeysFile = Annotated[
    Path | None,
    typer.Option("--keys", help="File of trusted keys, from `understudy signing-keys` or in PEM."),
]
