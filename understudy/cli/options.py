"""Options that several commands share."""

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
        help="API key for every role; else UNDERSTUDY_KEY or UNDERSTUDY_OWNER_KEY, _ADMIN_KEY, _ANALYST_KEY.",
    ),
]
DataFolderPath = Annotated[
    Path | None,
    typer.Option(
        "--data-folder", help="Data folder of the local stack; else UNDERSTUDY_DATA_FOLDER, else the user's."
    ),
]
Epsilon = Annotated[float, typer.Option("--epsilon", min=0, help="Epsilon of the job's guarantee.")]
Delta = Annotated[float, typer.Option("--delta", min=0, max=1, help="Delta of the job's guarantee.")]
DeclaredSize = Annotated[
    int | None,
    typer.Option(
        "--declared-size",
        min=1,
        help='Public number of people or records; else "declared_size" in the domain file.',
    ),
]
Synthesizer = Annotated[str, typer.Option("--synthesizer", help="How the generator is made.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="An option of the synthesizer; may be given several times."
    ),
]
