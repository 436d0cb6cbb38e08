"""Bugs in the life of a job: claims, ends, resumption, publication."""

from tests.mutants.mutant import Mutant

CLAIMS = "core/jobs/claims.py"
ENDINGS = "core/jobs/endings.py"

MUTANTS = (
    Mutant(
        name="claimed-without-spending",
        path=CLAIMS,
        before="elif _spent(session, job, clock=clock):",
        after="elif job.plan:",
        bug="rows are opened on a reservation, which can still be given back",
        source="spend after the query: Lomas",
        killed_by="tests/core/jobs/test_claims.py::test_claiming_spends_before_anything_else",
    ),
    Mutant(
        name="altered-plan-runs",
        path=CLAIMS,
        before="plan.digest() == job.plan_digest and mechanisms.to_json(plan.mechanism) == paid",
        after="plan.digest() == job.plan_digest and paid",
        bug="what runs is the job's row, whatever was reserved for it",
        source="parameters and account kept in two places",
        killed_by="tests/core/jobs/test_claims.py::TestAlteredPlans::test_not_even_with_a_matching_digest",
    ),
    Mutant(
        name="fence-ignored",
        path="core/jobs/leases.py",
        before=(
            "    job = repository.lock(session, claim.job_id)\n"
            "    if job.fence != claim.fence or job.state != JobState.RUNNING:"
        ),
        after="    job = repository.lock(session, claim.job_id)\n    if job.state != JobState.RUNNING:",
        bug="a worker that lost its lease can still publish or end the job of another",
        source="locks that expire, without fencing",
        killed_by="tests/core/jobs/test_claims.py::test_a_zombie_can_write_nothing",
    ),
    Mutant(
        name="refund-after-a-failure",
        path=ENDINGS,
        before="    if cause is Cause.ROWS:\n        end(",
        after="    if cause is Cause.ROWS:\n        settle_prefix(session, job, clock=clock)\n        end(",
        bug="a failure that rows may have caused is charged for the steps begun only, so failing is a free answer",
        source="budgets refunded on error",
        killed_by="tests/core/jobs/test_endings.py::TestFail::test_what_could_depend_on_rows_is_charged_in_full_under_one_code",
    ),
    Mutant(
        name="failure-code-of-the-cause",
        path=ENDINGS,
        before="end(job, JobState.FAILED, at=now, failure_code=TRAINING_FAILED)\n    elif job.cancel",
        after="end(job, JobState.FAILED, at=now, failure_code=code)\n    elif job.cancel",
        bug="everybody learns which of the failures that depend on rows it was",
        source="InternalServerException(str(e)): Lomas",
        killed_by="tests/core/jobs/test_endings.py::TestFail::test_what_could_depend_on_rows_is_charged_in_full_under_one_code",
    ),
    Mutant(
        name="settled-below-the-steps-begun",
        path="core/jobs/coarse.py",
        before="parts = -(-min(step, total) * PARTS // total) if total > 0 else 0",
        after="parts = min(step, total) * PARTS // total if total > 0 else 0",
        bug="an early end is charged for the parts completed, not for the part begun",
        source="off by one in the number of steps: smartnoise PR 424",
        killed_by="tests/core/jobs/test_coarse.py::test_parts_bracket_the_steps_and_are_few",
    ),
    Mutant(
        name="measurement-not-settled",
        path=ENDINGS,
        before="    if job.stage is None:\n        return NOTHING",
        after="    if not job.steps_begun:\n        return NOTHING",
        bug="a job cancelled between measurement and training gets its anchor for nothing",
        source="releases before the loop left out of the account",
        killed_by="tests/core/jobs/test_endings.py::TestCancel::test_after_the_first_mark_the_measurements_are_charged",
    ),
    Mutant(
        name="key-outlives-the-job",
        path=ENDINGS,
        before="    job.sealed_randomness_key = None\n",
        after="    job.sealed_randomness_key = job.sealed_randomness_key or None\n",
        bug="the key of all noise is kept when the job has ended, so the noise can be subtracted later",
        source="seeds stored with the results",
        killed_by="tests/core/jobs/test_endings.py::TestFinish::test_the_release_and_the_end_come_together",
    ),
    Mutant(
        name="key-from-the-job-id",
        path="service/jobs/ordering.py",
        before="self._parts.entropy(RANDOMNESS_KEY_BYTES)",
        after="(job_id.bytes * 2)[:RANDOMNESS_KEY_BYTES]",
        bug="the key of all noise is the job's id, which everybody can read",
        source="noise seeded by an id or the time",
        killed_by="tests/privacy/laws/test_unpredictable.py::test_the_key_of_a_job_is_fresh_bytes_of_the_operating_system",
    ),
    Mutant(
        name="fresh-key-per-attempt",
        path="workers/runner.py",
        before="KeyedStreams(work.randomness_key",
        after='KeyedStreams(__import__("os").urandom(32)',
        bug="each attempt draws noise of its own for steps that an earlier attempt has released",
        source="a crash that averages noise away",
        killed_by="tests/privacy/mutants_killed/test_keys.py::test_every_attempt_trains_with_the_key_of_its_job",
    ),
    Mutant(
        name="checkpoint-unsealed",
        path="workers/checkpoints.py",
        before="seal_bytes(self._key, state, context=key)",
        after="state",
        bug="critic, optimiser and thresholds lie readable in the object store",
        source="checkpoints next to the released model",
        killed_by="tests/workers/test_checkpoints.py::test_nothing_of_the_state_can_be_read_in_the_store",
    ),
    Mutant(
        name="critic-in-the-bundle",
        path="models/idpgan/loop.py",
        before='        self._host.advance(stage="export", step=1, total=1)\n',
        after=(
            '        self._host.advance(stage="export", step=1, total=1)\n'
            '        self._refinement.average.add_module("critic", self._network if self._critic else None)\n'
        ),
        bug="the critic leaves with the generator",
        source="whole training state published as the model",
        killed_by="tests/privacy/mutants_killed/test_what_leaves.py::test_nothing_but_the_generator_leaves_a_training",
    ),
    Mutant(
        name="certificate-not-recomputed",
        path="core/releases/certificate.py",
        before="recomputed = epsilons(plan.mechanism, delta=plan.guarantee.delta)",
        after="recomputed = plan.epsilons",
        bug="verifying a certificate repeats the epsilon it states",
        source="epsilon quoted from the configuration",
        killed_by="tests/privacy/mutants_killed/test_forged_certificate.py::test_a_forged_epsilon_is_refused_although_all_of_it_fits",
    ),
    Mutant(
        name="certified-whatever-ran",
        path="core/releases/execution.py",
        before="    if executed != Executed.planned(plan):",
        after="    if executed is None:",
        bug="the certificate says that the plan ran, whatever did",
        source="a bill written before the work",
        killed_by="tests/privacy/mutants_killed/test_what_leaves.py::test_a_training_that_released_something_else_is_not_certified",
    ),
)
