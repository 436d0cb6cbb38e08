"""``understudy ask``, ``check-rules`` and ``verify``: what a bundle says, offline."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.answers import write_answer
from understudy.cli.options import AsJson, KeysFile, TrustedKeys
from understudy.errors import InputUnusable, library_missing
from understudy.offline import ask as answered
from understudy.offline import check_rules as checked
from understudy.verifying.signatures import trusted_keys


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
        write_answer(answer.document, answer.lines(), as_json=as_json)


def check_rules(
    bundle: Annotated[Path, typer.Argument(help="The bundle file, bundle.zip.")], as_json: AsJson = False
) -> None:
    """Check offline which declared rules the noisy counts in a bundle contradict. It costs nothing.

    If a rule is contradicted, either it is wrong or training rows break it: correct one of them.
    """
    check = checked(bundle)
    write_answer(check.document, check.lines(), as_json=as_json)


def verify(
    bundle: Annotated[Path, typer.Argument(help="The bundle file, bundle.zip.")],
    key: TrustedKeys = None,
    keys: KeysFile = None,
    allow_unsigned: Annotated[
        bool,
        typer.Option(
            "--allow-unsigned", help="Accept an unsigned certificate, from training without a service."
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
    report = verify_bundle(bundle, public_keys=trusted_keys(key or (), keys), allow_unsigned=allow_unsigned)
    if as_json:
        print(report_json(report))
    else:
        for line in report.lines():
            print(line)
    raise typer.Exit(int(report.outcome))
