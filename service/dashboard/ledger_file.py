"""The ledger of one population as CSV, newest entries first, one batch per short transaction."""

import csv
import io
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final
from uuid import UUID

from fastapi import APIRouter, Response

from core.ledger import ledger_queries
from core.ledger.ledger_queries import entry_json
from core.plan.domain.spreadsheet import plain_cell
from service.budgets.endpoints import read_ledger
from service.dashboard.visit import CurrentVisit, Visit
from service.datasets.endpoints import read_dataset
from service.edge.streaming import Pieces

BATCH: Final = 1000
COLUMNS: Final = (
    "sequence", "at", "kind", "job_id", "grant_id", "epsilon", "delta", "by", "reason", "outcome", "previous_hash", "hash",
)  # fmt: skip

router = APIRouter(include_in_schema=False)


@router.get("/datasets/{dataset_id}/ledger.csv")
def ledger_file(dataset_id: UUID, visit: CurrentVisit) -> Response:
    """Stream all entries as CSV for spreadsheets. The hashes cover the JSON statement, which contains more."""
    dataset = visit.ask(read_dataset, dataset_id=dataset_id)
    visit.require(read_ledger)
    return visit.context.sampling.streams.answer(
        _pieces(visit, dataset.population_id),
        media_type="text/csv",
        headers={"Content-Disposition": f'attachment; filename="ledger-{dataset_id}.csv"'},
    )


def _pieces(visit: Visit, population_id: UUID) -> Pieces:
    yield ",".join(COLUMNS).encode() + b"\n"
    before: int | None = None
    while True:
        newest = partial(ledger_queries.page, population_id=population_id, limit=BATCH, before=before)
        entries, before = visit.read(newest)
        yield _lines(entry_json(entry) for entry in entries)
        if before is None:
            return


def _lines(entries: Iterator[Mapping[str, Any]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n", extrasaction="ignore", restval="")
    for entry in entries:
        together = {**entry.get("terms", {}), **entry}
        # People write the reasons, so a reason could be a spreadsheet formula.
        values = {name: together.get(name) for name in COLUMNS}
        writer.writerow(
            {name: "" if value is None else plain_cell(str(value)) for name, value in values.items()}
        )
    return text.getvalue().encode()
