"""Error messages, logs, metrics, names, traces, artefacts, temporary files and dumps: no canary in any of them.

The canaries are words in private rows and the number of rows. They went through an upload, a training that was shot down and
resumed, and one that failed among the rows and said all it could about them.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from sqlalchemy import text

from core import tracing
from core.data.objects import open_store
from core.logs import get_logger
from service.datasets.schemas import DatasetView
from tests.privacy.leaks import places
from tests.privacy.leaks.answers import read_all
from tests.privacy.leaks.canaries import COUNT, PERSON, TEXTS, WARD, found_in, in_text
from tests.privacy.leaks.stage import Watch, captured
from tests.privacy.leaks.table import REFUSED
from tests.workers.support import environment_of

PLACES = ("log", "spans", "answers", "database", "objects", "files")


def test_the_canaries_were_really_there(played):
    """Their owner is told: how many rows there are, and what the failed training said."""
    report, note = played["canaries"].report, played["canaries"].note
    assert (report["rows_accepted"], report["rows_refused"]) == (COUNT, REFUSED)
    assert f"{PERSON}0" in note
    assert {PERSON, str(COUNT), f"{COUNT:,}", f"{COUNT:x}"} <= set(in_text(note))
    assert {PERSON, str(COUNT), f"{COUNT:,}", f"{COUNT:x}"} <= set(in_text(played["canaries"].sealed))


@pytest.mark.parametrize("place", PLACES)
def test_no_canary_is_anywhere(played, place):
    things = played["canaries"].looked_at[place]
    assert things, "nothing was looked at"
    assert {name for name, _ in found_in(things)} <= set(places.OWNERS_OWN)


def test_nor_is_it_in_what_changes_and_deletions_said(played):
    one = played["canaries"]
    assert not list(found_in(places.in_answers(one.answers)))
    assert not list(found_in(places.in_log(one.stage.log)))
    assert not list(found_in(places.in_spans(one.stage.exported.get_finished_spans())))


def test_no_canary_was_in_a_file_while_it_ran(played):
    for watch in played["canaries"].stage.watches:
        assert watch.seen > 0
        assert not watch.found
        assert not [name for name in watch.names if in_text(name)]


def test_no_word_is_in_the_files_of_the_servers(played, server_folder):
    """Of the database with its write-ahead log, and of the broker; their own logs are among them."""
    assert (server_folder / "postgres.log").exists()
    assert not places.words_in_files(server_folder, TEXTS)


def test_columns_that_hold_counts_are_listed_and_no_others(played):
    """A line of the list that is not needed any more has to go."""
    cells = played["canaries"].looked_at["database"]
    assert {name for name, _ in found_in(cells)} == set(places.OWNERS_OWN)


def test_a_failure_among_the_rows_is_reported_as_a_constant(played):
    stage = played["canaries"].stage
    log = stage.log.read_text()
    assert '"outcome": "vanished"' in log, "the first attempt was shot down"
    assert '"outcome": "data"' in log
    assert "ValueError" not in log
    assert "Traceback" not in log
    assert "Fatal Python error" not in log, "what prints the stack of a crash leads nowhere"


def test_a_crash_leaves_no_core_and_nothing_for_a_debugger(played):
    folder = played["canaries"].stage.folder
    assert not [
        path
        for path in (*folder.rglob("core*"), *Path.cwd().glob("core*"))
        if path.is_file() and path.name.startswith("core.")
    ]


class TestPlanted:
    """One leak of each kind, in the real part that would have it. Each test must see it: that is their power."""

    def test_in_a_log_line(self, tmp_path):
        with captured(tmp_path / "log"):
            get_logger().info("rows-opened", rows=COUNT)
        assert [hit for _, hit in found_in(places.in_log(tmp_path / "log"))] == [str(COUNT)]

    def test_printed_by_a_library(self, tmp_path):
        with captured(tmp_path / "log"):
            print(f"reading {COUNT:,} rows", file=sys.stderr)  # noqa: T201
        assert list(found_in(places.in_log(tmp_path / "log")))

    def test_in_a_span(self):
        exported = InMemorySpanExporter()
        provider = tracing.provider_of("test")
        provider.add_span_processor(SimpleSpanProcessor(exported))
        with provider.get_tracer("test").start_as_current_span("attempt") as span:
            span.set_attribute("understudy.outcome", f"no code for {WARD}")
        assert list(found_in(places.in_spans(exported.get_finished_spans())))

    def test_in_an_answer(self, played, monkeypatch):
        real = DatasetView.of

        def leaking(row, *, rule):
            return real(row, rule=rule).model_copy(update={"declared_size": COUNT})

        monkeypatch.setattr(DatasetView, "of", leaking)
        told = read_all(played["canaries"].stage, only={"read_dataset"})
        assert [hit for _, hit in found_in(places.in_answers(told))].count(str(COUNT)) >= 1

    @pytest.mark.parametrize("change", ["failure_code = :word", "plan_digest = :count"])
    def test_in_a_column(self, played, change):
        with (
            played["canaries"].stage.world.database.engine.connect() as connection,
            connection.begin() as change_only,
        ):
            told = {"word": WARD, "count": hex(COUNT)}
            connection.execute(text(f"UPDATE jobs SET {change} WHERE state = 'failed'"), told)
            found = {name for name, _ in found_in(places.in_database(connection))} - set(places.OWNERS_OWN)
            change_only.rollback()
        assert found == {f"jobs.{change.split()[0]}"}

    def test_in_an_object_and_in_its_name(self):
        store = open_store("memory://")
        store.put_bytes("jobs/state.bin", COUNT.to_bytes(8, "little"))
        store.put_bytes(f"jobs/rows-{COUNT}.sealed", b"")
        assert len(list(found_in(places.in_objects(store)))) == 2

    def test_in_an_object_of_json(self):
        store = open_store("memory://")
        store.put_bytes("jobs/state.json", f'{{"rows": {COUNT}}}'.encode())
        assert list(found_in(places.in_objects(store))) == [("jobs/state.json", str(COUNT))]

    def test_in_a_temporary_file_of_text(self, tmp_path):
        (tmp_path / "planted").write_text(f"rows: {COUNT}")
        watch = Watch(tmp_path)
        watch.look_once()
        assert watch.found == [("planted", str(COUNT))]

    @pytest.mark.parametrize("unlinked", [False, True])
    def test_in_a_temporary_file_of_a_moment(self, tmp_path, unlinked):
        make = tempfile.TemporaryFile if unlinked else tempfile.NamedTemporaryFile
        watch = Watch(tmp_path)
        with make(dir=tmp_path) as file:
            file.write(f"{PERSON}1,A".encode())
            file.flush()
            watch.look_once()
        assert watch.found
        assert not list(tmp_path.iterdir())

    def test_in_the_files_of_a_server(self, tmp_path):
        (tmp_path / "postgres.log").write_text(f"Failing row contains ({WARD})")
        assert places.words_in_files(tmp_path, TEXTS)


@pytest.mark.parametrize(
    "spelled",
    [
        f"{COUNT}", f"{COUNT:,}", f"{COUNT:_}", "103.963", "103 963", "103'963", f"{COUNT:x}", f"{COUNT:X}", f"{COUNT:#x}",
        f"{COUNT:e}", f"{COUNT}.0", f"rows={COUNT};", f'"{COUNT}"', f"[{COUNT}]", f"0000{COUNT:x}",
    ],
)  # fmt: skip
def test_the_count_is_found_however_it_is_spelled(spelled):
    assert in_text(spelled)


@pytest.mark.parametrize(
    "innocent",
    [
        f"{COUNT}0", f"1{COUNT}", f"0.{COUNT}", f"a{COUNT}", f"2026-03-01T12:00:00.{COUNT}Z", "0a1b2c3d-1961-4961-8b1b-0000103963ff",
        "00000000-0000-4000-8000-000000103963", f"ab{COUNT}cdef0123", "110000",
    ],
)  # fmt: skip
def test_digits_inside_of_ids_times_and_other_numbers_are_not_the_count(innocent):
    assert not in_text(innocent)


@pytest.mark.parametrize(
    "starting",
    [
        "import service.asgi",
        "import workers.app; from celery.signals import setup_logging; setup_logging.send(sender=None)",
        "from workers.child import close_side_doors; close_side_doors()",
    ],
    ids=["api", "worker", "training"],
)
def test_processes_that_hold_rows_or_keys_leave_no_core(starting, settings):
    """An API that crashes in an upload has rows in memory, a worker the keys; the kernel would write both to a file."""
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, resource.getrlimit(resource.RLIMIT_CORE)[1]))\n"
        f"{starting}\nprint(resource.getrlimit(resource.RLIMIT_CORE))"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], env=environment_of(settings), cwd=Path(__file__).parents[3], capture_output=True,
        text=True, check=True, timeout=600,
    )  # fmt: skip
    assert told.stdout.split("\n")[-2] == "(0, 0)"
