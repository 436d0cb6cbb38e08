"""Bugs on the way from rows to codes: something is learnt from the rows for free."""

from tests.mutants.mutant import Mutant

CODING = "models/coding.py"
ALONE = "tests/privacy/mutants_killed/test_row_local.py::test_a_row_has_the_same_codes_alone_and_among_others"
SHAPE = "tests/privacy/mutants_killed/test_row_local.py::test_the_shape_of_a_table_is_declared"

MUTANTS = (
    Mutant(
        name="vocabulary-from-data",
        path=CODING,
        before="cardinalities=domain.cardinalities,",
        after="cardinalities=tuple(int(top) + 1 for top in records.max(axis=0, initial=0)),",
        bug="the number of codes per column is that of the values present",
        source="encoders fitted on private rows: synthcity, smartnoise, MST and PrivBayes with inferred domains",
        killed_by=SHAPE,
    ),
    Mutant(
        name="bounds-from-data",
        path="core/domain/clean_ordered.py",
        before="np.clip(numbers, column.lower, column.upper, out=numbers, where=beyond)",
        after="np.clip(numbers, numbers[~beyond].min(initial=column.upper), column.upper, out=numbers, where=beyond)",
        bug="values below the bounds are raised to the smallest value seen",
        source="min-max scaling from private rows: PATE-GAN, borealis issue 12, preprocessor_eps = 0",
        killed_by=ALONE,
    ),
    Mutant(
        name="missing-values-imputed",
        path="core/domain/codec.py",
        before="    if column.null_code is None:",
        after="    if not missing.all():\n        return np.where(missing, np.bincount(codes[~missing]).argmax(), codes)\n    if column.null_code is None:",
        bug="a missing value takes the commonest code of the other rows",
        source="imputation fitted on private rows",
        killed_by=ALONE,
    ),
    Mutant(
        name="duplicates-dropped",
        path=CODING,
        before="    return PrivateTable(\n",
        after="    records = np.unique(records, axis=0) if domain.privacy_unit is None else records\n    return PrivateTable(\n",
        bug="equal rows count once, so whether a row counts depends on the others",
        source="deduplication before training",
        killed_by="tests/privacy/mutants_killed/test_row_local.py::test_every_row_is_there_once_and_in_order",
    ),
    Mutant(
        name="rare-values-dropped",
        path=CODING,
        before="    return PrivateTable(\n",
        after=(
            "    if len(records):\n"
            "        rare = np.bincount(records[:, 0])[records[:, 0]] < 2\n"
            "        records[rare, 0] = 0\n"
            "    return PrivateTable(\n"
        ),
        bug="a category that only one row has is merged into another",
        source="rare-category protection by exact counts (k-anonymity in front of DP)",
        killed_by=ALONE,
    ),
    Mutant(
        name="rules-from-data",
        path=CODING,
        before="forbidden=partial(forbidden_pairs, domain),",
        after="forbidden=lambda: {(0, 1): np.histogram2d(*records[:, :2].T, bins=[np.arange(n + 1) for n in domain.cardinalities[:2]])[0] == 0},",
        bug="combinations that no record has are taken for impossible, so the exact support of two columns is learnt",
        source="structural zeros read off the private table (MST's domain compression without its noise)",
        killed_by="tests/workers/test_coding.py::test_what_rules_forbid_follows_from_the_domain_alone",
    ),
    Mutant(
        name="unit-column-ignored",
        path=CODING,
        before="np.arange(len(records)) if domain.privacy_unit is None else _numbered(units)",
        after="np.arange(len(records)) if len(units) >= 0 else _numbered(units)",
        bug="a person's records count as so many persons",
        source="record-level epsilon reported for people",
        killed_by="tests/workers/test_coding.py::test_units_are_numbered_by_first_appearance_whatever_the_batches",
    ),
    Mutant(
        name="too-many-units-taken",
        path="core/storage/unit_limit.py",
        before="        if units > self._limit:",
        after="        if units > self._limit**2:",
        bug="a table far larger than declared is taken, so the public cap on a batch can fail on its size",
        source="declared size unrelated to the data",
        killed_by="tests/core/storage/test_unit_limit.py::test_records_are_counted_where_each_is_its_own_unit",
    ),
    Mutant(
        name="plan-of-another-declared-size",
        path="core/jobs/orders.py",
        before="    if made_for != (dataset.declared_size, dataset.adjacency, dataset.privacy_unit, declared):",
        after="    if made_for[1:] != (dataset.adjacency, dataset.privacy_unit, declared):",
        bug="a plan made for a larger population runs on a smaller one, with its smaller sampling rate",
        source="n as a free parameter of the caller",
        killed_by="tests/core/jobs/test_orders.py::test_a_plan_of_another_dataset_is_refused",
    ),
    Mutant(
        name="plan-of-another-bound-on-records",
        path="core/jobs/orders.py",
        before="made_for = (plan.declared_size, plan.adjacency.value, unit.column, records)",
        after="made_for = (plan.declared_size, plan.adjacency.value, unit.column, records and declared)",
        bug="a plan that counts more records of a unit than the dataset declares is taken",
        source="K as a free parameter of the caller",
        killed_by="tests/core/jobs/test_orders.py::test_a_plan_counts_as_many_records_of_a_unit_as_the_dataset_declares",
    ),
)
