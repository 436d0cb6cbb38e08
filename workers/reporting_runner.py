"""The child that makes a sealed report: `python -m workers.reporting_runner REPORT_ID FENCE --parent PID`.

It opens private rows, compares them with rows drawn from the release, and stores one file, sealed for the owner of the
rows. Like a training's child it says nothing but an exit code (workers.child). What goes wrong among the rows is
written into the file in the report's place, so that to everybody but its owner it looks like any report. No ledger
entry goes before it, because nothing leaves it that anybody but the owner can open.
"""

import sys
import traceback
from collections.abc import Sequence
from contextlib import closing, suppress
from uuid import UUID

from core.db.session import Database
from core.domain.table import TableDomain
from core.releases.bundle import unpack
from core.releases.errors import BundleInvalid
from core.releases.sampler import Sampler
from core.reports.coded_rows import coded_rows
from core.reports.columns import columns_of
from core.reports.sealed_contents import measure
from core.reports.sealed_files import report_key, write_report
from core.reports.sealed_page import render, render_failure
from core.reports.sealed_size import most_bytes
from core.settings import Settings
from core.storage.objects import ObjectStore, open_store
from core.storage.private_rows import open_private_rows
from workers.attempt import AttemptEnded, machinery, storage
from workers.child import run_child
from workers.lifeline import limit_memory
from workers.outcomes import ExitCode
from workers.reporting_work import ReportWork, read_report_work


def make(settings: Settings, *, database: Database, store: ObjectStore, report_id: UUID, fence: int) -> None:
    """Make the report of a claim and store it, sealed, where its parent names it.

    Args:
        settings: What the operator set.
        database: Where the claim is.
        store: Where rows, bundles and reports are.
        report_id: The claimed report.
        fence: The claim's fence.

    Raises:
        AttemptEnded: Why there is none.
    """
    with machinery():
        work = read_report_work(database, report_id=report_id, fence=fence, master_keys=settings.master_keys)
        bundle = store.get_bytes(work.bundle_key)
    try:
        html = _written(work, store, bundle)
    except AttemptEnded:
        raise
    except Exception as error:  # noqa: BLE001 - its text goes to the owner, sealed; nobody else learns that there was one
        html = render_failure(work.subject, "".join(traceback.format_exception(error)))
    key = report_key(work.dataset_id, report_id, fence)
    room = max(most_bytes(columns_of(domain)) for domain in _domains(work, bundle))
    try:
        with machinery():
            write_report(store, key, html, data_key=work.data_key, room=room)
    except AttemptEnded:
        raise
    except Exception:  # noqa: BLE001 - how much memory is left may depend on rows: no log says when, or of which class
        raise AttemptEnded(ExitCode.DATA) from None


def _domains(work: ReportWork, bundle: bytes) -> list[TableDomain]:
    """The declared domain and, where something of it is learnt, the release's, whose words may be longer; both public."""
    if not work.domain.learnt:
        return [work.domain]
    with suppress(BundleInvalid):
        return [work.domain, TableDomain.from_json(unpack(bundle).domain)]
    return [work.domain]


def _written(work: ReportWork, store: ObjectStore, bundle: bytes) -> str:
    with storage():
        rows = open_private_rows(store, work.rows_key, work.data_key, work.domain)
        opened = unpack(bundle)
        # The release's own: what is learnt of a declared domain differs from release to release.
        domain = TableDomain.from_json(opened.domain)
        codes, units = coded_rows(rows, domain)
    sampler = Sampler(opened)
    contents = measure(codes, units, sampler.codes, columns_of(domain), target=work.target)
    return render(work.subject, contents)


def run(settings: Settings, report_id: UUID, fence: int) -> None:
    """Make this process ready for a claim's report, and make it.

    Args:
        settings: What the operator set.
        report_id: The claimed report.
        fence: The claim's fence.

    Raises:
        AttemptEnded: Why there is none.
    """
    limit_memory(settings.training_memory_bytes)
    with closing(Database(settings.database_url, pool_size=1, max_overflow=1)) as database:
        store = open_store(settings.storage_url)
        make(settings, database=database, store=store, report_id=report_id, fence=fence)


def main(words: Sequence[str]) -> ExitCode:
    """Make one report in this process, which is then of no further use.

    Args:
        words: The command line without the program.
    """
    return run_child(words, run, program="workers.reporting_runner", claimed="report_id")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
