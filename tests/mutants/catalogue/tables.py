"""Bugs on the way from rows to codes: something is learnt from the rows for free."""

from tests.mutants.mutant import Mutant

CODING = "models.coding"
ALONE = "tests/privacy/mutants_killed/test_row_local.py::test_a_row_has_the_same_codes_alone_and_among_others"
SHAPE = "tests/privacy/mutants_killed/test_row_local.py::test_the_shape_of_a_table_is_declared"

MUTANTS = (
    Mutant(
        name="vocabulary-from-data",
        module=CODING,
        function="coded_table",
        before="""
            PrivateTable(
                codes=records,
                unit_of_record=owners,
                cardinalities=domain.cardinalities,
                target_index=domain.target_index,
                ordered=domain.ordered,
                record_bound=bound,
                alone=codes_alone(domain),
                forbidden=partial(forbidden_pairs, domain),
            )
        """,
        after="""
            PrivateTable(
                codes=records,
                unit_of_record=owners,
                cardinalities=tuple(int(top) + 1 for top in records.max(axis=0, initial=0)),
                target_index=domain.target_index,
                ordered=domain.ordered,
                record_bound=bound,
                alone=codes_alone(domain),
                forbidden=partial(forbidden_pairs, domain),
            )
        """,
        bug="the number of codes per column is that of the values present",
        source="encoders fitted on private rows: synthcity, smartnoise, MST and PrivBayes with inferred domains",
        killed_by=SHAPE,
    ),
    Mutant(
        name="bounds-from-data",
        module="core.plan.domain.cleaning.ordered",
        function="_apply_bounds",
        before="np.clip(numbers, column.lower, column.upper, out=numbers, where=beyond)",
        after="""
            np.clip(
                numbers, numbers[~beyond].min(initial=column.upper), column.upper, out=numbers, where=beyond
            )
        """,
        bug="values below the bounds are raised to the smallest value seen",
        source="min-max scaling from private rows: PATE-GAN, borealis issue 12, preprocessor_eps = 0",
        killed_by=ALONE,
    ),
    Mutant(
        name="distance-from-the-mean-distance",
        module="core.plan.domain.columns.differences",
        function="distances",
        before="""
            apart: NDArray[np.float64] = (end - counted_alike(start, difference["start_unit"])) / difference["unit"]
        """,
        after="""
            apart: NDArray[np.float64] = (end - counted_alike(start, difference["start_unit"])) / difference["unit"]
            apart = apart - np.round(np.nanmean(apart)) + 1
        """,
        bug="distances between two columns are coded relative to the mean distance of the table",
        source="centring by private rows before clipping",
        killed_by=ALONE,
    ),
    Mutant(
        name="distance-from-another-row",
        module="core.plan.domain.columns.differences",
        function="distances",
        before="counted_alike(start, difference['start_unit'])",
        after="counted_alike(np.roll(start, 1), difference['start_unit'])",
        bug="the distance of a row is taken from the first column of the row before it",
        source="lagged differences, as of time series: one record moves the codes of two rows",
        killed_by=ALONE,
    ),
    Mutant(
        name="missing-values-imputed",
        module="core.plan.domain.codec",
        function="_filled",
        before="""
            if column.null.action == "use":
                stand_in = encode_column(column, stand_in_value(column))
                return np.where(missing, stand_in[0], codes)
        """,
        after="""
            if column.null.action == "use":
                stand_in = encode_column(column, stand_in_value(column))
                return np.where(missing, stand_in[0], codes)
            if not missing.all():
                return np.where(missing, np.bincount(codes[~missing]).argmax(), codes)
        """,
        bug="a missing value takes the commonest code of the other rows",
        source="imputation fitted on private rows",
        killed_by=ALONE,
    ),
    Mutant(
        name="duplicates-dropped",
        module=CODING,
        function="coded_table",
        before="""
            if bound is not None:
                tags = [unit_tags(names, key) for names in units]
                kept = weights_among(np.concatenate([np.empty((0, 2), np.uint64), *tags]), bound) > 0
                records, owners = records[kept], owners[kept]
        """,
        after="""
            if bound is not None:
                tags = [unit_tags(names, key) for names in units]
                kept = weights_among(np.concatenate([np.empty((0, 2), np.uint64), *tags]), bound) > 0
                records, owners = records[kept], owners[kept]
            records = np.unique(records, axis=0) if domain.privacy_unit is None else records
        """,
        bug="equal rows count once, so whether a row counts depends on the others",
        source="deduplication before training",
        killed_by="tests/privacy/mutants_killed/test_row_local.py::test_every_row_is_there_once_and_in_order",
    ),
    Mutant(
        name="rare-values-dropped",
        module=CODING,
        function="coded_table",
        before="""
            if bound is not None:
                tags = [unit_tags(names, key) for names in units]
                kept = weights_among(np.concatenate([np.empty((0, 2), np.uint64), *tags]), bound) > 0
                records, owners = records[kept], owners[kept]
        """,
        after="""
            if bound is not None:
                tags = [unit_tags(names, key) for names in units]
                kept = weights_among(np.concatenate([np.empty((0, 2), np.uint64), *tags]), bound) > 0
                records, owners = records[kept], owners[kept]
            if len(records):
                rare = np.bincount(records[:, 0])[records[:, 0]] < 2
                records[rare, 0] = 0
        """,
        bug="a category that only one row has is merged into another",
        source="rare-category protection by exact counts (k-anonymity in front of DP)",
        killed_by=ALONE,
    ),
    Mutant(
        name="rules-from-data",
        module=CODING,
        function="coded_table",
        before="partial(forbidden_pairs, domain)",
        after="""
            lambda: {
                (0, 1): np.histogram2d(
                    *records[:, :2].T, bins=[np.arange(n + 1) for n in domain.cardinalities[:2]]
                )[0]
                == 0
            }
        """,
        bug="combinations that no record has are taken for impossible, so the exact support of two columns is learnt",
        source="structural zeros read off the private table (MST's domain compression without its noise)",
        killed_by="tests/workers/test_coding.py::test_what_rules_forbid_follows_from_the_domain_alone",
    ),
    Mutant(
        name="unit-column-ignored",
        module=CODING,
        function="coded_table",
        before="np.arange(len(records)) if domain.privacy_unit is None else _numbered(units)",
        after="np.arange(len(records)) if len(units) >= 0 else _numbered(units)",
        bug="a person's records count as so many persons",
        source="record-level epsilon reported for people",
        killed_by="tests/workers/test_coding.py::test_units_are_numbered_by_first_appearance_whatever_the_batches",
    ),
    Mutant(
        name="too-many-units-taken",
        module="core.data.intake.unit_limit",
        function="UnitLimit._check",
        before="units > self._limit",
        after="units > self._limit**2",
        bug="a table far larger than declared is taken, so the public cap on a batch can fail on its size",
        source="declared size unrelated to the data",
        killed_by="tests/core/data/test_unit_limit.py::test_records_are_counted_where_each_is_its_own_unit",
    ),
    Mutant(
        name="plan-of-another-declared-size",
        module="core.jobs.orders",
        function="_require_made_for",
        before="made_for == (size, dataset.adjacency, dataset.privacy_unit, declared)",
        after="made_for[1:] == (dataset.adjacency, dataset.privacy_unit, declared)",
        bug="a plan made for a larger population runs on a smaller one, with its smaller sampling rate",
        source="n as a free parameter of the caller",
        killed_by="tests/core/jobs/test_orders.py::test_a_plan_of_another_dataset_is_refused",
    ),
    Mutant(
        name="plan-of-another-bound-on-records",
        module="core.jobs.orders",
        function="_require_made_for",
        before="made_for == (size, dataset.adjacency, dataset.privacy_unit, declared)",
        after="made_for[:3] == (size, dataset.adjacency, dataset.privacy_unit)",
        bug="a plan that counts more records of a unit than the dataset declares is taken",
        source="K as a free parameter of the caller",
        killed_by="tests/core/jobs/test_orders.py::test_a_plan_counts_as_many_records_of_a_unit_as_the_dataset_declares",
    ),
)
