"""Bugs in the accountants: an epsilon that is not an upper bound."""

from tests.mutants.mutant import Mutant

DOTS = "core.dp.connected_dots"
RENYI = "core.dp.renyi"
JOINT = "core.dp.gaussian"
STAGES = "core.plan.stages"
GOLDEN = "tests/core/dp/test_golden.py::test_golden_values[3-5.447925]"
REFRESH = (
    "tests/core/plan/test_plan.py::test_refresh_steps_are_charged_jointly_with_the_public_number_of_groups"
)

MUTANTS = (
    Mutant(
        name="joint-rule-adds-sigmas",
        module=JOINT,
        function="joint_noise_multiplier",
        before="return 1 / math.sqrt(noise_multiplier**-2 + histograms * histogram_noise_multiplier**-2)",
        after="return noise_multiplier + histogram_noise_multiplier / math.sqrt(histograms)",
        bug="two releases on one sample are charged as if their noise added up instead of their signal",
        source="IDPGAN's composition of clipping and thresholds",
        killed_by="tests/core/dp/test_joint.py::test_one_histogram_beside_the_gradient_is_the_two_dimensional_integral",
    ),
    Mutant(
        name="joint-rule-counts-one-histogram",
        module=JOINT,
        function="joint_noise_multiplier",
        before="histograms * histogram_noise_multiplier**-2",
        after="histogram_noise_multiplier**-2",
        bug="however many histograms a refresh releases, one is charged",
        source="IDPGAN, algorithm 4: one histogram per weight, charged once",
        killed_by="tests/core/dp/test_joint.py::test_two_histograms_beside_the_gradient_are_the_three_dimensional_integral",
    ),
    Mutant(
        name="decayed-noise-priced-as-the-first",
        module=STAGES,
        function="training_mechanism",
        before="parts += _repeated(sampling_rate, block.noise_multiplier, steps - refreshed)",
        after="parts += _repeated(sampling_rate, blocks[0].noise_multiplier, steps - refreshed)",
        bug="steps after the noise has decayed are charged like the first ones",
        source="IDPGAN, algorithm 4: one sigma in the bound, a falling one in the training",
        killed_by="tests/core/plan/test_plan.py::test_ordered_noise_is_kept_and_its_steps_are_cut_to_the_budget_beforehand",
    ),
    Mutant(
        name="refresh-not-charged",
        module=STAGES,
        function="training_mechanism",
        before="parts += _repeated(sampling_rate, joint, refreshed)",
        after="parts += _repeated(sampling_rate, max(joint, block.noise_multiplier), refreshed)",
        bug="steps that release histograms too are charged like steps that do not",
        source="Opacus's adaptive clipping never charges its count query",
        killed_by=REFRESH,
    ),
    Mutant(
        name="refresh-charged-as-another-sample",
        module=STAGES,
        function="training_mechanism",
        before="parts += _repeated(sampling_rate, joint, refreshed)",
        after="""
            parts += _repeated(sampling_rate, block.noise_multiplier, refreshed if joint else 0)
            parts += _repeated(sampling_rate, acts.noise_multiplier / acts.groups**0.5, refreshed)
        """,
        bug="histograms and gradient of one sample are charged as if each had a sample of its own",
        source="IDPGAN, theorem 2: the Hoelder bound amplifies a sample twice",
        killed_by=REFRESH,
    ),
    Mutant(
        name="a-refresh-too-few",
        module=STAGES,
        function="refreshes",
        before="return -(-(first_step + steps) // interval) - -(-first_step // interval)",
        after="return (first_step + steps) // interval - first_step // interval",
        bug="the refresh at step 0 is not counted",
        source="accountant index errors: synthcity issue 276",
        killed_by="tests/core/plan/test_plan.py::test_refreshes_are_counted",
    ),
    Mutant(
        name="conversion-without-log-delta",
        module=RENYI,
        function="epsilon_of_rdp",
        before="(math.log(delta) + np.log(a)) / (a - 1)",
        after="np.log(a) / (a - 1)",
        bug="Renyi divergence is turned into epsilon without the term in log(1/delta)",
        source="SmartNoise SQL",
        killed_by="tests/core/dp/test_renyi.py::test_conversion_agrees_with_the_library",
    ),
    Mutant(
        name="negative-divergence-as-zero",
        module=RENYI,
        function="sampled_gaussian_log_moments",
        before="moments = np.concatenate([[0.0], np.logaddexp(0.0, log_sum)])",
        after="moments = np.concatenate([[0.0], np.maximum(0.0, log_sum)])",
        bug="where digits cancel, the divergence of a step comes out as nothing",
        source="tensorflow/privacy issue 166; dp_accounting reports epsilon 0 with a warning in the log",
        killed_by="tests/core/dp/test_renyi.py::test_no_divergence_is_ever_zero_negative_or_above_the_unsampled_one",
    ),
    Mutant(
        name="something-for-nothing",
        module="core.dp.accountant",
        function="_safe",
        before="return max(epsilon, SMALLEST_EPSILON)",
        after="return max(epsilon, 0.0)",
        bug="a release that delta covers is reported with epsilon 0",
        source="negative epsilon reported as zero: Opacus issue 585",
        killed_by="tests/core/dp/test_accountant.py::test_nothing_costs_nothing_and_something_costs_something",
    ),
    Mutant(
        name="optimistic-grid",
        module=DOTS,
        function="connect_curve",
        before="return Losses(lowest=lowest, probabilities=probabilities, infinite=float(deltas[-1]))",
        after="return Losses(lowest=lowest - 1, probabilities=probabilities, infinite=float(deltas[-1]))",
        bug="every privacy loss is rounded down to the grid instead of up",
        source="optimistic discretisation; PRV accountants at extreme parameters",
        killed_by="tests/core/dp/test_hockey_stick.py::test_connected_dots_bound_delta_no_worse_than_the_library",
    ),
    Mutant(
        name="the-better-direction",
        module="core.dp.loss",
        function="epsilon_of_leaves",
        before="epsilon = max(composed_epsilon(directed, outline, delta, spacing) for directed, outline in both)",
        after="epsilon = min(composed_epsilon(directed, outline, delta, spacing) for directed, outline in both)",
        bug="of adding and removing a unit the cheaper one is reported",
        source="one direction only, chosen before composition (Lebeda and others 2024)",
        killed_by=GOLDEN,
    ),
    Mutant(
        name="central-limit-for-an-upper-bound",
        module="core.dp.loss",
        function="epsilon_of_leaves",
        before="mu, others = merge_gaussians(counts)",
        after="""
            if all(isinstance(leaf, PoissonSampled) for leaf in counts):
                steps = [
                    (leaf.sampling_rate, leaf.mechanism.noise_multiplier, times)
                    for leaf, times in counts.items()
                ]
                limit = math.fsum(times * rate**2 * math.expm1(noise**-2) for rate, noise, times in steps)
                return gaussian.epsilon_of(math.sqrt(limit), delta)
            mu, others = merge_gaussians(counts)
        """,
        bug="the certificate's epsilon is the central limit's estimate instead of a bound",
        source="GDP accountants: Opacus PR 400, Bu and others 2020",
        killed_by=GOLDEN,
    ),
    Mutant(
        name="delta-below-the-digits",
        module="core.dp.guarantee",
        function="check_delta",
        before="SMALLEST_DELTA <= delta < 1",
        after="0 < delta < 1",
        bug="a delta is accepted at which the Fourier transform has no digits left",
        source="prv_accountant issue 17: epsilon .056 where .669 is true",
        killed_by="tests/core/dp/test_guarantee.py::test_a_delta_outside_the_accountants_reach_is_refused",
    ),
    Mutant(
        name="target-or-infinity",
        module="core.dp.guarantee",
        function="check_epsilon",
        before="not (math.isfinite(epsilon) and epsilon >= SMALLEST_EPSILON)",
        after="epsilon and not (math.isfinite(epsilon) and epsilon >= SMALLEST_EPSILON)",
        bug="an epsilon of 0 counts as no limit",
        source="`target or inf`: Safe-Synthesizer issue 367, mostlyai-engine",
        killed_by="tests/core/dp/test_guarantee.py::test_an_epsilon_that_promises_nothing_or_cannot_be_kept_is_refused",
    ),
    Mutant(
        name="calibration-overshoots",
        module="core.dp.calibration",
        function="smallest_scale",
        before="return high.scale",
        after="return high.scale if low is None else low.scale",
        bug="of the two scales around the target the one above it is taken",
        source="stop after the budget is exceeded: IDPGAN, smartnoise PR 424",
        killed_by="tests/core/dp/test_calibration.py::test_the_whole_composition_stays_within_the_target_and_barely",
    ),
    Mutant(
        name="noise-rounded-to-nearest",
        module="core.dp.calibration",
        function="round_up",
        before="exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding=ROUND_CEILING)",
        after='exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding="ROUND_HALF_EVEN")',
        bug="a calibrated noise multiplier may be rounded down",
        source="parameters printed with few digits and used as printed",
        killed_by="tests/core/dp/test_calibration.py::test_rounding_up_never_rounds_down_and_is_idempotent",
    ),
    Mutant(
        name="noise-of-another-block",
        module="core.plan.plan",
        function="Plan.noise_multiplier_at",
        before="index = bisect_right(self.blocks, step, key=lambda block: block.first_step) - 1",
        after="""
            index = min(
                bisect_right(self.blocks, step, key=lambda block: block.first_step), len(self.blocks) - 1
            )
        """,
        bug="a step gets the noise of the next block of a falling schedule",
        source="schedules off by one (IDPGAN's text and algorithm disagree on t)",
        killed_by="tests/core/plan/test_plan.py::test_noise_is_looked_up_by_step",
    ),
    Mutant(
        name="prefix-without-measurement",
        module="core.plan.stages",
        function="PrivateStages.mechanism",
        before="self.anchor is not None",
        after="self.anchor is not None and (step_count or not self.blocks)",
        bug="a job that stops before its first step is not charged for the anchor it has released",
        source="pre-processing left out of the account: DP-PCA never composed",
        killed_by="tests/core/plan/test_plan.py::test_a_prefix_always_holds_the_measurement",
    ),
    Mutant(
        name="plan-believed",
        module="core.values",
        function="read",
        before="not same",
        after="False",
        bug="a stored plan is run although its mechanism is not the one that was paid for",
        source="plan and account that can drift apart",
        killed_by="tests/core/plan/test_plan.py::test_an_altered_plan_is_refused",
    ),
)
