"""``understudy verify``: whether a bundle is what its certificate states, offline."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.errors import library_missing
from understudy.verifying.signatures import key_of_text, keys_of_file


def verify(
    bundle: Annotated[Path, typer.Argument(help="The bundle file, bundle.zip.")],
    key: Annotated[
        list[str] | None,
        typer.Option("--key", help="Trusted public signing key, hexadecimal. Repeatable."),
    ] = None,
    keys: Annotated[
        Path | None,
        typer.Option("--keys", help="File of trusted keys, from `understudy signing-keys` or in PEM."),
    ] = None,
    allow_unsigned: Annotated[
        bool,
        typer.Option(
            "--allow-unsigned",
            help="Accept an unsigned certificate, from training without a service.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole report as JSON.")] = False,
) -> None:
    """Verify a bundle offline: signature, digests of all files, that the plan was run, and epsilon, recomputed.

    Needs the extra `audit`. A bundle cannot vouch for its own key: give the keys that you trust, taken from the service
    itself.

    Exit status: 0 if everything holds; 1 if the file cannot be read as a bundle; 3 if something does not hold; 4 if
    everything that can be computed holds, but no trusted key has signed it.
    """
    try:
        from understudy.verifying.verification import report_json, verify_bundle
    except ImportError as error:
        raise library_missing("verifying", error.name, extra="audit") from None
    trusted = [key_of_text(text) for text in key or []]
    if keys is not None:
        trusted += keys_of_file(keys)
    report = verify_bundle(bundle, public_keys=trusted, allow_unsigned=allow_unsigned)
    if as_json:
        print(report_json(report))
    else:
        for line in report.lines():
            print(line)
    raise typer.Exit(int(report.outcome))
