"""Bugs in utility reports."""

from tests.mutants.mutant import Mutant

TERMS = "models.reports.utility"
TESTS = "tests/models/reports/test_utility.py"
RECORDS = "tests/models/reports/test_records.py"
WORKER = "tests/workers/test_utility_reports.py"
LOOP = f"{TESTS}::test_terms_are_those_of_a_plain_loop"
DEVIATION = f"{TESTS}::test_the_noise_has_the_planned_deviation_and_no_two_numbers_share_it"
MOVED = f"{TESTS}::test_one_unit_more_moves_all_terms_by_at_most_one_over_the_noise_multiplier"

MUTANTS = (
    Mutant(
        name="report-half-the-sensitivity",
        module="core.plan.utility_reports.plan",
        function="ReportPlan.noise_stds",
        before="round_up(self.noise_multiplier * math.sqrt(terms * whole / SHARES[kind]))",
        after="round_up(self.noise_multiplier * math.sqrt(terms * whole / SHARES[kind]) / 2)",
        bug="all terms of a report get half of the noise that is charged",
        source="the sensitivity of a share, 1 / (2 n), divided by two once more",
        killed_by=f"{TESTS}::test_the_sensitivity_that_is_stated_is_the_one_that_is_charged",
    ),
    Mutant(
        name="report-divides-by-the-real-count",
        module=TERMS,
        function="exact_terms",
        before="_distance(shares.counted(records.codes[:, column], len(counts)), counts, declared_size)",
        after="_distance(shares.counted(records.codes[:, column], len(counts)), counts, len(records))",
        bug="the release's shares are scaled by the exact number of rows, which moves every cell with every row",
        source="DataSynthesizer and others: realised counts as denominators",
        killed_by=LOOP,
    ),
    Mutant(
        name="report-classifier-learns-from-real-rows",
        module=TERMS,
        function="exact_terms",
        before="public.right(records)",
        after="""
            PublicSide(
                drawn=records,
                cardinalities=public.cardinalities,
                measured=public.measured,
                target=public.target,
            ).right(records)
        """,
        bug="the classifier behind the score was trained on the real rows, so one row can change every prediction",
        source="train-on-real baselines released beside TSTR scores",
        killed_by=LOOP,
    ),
    Mutant(
        name="report-picture-seen-beside-others",
        module="models.reports.records",
        function="Records.seen",
        before="return self.pixels.reshape(len(self), math.prod(self.pixels.shape[1:])).astype(np.float32)",
        after="""
            return (
                (self.pixels - self.pixels.mean(axis=0))
                .reshape(len(self), math.prod(self.pixels.shape[1:]))
                .astype(np.float32)
            )
        """,
        bug="the classifier sees pictures less the mean of those beside them, so one picture moves what is predicted of others",
        source="whitening and normalisation with statistics of the private data",
        killed_by=f"{RECORDS}::test_an_image_is_coded_and_seen_as_if_it_were_alone[1025]",
    ),
    Mutant(
        name="report-picture-scaled-by-the-brightest",
        module="models.reports.records",
        function="_facts",
        before="bright = STEPS * pixels.sum(axis=(1, 2, 3), dtype=np.int64) // (_SHADES * values)",
        after="bright = STEPS * pixels.sum(axis=(1, 2, 3), dtype=np.int64) // ((int(pixels.max()) + 1) * values)",
        bug="brightness is stated relative to the brightest value among the pictures, so one picture moves the codes of others",
        source="bounds inferred from private data",
        killed_by=f"{RECORDS}::test_brightness_and_detail_are_those_of_a_plain_loop",
    ),
    Mutant(
        name="report-score-counts-double",
        module=TERMS,
        function="exact_terms",
        before="np.where(public.right(records), 1.0, -1.0)",
        after="np.where(public.right(records), 2.0, -2.0)",
        bug="a unit moves the score by two records",
        source="right less wrong taken for right alone, and doubled for it",
        killed_by=LOOP,
    ),
    Mutant(
        name="report-sums-all-records-of-a-unit",
        module=TERMS,
        function="Shares.by_unit",
        before="return cls(of_record=np.floor(_WHOLE / records))",
        after="return cls(of_record=np.full(len(records), float(_WHOLE)))",
        bug="a unit with many records moves every term by all of them",
        source="unit and record confused",
        killed_by=f"{MOVED}[1000-usual]",
    ),
    Mutant(
        name="report-pairs-exact",
        module=TERMS,
        function="with_noise",
        before="streams.normals(Purpose.REPORT_NOISE, KINDS.index(kind), len(exact[kind])) * stds[kind]",
        after="""
            streams.normals(Purpose.REPORT_NOISE, KINDS.index(kind), len(exact[kind])) * (
                0.0 if kind == "pairs" else stds[kind]
            )
        """,
        bug="errors of pairs are released without noise",
        source="noise missing in one part of a release",
        killed_by=DEVIATION,
    ),
    Mutant(
        name="report-kinds-share-their-noise",
        module=TERMS,
        function="with_noise",
        before="KINDS.index(kind)",
        after="0",
        bug="columns, pairs and score get the same noise, so differences of errors hold less of it",
        source="one address of the keyed stream for several draws",
        killed_by=DEVIATION,
    ),
    Mutant(
        name="report-fresh-noise-on-resume",
        module="workers.measuring",
        function="measure",
        before="KeyedStreams(work.randomness_key, releases=record)",
        after='KeyedStreams(__import__("os").urandom(32), releases=record)',
        bug="a report that is measured again after a crash has new noise, and the two average",
        source="retries with fresh randomness",
        killed_by=f"{WORKER}::test_run_again_it_measures_the_same_to_the_byte_and_spends_once",
    ),
    Mutant(
        name="report-opens-rows-before-its-mark",
        module="workers.training_child",
        function="attempt",
        before="mark_opening(work, database=database, store=store)",
        after="",
        bug="rows are read although nothing durable says that measuring has begun, so a cancel gives the charge back",
        source="refund after the data were seen",
        killed_by=f"{WORKER}::test_rows_are_opened_after_the_mark_and_only_then_is_it_charged",
    ),
    Mutant(
        name="report-about-any-release",
        module="workers.measuring",
        function="released_side",
        before="digest != plan.manifest_sha256 or not _is_of(bundle.domain, work.domain)",
        after="not _is_of(bundle.domain, work.domain)",
        bug="what is measured is not what was ordered: a bundle exchanged in the store is compared with the rows",
        source="plan and run apart",
        killed_by=f"{WORKER}::test_a_release_that_is_not_the_one_that_was_ordered_about_is_never_compared[manifest]",
    ),
)
