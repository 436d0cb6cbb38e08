"""``understudy member``: train a model or a generator on the rows of one service as a member of a federation."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.answers import write_answer
from understudy.cli.jobs import job_line
from understudy.cli.options import AsJson
from understudy.cli.service import Service
from understudy.client import Client
from understudy.documents import take
from understudy.order_options import joined, parse_federation, terms_of
from understudy.wording.quotes import quote_lines


def member(
    dataset: Annotated[str, typer.Argument(help="Name or id of the dataset in the member's own service.")],
    join: Annotated[
        str, typer.Option("--join", help="Address of the federation: https://BOARD/v1/federations/ID.")
    ],
    token: Annotated[
        str,
        typer.Option(
            "--token", envvar="UNDERSTUDY_FEDERATION_TOKEN", help="The member's token, from the analyst."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Wait for the release, write its bundle to this file, and hand in its certificate."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the quote and order nothing.")] = False,
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Train a model or a generator with owners that train in services of their own (analyst, with a grant on the dataset).

    Rows stay in the member's service; weights or counts with noise leave it once a round. Its ledger is charged for its own noise alone. The
    same command given again goes on with the same order.
    """
    url, federation_id = parse_federation(join)
    with Client(url, key=token) as board, service.client("analyst") as client:
        membership = board.federations.read_membership(federation_id)
        epsilon, delta, name = take(membership, "epsilon", "delta", "member")
        model, options = terms_of(membership)
        federation = joined(url, token, membership)
        if dry_run:
            quote = client.ask_quote(
                dataset, epsilon=epsilon, delta=delta, model=model, options=options, federation=federation
            )
            write_answer(quote.document, quote_lines(quote), as_json=as_json)
            return
        job = client.order_job(
            dataset,
            epsilon=epsilon,
            delta=delta,
            model=model,
            options=options,
            federation=federation,
            idempotency_key=f"federation-{federation_id}-{name}",
        )
        if out is not None:
            release = job.wait(progress=not as_json)
            release.save(out)
            board.federations.hand_in_certificate(federation_id, client.read_certificate(release.id))
            job = client.read_job(job.id)
    write_answer(job.document, [job_line(job), *([] if out is None else [f"bundle: {out}"])], as_json=as_json)
