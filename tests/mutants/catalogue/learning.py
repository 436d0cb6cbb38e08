"""Bugs in what is learnt of a domain: bounds, bins and categories."""

from tests.mutants.mutant import Mutant

LEARNING = "models.learnt_domains.learning"
PLAN = "core.plan.learning"
MOVED = (
    "tests/models/learnt_domains/test_learning.py::"
    "test_a_unit_moves_every_release_by_its_sensitivity_at_most_however_many_records_it_has[1000]"
)
NAMES = "tests/models/learnt_domains/test_learning.py::test_a_unit_adds_as_much_to_each_of_its_names_and_one_to_all_in_squares"
OWN_NAMES = (
    "tests/core/plan/test_learning.py::"
    "test_no_number_of_names_of_one_unit_passes_with_more_than_its_part_of_delta[30.0-1.25e-07-1]"
)
PASSES = (
    "tests/core/plan/test_learning.py::test_a_name_of_one_unit_passes_with_no_more_than_its_part_of_delta"
)
CHECKS = "models.learnt_domains.checked_bounds"
CHECK_MOVED = (
    "tests/models/learnt_domains/test_checked_bounds.py::"
    "test_a_unit_moves_every_check_by_its_sensitivity_at_most_however_many_records_it_has[1000]"
)
CHARGED = "tests/core/plan/test_learning.py::test_every_release_is_charged_with_its_share"

MUTANTS = (
    Mutant(
        name="threshold-without-the-units-own-record",
        module=PLAN,
        function="LearningPlan._hides",
        before="name_weight(names) - self.noise_multiplier * float(ndtri(probability)) * (1 + _ROUNDED)",
        after="0.0 - self.noise_multiplier * float(ndtri(probability)) * (1 + _ROUNDED)",
        bug="the threshold forgets that a name of one unit is counted once before it is noised",
        source="stability-based histograms with the threshold of an empty cell",
        killed_by=PASSES,
    ),
    Mutant(
        name="threshold-not-shared-among-lists",
        module=PLAN,
        function="LearningPlan.threshold",
        before="self._hides(names, self.delta / lists)",
        after="self._hides(names, self.delta)",
        bug="every list of categories has the whole delta of thresholds, so a unit new in several takes it several times",
        source="a delta per column where it is paid once",
        killed_by=PASSES,
    ),
    Mutant(
        name="threshold-not-shared-among-names",
        module=PLAN,
        function="LearningPlan._hides",
        before="probability = -math.expm1(-delta / names)",
        after="probability = -math.expm1(-delta)",
        bug="each of the names that one unit alone has passes with the probability that all together have",
        source="the threshold of one new element where a user adds several (Korolova and others 2009 had one per query)",
        killed_by=OWN_NAMES,
    ),
    Mutant(
        name="threshold-of-a-unit-with-one-name",
        module=PLAN,
        function="LearningPlan.threshold",
        before="range(1, (self.names_per_unit or 1) + 1)",
        after="range(1, 2)",
        bug="units count by several names, and the threshold is the one for units with a single new name",
        source="a worst case over the number of new elements of a user left out",
        killed_by=OWN_NAMES,
    ),
    Mutant(
        name="threshold-without-the-step-of-the-grid",
        module=PLAN,
        function="LearningPlan._hides",
        before="""
            return (
                name_weight(names)
                - self.noise_multiplier * float(ndtri(probability)) * (1 + _ROUNDED)
                + _ROUNDED
                + GRID
            )
        """,
        after="""
            return (
                name_weight(names)
                - self.noise_multiplier * float(ndtri(probability)) * (1 + _ROUNDED)
                + _ROUNDED
            )
        """,
        bug="noise that is rounded up to the grid lifts a name of one unit above the threshold more often than delta says",
        source="thresholds of continuous noise for counts on a grid",
        killed_by=PASSES + "[columns0-10.0]",
    ),
    Mutant(
        name="names-weigh-one-each",
        module=PLAN,
        function="name_weight",
        before="return math.isqrt(4**_GRID_BITS // names) * GRID",
        after="return math.isqrt(4**_GRID_BITS) * GRID",
        bug="a unit with m names adds 1 to each of them, and moves the counts by sqrt(m)",
        source="unit and record confused",
        killed_by=NAMES + "[4]",
    ),
    Mutant(
        name="names-weigh-by-rounding",
        module=PLAN,
        function="name_weight",
        before="return math.isqrt(4**_GRID_BITS // names) * GRID",
        after="return round(2**_GRID_BITS / math.sqrt(names)) * GRID",
        bug="weights are rounded to the grid to the nearest, so that their squares add up to more than 1",
        source="sensitivity before rounding taken for the one after it",
        killed_by="tests/core/plan/test_learning.py::test_all_names_of_a_unit_together_weigh_one_in_squares",
    ),
    Mutant(
        name="all-names-of-a-unit-count",
        module=LEARNING,
        function="_votes",
        before="counts = place < most",
        after="counts = place >= 0",
        bug="a unit with more names than may count adds to all of them, with the weight of as many as may",
        source="contributions bounded in weight and not in number",
        killed_by=NAMES + "[33]",
    ),
    Mutant(
        name="names-that-nobody-counts-for",
        module=LEARNING,
        function="_named",
        before="count > 0",
        after="count >= 0",
        bug="names beyond those of a unit that count are noised too, from zero, and there is no limit to how many of them may pass",
        source="a bound on contributions applied to weights after the names were listed",
        killed_by="tests/models/learnt_domains/test_learning.py::test_names_that_only_one_unit_has_pass_no_more_often_than_planned_however_many_they_are",
    ),
    Mutant(
        name="names-of-others-decide",
        module=LEARNING,
        function="_votes",
        before="order = np.lexsort((at, unit))",
        after="order = np.lexsort((at, -np.bincount(code, minlength=count)[code], unit))",
        bug="of its names a unit counts for those that most units have, so one unit more changes which names others count for",
        source="greedy contributions without a sensitivity of their own (policies of differentially private set unions)",
        killed_by="tests/models/learnt_domains/test_learning.py::test_the_first_names_of_a_unit_count_in_the_order_of_its_own_records",
    ),
    Mutant(
        name="threshold-not-applied",
        module=LEARNING,
        function="_with_categories",
        before='[place for place in np.argsort(-noisy, kind="stable") if noisy[place] > threshold]',
        after='[place for place in np.argsort(-noisy, kind="stable") if noisy[place] > 0]',
        bug="every name whose noisy count is positive is published, those of single people with it",
        source="vocabulary from data; dictionaries of encoders fitted to the rows",
        killed_by="tests/models/learnt_domains/test_learning.py::test_names_that_single_units_have_stay_unpublished",
    ),
    Mutant(
        name="learnt-names-counted-exactly",
        module=LEARNING,
        function="_with_categories",
        before="noisy = exact + on_grid(noise * std)",
        after="noisy = exact + 0 * on_grid(noise * std)",
        bug="whether a category is published depends on its exact count",
        source="rare categories dropped below a fixed count (k-anonymity taken for privacy)",
        killed_by="tests/models/learnt_domains/test_learning.py::test_names_are_noised_by_the_planned_deviation",
    ),
    Mutant(
        name="learnt-names-counted-by-record",
        module=LEARNING,
        function="_named",
        before="counts = _votes(rows.unit[voting], codes, len(words), most)",
        after="counts = np.bincount(codes, minlength=len(words)).astype(np.float64)",
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
        killed_by="tests/models/learnt_domains/test_learning.py::test_every_count_is_noised_by_the_planned_deviation",
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
        killed_by="tests/models/learnt_domains/test_learning.py::test_one_row_reaches_the_sensitivity_with_decimals",
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
        killed_by="tests/models/learnt_domains/test_learning.py::test_the_mark_of_the_measurements_is_made_before_anything_is_learnt",
    ),
    Mutant(
        name="checks-counted-by-record",
        module=CHECKS,
        function="check_bounds",
        before="weights = None if unit is None else record_weights(shards, unit, key=key, bound=None)",
        after="weights = None",
        bug="a unit with many records adds each of them whole to the counts that check declared bounds",
        source="unit and record confused",
        killed_by=CHECK_MOVED,
    ),
    Mutant(
        name="checks-noised-as-one-level",
        module=CHECKS,
        function="checked_column",
        before="std = plan.noise_multiplier * release.sensitivity",
        after="std = plan.noise_multiplier",
        bug="a tree of four levels that checks declared bounds is noised as if a unit were in one of them",
        source="levels of a hierarchy taken for a partition",
        killed_by="tests/models/learnt_domains/test_checked_bounds.py::test_every_count_of_a_check_is_noised_by_the_planned_deviation",
    ),
    Mutant(
        name="bins-checked-by-exact-counts",
        module=CHECKS,
        function="checked_column",
        before="tree = NoisyTree(grid=grid, counts=tuple(pieces), std=std)",
        after="tree = NoisyTree(grid=grid, counts=tuple(exact), std=std)",
        bug="whether bins are crowded, and the bins that take their place, follow from exact counts; the noisy ones are charged and unused",
        source="bounds and bins fitted to the rows beside a private release",
        killed_by="tests/models/learnt_domains/test_checked_bounds.py::test_bins_follow_from_the_released_counts_alone",
    ),
    Mutant(
        name="checks-before-the-mark",
        module=CHECKS,
        function="check_bounds",
        before='host.advance(stage="measure", step=1, total=1)',
        after="",
        bug="declared bounds are checked before a mark says so: a job that is cancelled then is charged nothing",
        source="progress written after the work",
        killed_by="tests/models/learnt_domains/test_checked_bounds.py::test_the_mark_of_the_measurements_is_made_before_a_row_is_read",
    ),
)
