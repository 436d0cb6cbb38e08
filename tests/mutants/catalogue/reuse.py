"""Bugs in what a plan takes over from earlier releases."""

from tests.mutants.mutant import Mutant

REUSING = "core.plan.reuse_rules"
RELEASES = "service.releases.repository"
WORKER = "workers.training_child"
VERIFIER = "understudy.verifying.reused"
TWIN = "tests/core/plan/test_reuse_rules.py::test_of_releases_that_hold_the_same_counts_one_is_taken"
STATED = "tests/models/tables/test_reuse.py::test_the_stated_noise_is_that_of_the_combined_counts"
MISSING = "tests/workers/test_reuse.py::test_a_job_whose_earlier_counts_are_missing_fails_before_a_row_is_read_and_costs_nothing"

MUTANTS = (
    Mutant(
        name="reuse-across-versions",
        module="service.quotes.reuse",
        function="stored_counts",
        before="""
            rows, _ = repository.page(
                session, principal, dataset_id=facts.id, job_id=None, limit=MOST_LOOKED_AT, before=None
            )
        """,
        after="""
            rows, _ = repository.page(
                session, principal, dataset_id=None, job_id=None, limit=MOST_LOOKED_AT, before=None
            )
        """,
        bug="counts of one version of the rows are combined with those of another as if both were of the same rows",
        source="caches keyed by the schema and not by the data",
        killed_by="tests/service/test_reuse.py::test_counts_of_an_earlier_version_are_never_taken_over",
    ),
    Mutant(
        name="reuse-across-versions-in-the-worker",
        module=WORKER,
        function="_counts_of",
        before="None if release is None or release.dataset_id != work.claim.dataset_id else release.bundle_key",
        after="None if release is None else release.bundle_key",
        bug="the worker takes counts of other rows if a plan names them",
        source="checks at the edge alone",
        killed_by=MISSING,
    ),
    Mutant(
        name="reuse-without-rights",
        module=RELEASES,
        function="page",
        before="select(Release).where(made_from_one_of(select(Dataset.id).where(visible_to(principal))))",
        after="select(Release)",
        bug="releases are listed and their counts reused for every caller, members of the dataset or not",
        source="broken object level authorization (OWASP API1)",
        killed_by="tests/service/test_reuse.py::test_an_analyst_who_may_not_read_a_release_neither_sees_nor_reuses_its_counts",
    ),
    Mutant(
        name="reuse-of-another-unit",
        module=REUSING,
        function="_counted_alike",
        before="""
            (one.declared_size, one.adjacency, one.privacy_unit) == (
                other.declared_size,
                other.adjacency,
                other.privacy_unit,
            )
        """,
        after="(one.declared_size, one.adjacency) == (other.declared_size, other.adjacency)",
        bug="counts of people are combined with counts of records",
        source="unit and record confused",
        killed_by="tests/core/plan/test_reuse_rules.py::test_what_counted_otherwise_is_left_out",
    ),
    Mutant(
        name="reuse-of-a-learnt-domain",
        module=REUSING,
        function="may_reuse",
        before="isinstance(anchor, AnchorPlan) and anchor.column_sensitivity > 0 and declared",
        after="isinstance(anchor, AnchorPlan) and anchor.column_sensitivity > 0",
        bug="counts of bins that one job learnt are added to those of bins that another learns",
        source="codes of one encoder read by another",
        killed_by="tests/core/plan/test_reuse_rules.py::test_counts_of_a_learnt_domain_are_left_out",
    ),
    Mutant(
        name="reused-columns-more-precise-than-they-are",
        module=REUSING,
        function="_reused",
        before="anchor.noise_std / anchor.column_sensitivity",
        after="anchor.noise_std / anchor.sensitivity",
        bug="columns of a release count as precise as if the whole budget had been spent on them",
        source="shares of a budget left out of the noise of its parts",
        killed_by=STATED,
    ),
    Mutant(
        name="reused-pairs-more-precise-than-they-are",
        module=REUSING,
        function="_tables",
        before="noise_multiplier = anchor.noise_std / anchor.table_sensitivity",
        after="noise_multiplier = anchor.noise_std / anchor.sensitivity",
        bug="pairs of a release count as precise as if the whole budget had been spent on them",
        source="shares of a budget left out of the noise of its parts",
        killed_by=STATED,
    ),
    Mutant(
        name="reused-release-counted-twice",
        module=REUSING,
        function="with_reuse",
        before="all(one.releases.isdisjoint(other.releases) for other in taken)",
        after="all(one.release_id != other.release_id for other in taken)",
        bug="the counts of a release are taken from it and from another that holds them, as if their noise were independent",
        source="averages over replicas of one draw",
        killed_by=TWIN,
    ),
    Mutant(
        name="reused-release-forgets-what-it-holds",
        module=REUSING,
        function="EarlierCounts.releases",
        before="frozenset({self.release_id}.union(*(one.releases for one in self.plan.reused)))",
        after="frozenset({self.release_id}.union(one.release_id for one in self.plan.reused))",
        bug="a release of a chain names the release before it and not those before that, which are then taken once more",
        source="averages over replicas of one draw",
        killed_by="tests/core/plan/test_reuse_rules.py::test_a_chain_of_releases_counts_each_of_them_once",
    ),
    Mutant(
        name="plan-may-count-a-release-twice",
        module="core.plan.plan",
        function="Plan._require_counted_once",
        before="len(set(releases)) != len(releases)",
        after="len(set(releases)) < 0",
        bug="a plan that takes the counts of a release twice is run as it is",
        source="checks left to the caller",
        killed_by=TWIN,
    ),
    Mutant(
        name="verifier-counts-a-release-twice",
        module=VERIFIER,
        function="reused_problems",
        before="len(set(releases)) != len(releases)",
        after="len(set(releases)) < 0",
        bug="a certificate that claims the precision of one release twice is verified",
        source="verifiers that check the sum and not the parts",
        killed_by="tests/understudy/verifying/test_reused.py::test_another_statement_of_what_was_reused_is_refused",
    ),
    Mutant(
        name="reused-counts-not-held-against-their-digest",
        module=WORKER,
        function="_counts_of",
        before="content is not None and hashlib.sha256(content).hexdigest() == one.counts_sha256",
        after="content is not None",
        bug="counts are taken over that are not those of the plan, whatever their noise is",
        source="pinned by name and not by digest",
        killed_by=MISSING,
    ),
    Mutant(
        name="reused-counts-read-after-rows",
        module="workers.training_child",
        function="_bundle",
        before="""
            earlier = (
                _earlier_counts(work, plan, database=database, store=store) if isinstance(plan, Plan) else ()
            )
        """,
        after="""
            host.advance(stage="measure", step=1, total=1)
            earlier = (
                _earlier_counts(work, plan, database=database, store=store) if isinstance(plan, Plan) else ()
            )
        """,
        bug="a job that cannot find what it reuses is charged, for it learns this after the measurements have begun",
        source="inputs checked after the budget is spent",
        killed_by=MISSING,
    ),
    Mutant(
        name="reused-counts-promised-as-its-own",
        module="core.artifacts.certificate",
        function="_reading",
        before="return say.READING_BESIDE_EARLIER if plan.reused else say.READING",
        after="return say.READING",
        bug="a certificate promises its epsilon of a bundle that also contains what earlier releases revealed",
        source="a price taken for a promise",
        killed_by="tests/understudy/verifying/test_reused.py::test_the_promise_of_a_release_that_reuses_counts_is_said_of_what_it_adds",
    ),
    Mutant(
        name="reused-precision-not-held-against-the-counts",
        module="models.tables.measurement.reuse",
        function="_require_precision",
        before='raise ValueError("the earlier counts are of another precision")',
        after="pass",
        bug="counts that state more noise than the plan weighs them by are taken over",
        source="metadata trusted over data",
        killed_by="tests/models/tables/test_reuse.py::test_counts_that_are_less_precise_than_the_plan_says_are_refused",
    ),
)
