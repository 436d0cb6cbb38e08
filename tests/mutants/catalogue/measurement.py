"""Bugs in the label histogram and in the anchor."""

from tests.mutants.mutant import Mutant

ANCHOR = "models/anchor.py"
LABELS = "models/idpgan/labels.py"
DEVIATION = "tests/models/test_anchor.py::test_the_noise_has_the_planned_deviation_on_every_kind_of_cell"

MUTANTS = (
    Mutant(
        name="exact-label-prior",
        path=LABELS,
        before="noisy = (counts + noise).astype(np.float64)",
        after="noisy = (counts + 0 * noise).astype(np.float64)",
        bug="the class shares of generated rows are the exact ones",
        source="smartnoise dpctgan (raw category frequencies); IDPGAN says nothing of its labels",
        killed_by="tests/privacy/mutants_killed/test_label_law.py::test_the_counts_are_noised_by_the_planned_law",
    ),
    Mutant(
        name="labels-counted-by-record",
        path=LABELS,
        before="table.codes[first, table.target_index]",
        after="table.codes[:, table.target_index]",
        bug="a person's label counts once per record, so the histogram has no bounded sensitivity",
        source="unit and record confused",
        killed_by="tests/models/idpgan/test_labels.py::test_a_unit_moves_one_count_of_the_label_law_whatever_its_number_of_records",
    ),
    Mutant(
        name="anchor-diagonal-exact",
        path=ANCHOR,
        before="ones[index] = exact.ones[index] + _on_grid(drawn.diagonal() * one_std)",
        after="ones[index] = exact.ones[index] + 0.0 * _on_grid(drawn.diagonal() * one_std)",
        bug="the one-way counts are released without noise",
        source="noise missing in one part of a release",
        killed_by=DEVIATION,
    ),
    Mutant(
        name="anchor-weights-ignored",
        path=ANCHOR,
        before="    one_std = anchor.noise_std / layout.diagonal_factor(anchor.diagonal_weight)\n    class_std",
        after="    one_std = anchor.noise_std / layout.diagonal_factor(anchor.diagonal_weight) ** 2\n    class_std",
        bug="one-way counts get less noise than their weight in the sensitivity allows",
        source="weighted queries noised as if unweighted",
        killed_by=DEVIATION,
    ),
    Mutant(
        name="class-counts-with-less-noise",
        path=ANCHOR,
        before="class_std = anchor.noise_std / anchor.diagonal_weight",
        after="class_std = anchor.noise_std / layout.diagonal_factor(anchor.diagonal_weight)",
        bug="the class counts get the diagonal's noise, a sixth less than their weight asks for",
        source="an outside attack on this service; one weight taken for another",
        killed_by=DEVIATION,
    ),
    Mutant(
        name="target-pairs-weighted-for-free",
        path=ANCHOR,
        before="squared = columns / (2 * TARGET_WEIGHT + columns - 2)",
        after="squared = 1.0",
        bug="pairs with the target get less noise, and no other pair gets more",
        source="weights applied after the sensitivity was computed",
        killed_by="tests/models/test_anchor.py::test_the_sensitivity_is_the_plans_formula_either_way",
    ),
    Mutant(
        name="anchor-weights-not-in-sensitivity",
        path="core/synthesis/stages.py",
        before="math.sqrt(diagonal_weight**2 * columns + columns * (columns - 1) / 2)",
        after="math.sqrt(columns + columns * (columns - 1) / 2)",
        bug="the plan's sensitivity of the anchor forgets the weight of its diagonal",
        source="weights applied after the sensitivity was computed",
        killed_by="tests/core/synthesis/test_plan.py::test_the_sensitivity_is_what_one_record_changes",
    ),
    Mutant(
        name="anchor-without-cross-terms",
        path="core/synthesis/stages.py",
        before="math.sqrt(diagonal_weight**2 * columns + columns * (columns - 1) / 2)",
        after="math.sqrt(diagonal_weight**2 * columns)",
        bug="the plan's sensitivity counts the one-way counts alone, and the pairs go free",
        source="DP-PCA and Gram matrices with the sensitivity of a mean",
        killed_by="tests/core/synthesis/test_plan.py::test_the_sensitivity_is_what_one_record_changes",
    ),
    Mutant(
        name="anchor-sums-all-records-of-a-unit",
        path=ANCHOR,
        before="shares = np.floor((1.0 / GRID) / records) if len(records) else np.zeros(0)",
        after="shares = np.full(len(records), 1.0 / GRID)",
        bug="a unit with many records contributes all of them in full",
        source="unclipped sums: SmartNoise SDK",
        killed_by="tests/models/test_anchor.py::test_a_unit_moves_the_statistic_by_at_most_the_sensitivity",
    ),
    Mutant(
        name="anchor-takes-any-sensitivity",
        path=ANCHOR,
        before="if anchor.sensitivity < layout.sensitivity(anchor.diagonal_weight):",
        after="if anchor.sensitivity < 0:",
        bug="a plan that paid for a smaller statistic gets the larger one",
        source="sensitivity passed in by the caller and never checked: diffprivlib",
        killed_by="tests/models/test_anchor.py::test_a_plan_with_too_small_a_sensitivity_is_refused",
    ),
    Mutant(
        name="declared-size-replaced-by-the-exact",
        path="models/idpgan/measurement.py",
        before="declared_size=plan.declared_size,",
        after="declared_size=table.units,",
        bug="whether counts are taken per class is decided by the exact number of units",
        source="len(data) as a parameter: Opacus, synthcity (delta = 1 / len(X))",
        killed_by="tests/privacy/mutants_killed/test_public_constants.py::test_counts_are_taken_per_class_where_the_declared_size_says_so",
    ),
)
