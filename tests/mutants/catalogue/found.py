"""Bugs that we had ourselves and that these proofs found: put back in, to see that they would be found again."""

from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        name="rounding-not-paid",
        path="models/dp/noise.py",
        before="by_group = group_noise_stds(noise_multiplier / (1.0 - share), partition)",
        after="by_group = group_noise_stds(noise_multiplier, partition)",
        bug="rounding to the grid moves the sums of neighbours apart by a little more than the noise is made for",
        source="ours, found by the laws of noise",
        killed_by="tests/privacy/laws/test_grid.py::test_rounding_the_sum_is_paid_for_by_the_noise",
    ),
    Mutant(
        name="one-word-for-rare-radii",
        path="models/randomness.py",
        before="        u[rare] = _logarithms(words[rare], finer)\n",
        after="        u[rare] = np.where(words[rare] < _RARE, _logarithms(words[rare], finer), u[rare])\n",
        bug="noise near nothing comes in steps that show on the grid",
        source="ours, found by the laws of noise",
        killed_by="tests/privacy/laws/test_accuracy.py::test_the_smallest_radii_follow_the_law",
    ),
    Mutant(
        name="company-changes-a-record",
        path="models/critic/chunks.py",
        before="            width = -(-shape[-1] // step) * step",
        after="            width = shape[-1] + 0 * step",
        bug="rows begin anywhere, so a matrix product rounds a record's gradient by who else is in the batch",
        source="ours, found by the proof of sensitivity",
        killed_by="tests/privacy/sensitivity/test_company.py::test_rows_begin_alike_in_every_buffer",
    ),
    Mutant(
        name="core-dump-of-rows",
        path="core/crashes.py",
        before="resource.setrlimit(resource.RLIMIT_CORE, (0, 0))",
        after="resource.getrlimit(resource.RLIMIT_CORE)",
        bug="a process that crashes with rows or keys in memory writes them to a file",
        source="ours, found by the canaries",
        killed_by="tests/privacy/leaks/test_canaries.py::test_processes_that_hold_rows_or_keys_leave_no_core[training]",
    ),
    Mutant(
        name="uploads-timed",
        path="service/metrics/recording.py",
        before="        if route not in _PACED_BY_ROWS:",
        after="        if route:",
        bug="the metrics tell how long an upload took, and so how many rows it has",
        source="ours, found by comparing neighbours",
        killed_by="tests/privacy/leaks/test_neighbours.py::test_a_number_of_requests_that_depends_on_the_size_of_an_upload_is_not_counted",
    ),
    Mutant(
        name="silence-has-a-code-of-its-own",
        path="core/jobs/endings.py",
        before="end(job, JobState.FAILED, at=clock.now(), failure_code=TRAINING_FAILED)",
        after='end(job, JobState.FAILED, at=clock.now(), failure_code="workers-fell-silent")',
        bug="everybody can tell a training that rows have killed from one that rows have failed",
        source="ours, found by the fault drill",
        killed_by="tests/core/jobs/test_claims.py::test_silent_workers_are_enough_at_some_point_and_charged_in_full",
    ),
    Mutant(
        name="published-at-once",
        path="workers/training.py",
        before="        outcome = self._held_back(outcome, edges, pulse)\n",
        after="        outcome = outcome if edges else self._held_back(outcome, edges, pulse)\n",
        bug="a release appears the moment its training is done",
        source="ours, found by the table of leak channels",
        killed_by="tests/privacy/leaks/test_completion_times.py::test_an_end_shows_at_an_edge_and_is_stamped_with_it",
    ),
)
