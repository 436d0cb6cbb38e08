"""Bugs in what is learnt of a domain: bounds, bins and categories."""

from tests.mutants.mutant import Mutant

LEARNING = "models.learning"
PLAN = "core.plan.learning"
MOVED = (
    "tests/models/test_learning.py::"
    "test_a_unit_moves_every_release_by_its_sensitivity_at_most_however_many_records_it_has[1000]"
)
PASSES = (
    "tests/core/plan/test_learning.py::test_a_name_of_one_unit_passes_with_no_more_than_its_part_of_delta"
)
CHARGED = "tests/core/plan/test_learning.py::test_every_release_is_charged_with_its_share"

MUTANTS = (
    Mutant(
        name="threshold-without-the-units-own-record",
        module=PLAN,
        function="LearningPlan.threshold",
        before="return 1.0 - self.noise_multiplier * float(ndtri(probability)) * (1 + _ROUNDED) + _ROUNDED + GRID",
        after="return 0.0 - self.noise_multiplier * float(ndtri(probability)) * (1 + _ROUNDED) + _ROUNDED + GRID",
        bug="the threshold forgets that a name of one unit is counted once before it is noised",
        source="stability-based histograms with the threshold of an empty cell",
        killed_by=PASSES,
    ),
    Mutant(
        name="threshold-not-shared-among-lists",
        module=PLAN,
        function="LearningPlan.threshold",
        before="probability = -math.expm1(-self.delta / lists)",
        after="probability = -math.expm1(-self.delta)",
        bug="every list of categories has the whole delta of thresholds, so a unit new in several takes it several times",
        source="a delta per column where it is paid once",
        killed_by=PASSES,
    ),
    Mutant(
        name="threshold-not-applied",
        module=LEARNING,
        function="_with_categories",
        before='[place for place in np.argsort(-noisy, kind="stable") if noisy[place] > plan.threshold]',
        after='[place for place in np.argsort(-noisy, kind="stable") if noisy[place] > 0]',
        bug="every name whose noisy count is positive is published, those of single people with it",
        source="vocabulary from data; dictionaries of encoders fitted to the rows",
        killed_by="tests/models/test_learning.py::test_names_that_single_units_have_stay_unpublished",
    ),
    Mutant(
        name="learnt-names-counted-exactly",
        module=LEARNING,
        function="_with_categories",
        before="noisy = exact + on_grid(noise * std)",
        after="noisy = exact + 0 * on_grid(noise * std)",
        bug="whether a category is published depends on its exact count",
        source="rare categories dropped below a fixed count (k-anonymity taken for privacy)",
        killed_by="tests/models/test_learning.py::test_names_are_noised_by_the_planned_deviation",
    ),
    Mutant(
        name="learnt-names-counted-by-record",
        module=LEARNING,
        function="_with_categories",
        before="texts = values.filter(pa.array(rows.first))",
        after="texts = values",
        bug="a unit with many records counts as often as it has records",
        source="unit and record confused",
        killed_by=MOVED,
    ),
    Mutant(
        name="learnt-numbers-counted-by-record",
        module=LEARNING,
        function="_rows",
        before="shares = np.floor((1.0 / GRID) / np.maximum(records, 1))",
        after="shares = np.floor((1.0 / GRID) / np.minimum(records, 1))",
        bug="a unit with many records adds each of them whole to the counts of bounds and bins",
        source="unit and record confused",
        killed_by=MOVED,
    ),
    Mutant(
        name="learning-noise-without-sensitivity",
        module=LEARNING,
        function="_released",
        before="release_counts(exact, std, streams, Purpose.LEARNING_NOISE, step, sensitivity=release.sensitivity)",
        after="release_counts(exact, std / release.sensitivity, streams, Purpose.LEARNING_NOISE, step, sensitivity=1.0)",
        bug="a tree of several levels is noised as if a unit were in one of them",
        source="levels of a hierarchy taken for a partition",
        killed_by="tests/models/test_learning.py::test_every_count_is_noised_by_the_planned_deviation",
    ),
    Mutant(
        name="tree-levels-not-in-sensitivity",
        module=PLAN,
        function="_sensitivity",
        before="squares = LEVELS + (DECIMALS_WEIGHT**2 if counts_decimals(domain, place) else 0.0)",
        after="squares = 1 + (DECIMALS_WEIGHT**2 if counts_decimals(domain, place) else 0.0)",
        bug="the plan's sensitivity of a tree is that of its leaves alone",
        source="levels of a hierarchy taken for a partition",
        killed_by="tests/core/plan/test_learning.py::test_bins_have_the_sensitivity_of_their_tree_and_of_decimals",
    ),
    Mutant(
        name="decimals-not-in-sensitivity",
        module=PLAN,
        function="_sensitivity",
        before="LEVELS + (DECIMALS_WEIGHT**2 if counts_decimals(domain, place) else 0.0)",
        after="LEVELS + 0.0",
        bug="the counts of decimals ride along for free",
        source="a second query in the noise of the first",
        killed_by="tests/models/test_learning.py::test_one_row_reaches_the_sensitivity_with_decimals",
    ),
    Mutant(
        name="learning-share-not-taken",
        module=PLAN,
        function="LearningQuestion.rest",
        before="return 1.0 - self.share",
        after="return 1.0",
        bug="what learning costs is spent by the anchor once more, and the plan exceeds its epsilon",
        source="preprocessing outside of the budget",
        killed_by=CHARGED,
    ),
    Mutant(
        name="learning-not-charged",
        module="core.plan.stages",
        function="PrivateStages.mechanism",
        before="[] if self.learning is None else [*self.learning.parts]",
        after="[]",
        bug="bounds, bins and categories are learnt and stand in no mechanism, ledger or certificate",
        source="bounds and categories inferred for free, as most libraries do",
        killed_by=CHARGED,
    ),
    Mutant(
        name="threshold-without-its-delta",
        module=PLAN,
        function="LearningPlan.parts",
        before="return (*noises, Threshold(delta=self.delta)) if self.delta else noises",
        after="return noises",
        bug="a name of one person may be published, and delta says nothing of it",
        source="thresholds tuned by eye",
        killed_by=CHARGED,
    ),
    Mutant(
        name="threshold-delta-spent-twice",
        module="core.dp.accountant",
        function="epsilons",
        before="check_delta(delta - math.fsum(thresholds))",
        after="check_delta(delta)",
        bug="the noise is accounted at the whole delta, part of which thresholds have taken",
        source="delta of a selection forgotten in the composition",
        killed_by="tests/core/dp/test_threshold.py::test_thresholds_take_their_delta_before_the_noise_is_accounted",
    ),
    Mutant(
        name="threshold-in-renyi-filters",
        module="core.dp.charge",
        function="charge_of",
        before="UNBOUNDED_MICROS if math.isinf(amount) else math.ceil(Fraction(amount) * MICRO)",
        after="0 if math.isinf(amount) else math.ceil(Fraction(amount) * MICRO)",
        bug="a job with a threshold costs the Renyi filters nothing, though no divergence of it is finite",
        source="approximate mechanisms in accountants of Renyi divergence",
        killed_by="tests/core/dp/test_threshold.py::test_a_population_with_a_threshold_is_carried_by_basic_from_then_on",
    ),
    Mutant(
        name="bounds-from-the-rows",
        module=LEARNING,
        function="_with_bounds",
        before="return with_bounds(column, edges, noisy, std)",
        after="""
            return with_bounds(
                column, edges, noisy + 6 * std * (np.bincount(cells, minlength=len(noisy)) > 0), std
            )
        """,
        bug="a cell that a single row lies in is within the bounds, however little it is",
        source="minimum and maximum of the rows as bounds of scalers",
        killed_by="tests/privacy/test_replay.py::test_nothing_but_the_releases_knows_the_unit_where_the_domain_is_learnt[beyond every bound-added]",
    ),
    Mutant(
        name="learning-before-the-mark",
        module=LEARNING,
        function="learnt_records",
        before='host.advance(stage="measure", step=1, total=1)',
        after="",
        bug="rows are looked at before a mark says so: a job that is cancelled then is charged nothing",
        source="progress written after the work",
        killed_by="tests/models/test_learning.py::test_the_mark_of_the_measurements_is_made_before_anything_is_learnt",
    ),
)
