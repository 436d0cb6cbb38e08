"""Bugs that let something past the mechanisms: logs, progress, errors, answers, doors."""

from tests.mutants.mutant import Mutant

TRAINING = "models.idpgan.training"

MUTANTS = (
    Mutant(
        name="loss-in-the-log",
        module=TRAINING,
        function="Training._private_step",
        before="real = cells_of(self._table.codes[chosen], self._table.cardinalities)",
        after="""
            real = cells_of(self._table.codes[chosen], self._table.cardinalities)
            __import__("logging").getLogger("training").warning("step %d on %d records", step, len(real))
        """,
        bug="every step logs how many records it met",
        source="training telemetry: every research code; mostlyai-engine prints validation loss",
        killed_by="tests/privacy/mutants_killed/test_what_leaves.py::test_a_training_says_nothing",
    ),
    Mutant(
        name="progress-by-the-step",
        module="core.jobs.visible_progress",
        function="shown_steps",
        before="return min(step, total) * PARTS // total * total // PARTS if total > 0 else 0",
        after="return min(step, total) if total > 0 else 0",
        bug="progress is shown step by step, and how long a step takes depends on its batch",
        source="progress bars",
        killed_by="tests/service/test_progress.py::test_steps_are_shown_in_twentieths_as_they_were_last_shown",
    ),
    Mutant(
        name="end-told-at-once",
        module="core.jobs.visible_progress",
        function="Edges.next",
        before="return self._edge(passed) if passed > 0 and self._edge(passed) == at else self._edge(passed + 1)",
        after="return max(at, self._edge(passed))",
        bug="a job's end is visible the moment it comes",
        source="job durations as a side channel",
        killed_by="tests/core/jobs/test_visible_progress.py::test_edges_are_whole_buckets_after_the_claim_and_never_the_claim",
    ),
    Mutant(
        name="times-to-the-second",
        module="service.wire",
        function="coarse",
        before="return floor if floor == moment else floor + timedelta(minutes=1)",
        after="return moment.astimezone(UTC) + (floor - floor)",
        bug="answers tell to the microsecond when something ended",
        source="timestamps in APIs",
        killed_by="tests/service/test_datasets.py::test_times_are_no_finer_than_a_minute",
    ),
    Mutant(
        name="rows-in-the-metrics",
        module="service.metrics.deployment",
        function="Deployment._families",
        before="now = self._clock.now()",
        after="""
            now = self._clock.now()
            yield _gauge(
                "understudy_rows", "Rows.", session.scalar(select(func.count()).select_from(Budget)) or 0
            )
        """,
        bug="a metric counts rows",
        source="operational metrics of data size (Lomas ships Prometheus and Loki beside its queries)",
        killed_by="tests/service/test_metrics.py::test_rows_leave_no_trace_in_metrics",
    ),
    Mutant(
        name="row-count-in-an-answer",
        module="service.datasets.schemas",
        function="DatasetView.of",
        before="row.declared_size",
        after='(row.intake_report or {}).get("rows_accepted", row.declared_size)',
        bug="an analyst sees the exact number of rows in place of the declared size",
        source="exact n under add-or-remove: most libraries",
        killed_by="tests/service/test_canary.py::test_counts_of_rows_are_visible_to_the_owner_alone",
    ),
    Mutant(
        name="intake-report-for-analysts",
        module="service.datasets.endpoints",
        function="read_intake_report",
        before="report = waiting_rows.report_of(session, repository.owned(session, dataset_id, principal).id)",
        after="report = waiting_rows.report_of(session, repository.visible(session, dataset_id, principal).id)",
        bug="every reader of a dataset can see how many rows were refused, and why",
        source="data-quality reports shared with all users",
        killed_by="tests/service/test_roles.py::test_the_intake_report_is_for_the_owner_alone",
    ),
    Mutant(
        name="failure-note-for-analysts",
        module="service.jobs.repository",
        function="of_owner",
        before="query.where(Job.id == job_id, Dataset.owner_id == principal.id)",
        after="query.where(Job.id == job_id, visible_to(principal))",
        bug="the text of a failure among private rows is shown to the analyst who ordered",
        source="tracebacks in answers: Lomas, and every notebook service",
        killed_by="tests/service/test_deleting.py::test_the_note_on_a_failure_is_for_the_owner_alone",
    ),
    Mutant(
        name="text-of-an-exception-in-an-answer",
        module="service.edge.last_resort",
        function="LastResort.__call__",
        before="StorageUnavailable() if full else InternalError()",
        after="""
            StorageUnavailable() if full else [
                told.facts.update(cause=str(failure)) or told for told in (InternalError(),)
            ][0]
        """,
        bug="what a library says of a value it could not read goes to the caller",
        source="InternalServerException(str(e)): Lomas",
        killed_by="tests/service/test_problems.py::test_what_nobody_expected_is_a_constant",
    ),
    Mutant(
        name="text-of-an-exception-in-the-log",
        module="core.logs",
        function="_class_of_exception_only",
        before='event["exception"] = type(error).__name__',
        after='event["exception"] = repr(error)',
        bug="log lines quote what exceptions quote, values included",
        source="default logging of exceptions",
        killed_by="tests/workers/test_app.py::test_libraries_are_logged_by_name_without_their_words",
    ),
    Mutant(
        name="which-failure-in-the-log",
        module="workers.child",
        function="Outcome.public",
        before="return Outcome.DATA if self in CHARGED_IN_FULL else self",
        after="return self",
        bug="the log reveals whether rows were too many or merely bad",
        source="data-dependent failures with distinct codes",
        killed_by="tests/privacy/mutants_killed/test_what_leaves.py::test_failures_that_rows_may_cause_have_one_word",
    ),
    Mutant(
        name="sampler-opens-private-rows",
        module="core.artifacts.sampling.sampler",
        function="",
        before="import numpy as np",
        after="""
            import numpy as np
            import core.data.private_rows
        """,
        bug="the process that serves samples can open private rows",
        source="rejection or conditioning with real rows",
        killed_by="tests/workers/test_app.py::test_only_the_training_child_opens_private_rows",
    ),
)
