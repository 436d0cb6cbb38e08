"""Bugs in the label histogram and in the anchor."""

from tests.mutants.mutant import Mutant

ANCHOR = "models.tables.anchor"
COUNTING_RULES = "core.plan.counting_rules"
LABELS = "models.labels"
MEASUREMENT = "models.tables.measurement.measure"
ROUNDS = "models.tables.measurement.count_rounds"
EXCHANGED = "tests/models/tables/test_count_rounds.py"
STAGES = "core.plan.stages"
COMBINATIONS = "tests/models/tables/test_combinations.py::"
DEVIATION = (
    "tests/models/tables/test_anchor.py::test_the_noise_has_the_planned_deviation_on_every_column_and_table"
)
SENSITIVITY = (
    "tests/models/tables/test_anchor.py::test_the_sensitivity_of_both_rounds_is_the_plans_whatever_the_groups"
)
CHANGES = "tests/core/plan/test_plan.py::test_the_sensitivity_is_what_one_record_changes"
NEIGHBOURS = "tests/models/tables/test_grouping.py::test_neighbours_with_one_noisy_first_round_have_one_layout_and_a_second_round_within_its_sensitivity"

MUTANTS = (
    Mutant(
        name="exact-label-prior",
        module=LABELS,
        function="noisy_distribution",
        before="noisy = (counts + noise).astype(np.float64)",
        after="noisy = (counts + 0 * noise).astype(np.float64)",
        bug="the class shares of generated rows are the exact ones",
        source="smartnoise dpctgan (raw category frequencies); IDPGAN says nothing of its labels",
        killed_by="tests/privacy/mutants_killed/test_label_distribution.py::test_the_counts_are_noised_by_the_planned_distribution",
    ),
    Mutant(
        name="labels-counted-by-record",
        module=LABELS,
        function="noisy_label_distribution",
        before="table.codes[first, table.target_index]",
        after="table.codes[:, table.target_index]",
        bug="a person's label counts once per record, so the histogram has no bounded sensitivity",
        source="unit and record confused",
        killed_by="tests/models/test_labels.py::test_a_unit_moves_one_count_of_the_label_distribution_whatever_its_number_of_records",
    ),
    Mutant(
        name="anchor-columns-by-class-exact",
        module=ANCHOR,
        function="noisy_moments",
        before="ones[index] = exact.ones[index] + on_grid(drawn.diagonal() * one_stds)",
        after="ones[index] = exact.ones[index] + 0.0 * on_grid(drawn.diagonal() * one_stds)",
        bug="the counts of columns by class are released without noise",
        source="noise missing in one part of a release",
        killed_by=DEVIATION,
    ),
    Mutant(
        name="anchor-first-round-exact",
        module=ANCHOR,
        function="noisy_columns",
        before="[values + on_grid(piece * std) for values, piece, std in zip(exact, pieces, stds, strict=True)]",
        after="""
            [
                values + 0.0 * on_grid(piece * std)
                for values, piece, std in zip(exact, pieces, stds, strict=True)
            ]
        """,
        bug="the first round, the counts of columns, is released without noise",
        source="noise missing in one part of a release",
        killed_by=DEVIATION,
    ),
    Mutant(
        name="anchor-combinations-exact",
        module=ANCHOR,
        function="_noisy_combinations",
        before="on_grid(streams.normals(Purpose.ANCHOR_NOISE, 0, exact.shape) * std)",
        after="0.0 * on_grid(streams.normals(Purpose.ANCHOR_NOISE, 0, exact.shape) * std)",
        bug="the counts of all combinations of codes are released without noise",
        source="noise missing in one part of a release",
        killed_by=COMBINATIONS
        + "test_the_counts_are_exact_and_the_noise_has_the_planned_deviation_on_every_cell",
    ),
    Mutant(
        name="anchor-combinations-with-one-noise",
        module=ANCHOR,
        function="_noisy_combinations",
        before="streams.normals(Purpose.ANCHOR_NOISE, 0, exact.shape)",
        after="streams.normals(Purpose.ANCHOR_NOISE, 0, (1,) * exact.ndim)",
        bug="all combinations of codes get the same noise, so their differences are exact",
        source="one draw of noise for a whole vector",
        killed_by=COMBINATIONS
        + "test_the_counts_are_exact_and_the_noise_has_the_planned_deviation_on_every_cell",
    ),
    Mutant(
        name="anchor-combinations-weigh-a-table-for-each-cell",
        module="core.plan.counting_rules",
        function="table_weights",
        before="(1.0 - 1e-12) * math.comb(len(group_counts), 2)",
        after="(1.0 - 1e-12) * math.prod(group_counts)",
        bug="the table of all combinations has a weight that the plan's sensitivity does not hold",
        source="weighted queries noised as if unweighted",
        killed_by=COMBINATIONS + "test_a_unit_moves_the_counts_by_at_most_what_was_paid",
    ),
    Mutant(
        name="anchor-weights-ignored",
        module=ANCHOR,
        function="noisy_moments",
        before="one_stds = anchor.noise_std / layout.one_weights if layout.by_class else np.ones(layout.cells)",
        after="one_stds = anchor.noise_std / layout.one_weights**2 if layout.by_class else np.ones(layout.cells)",
        bug="counts of columns by class get other noise than their weight in the sensitivity asks for",
        source="weighted queries noised as if unweighted",
        killed_by=DEVIATION,
    ),
    Mutant(
        name="columns-with-the-widest-columns-noise",
        module=ANCHOR,
        function="noisy_columns",
        before="stds = [anchor.noise_std / weight for weight in weights.tolist()]",
        after="stds = [anchor.noise_std / float(weights.max())] * len(weights)",
        bug="every column gets the noise of the widest, less than its own weight asks for",
        source="an outside attack on this service; one weight taken for another",
        killed_by=DEVIATION,
    ),
    Mutant(
        name="first-round-noised-at-the-pairs-deviation",
        module=ANCHOR,
        function="noisy_columns",
        before="[values + on_grid(piece * std) for values, piece, std in zip(exact, pieces, stds, strict=True)]",
        after="""
            [
                values + on_grid(piece * anchor.noise_multiplier)
                for values, piece, std in zip(exact, pieces, stds, strict=True)
            ]
        """,
        bug="the noise multiplier is taken for the standard deviation, as if the sensitivity were one",
        source="multiplier and standard deviation confused: Opacus issues",
        killed_by=DEVIATION,
    ),
    Mutant(
        name="column-weights-not-normalised",
        module=COUNTING_RULES,
        function="column_weights",
        before="anchor.column_sensitivity / most_records * np.sqrt(powers / math.fsum(powers))",
        after="anchor.column_sensitivity / most_records * np.sqrt(powers / powers.max())",
        bug="the weights of columns grow with their codes, and the sensitivity of the first round does not hold them",
        source="weights applied after the sensitivity was computed",
        killed_by=SENSITIVITY,
    ),
    Mutant(
        name="table-weights-not-normalised",
        module=COUNTING_RULES,
        function="table_weights",
        before="unit = (1.0 - 1e-12) * whole / math.fsum(shares) if tables else 0.0",
        after="unit = 1.0",
        bug="large tables and pairs with the target get less noise, and no other table gets more",
        source="weights applied after the sensitivity was computed",
        killed_by=SENSITIVITY,
    ),
    Mutant(
        name="anchor-weights-not-in-sensitivity",
        module=STAGES,
        function="anchor_plan",
        before="of_columns = most_records**2 * diagonal_weight**2 * columns",
        after="of_columns = most_records**2 * float(columns)",
        bug="the plan's sensitivity of the first round forgets the weight of columns",
        source="weights applied after the sensitivity was computed",
        killed_by=CHANGES,
    ),
    Mutant(
        name="anchor-without-cross-terms",
        module=STAGES,
        function="anchor_plan",
        before="math.sqrt(of_columns + of_pairs)",
        after="math.sqrt(of_columns)",
        bug="the noise is scaled to the first round alone, and the pairs go free",
        source="DP-PCA and Gram matrices with the sensitivity of a mean",
        killed_by=CHANGES,
    ),
    Mutant(
        name="second-round-not-charged",
        module=STAGES,
        function="AnchorPlan.releases",
        before="""
            (
                ("anchor-columns", self.column_sensitivity),
                ("anchor-screening", self.screening_sensitivity),
                ("anchor-tables", self.table_sensitivity),
            )
        """,
        after="""
            (
                ("anchor-columns", self.column_sensitivity),
                ("anchor-screening", self.screening_sensitivity),
            )
        """,
        bug="the second round is released, and the ledger hears of the first alone",
        source="an adaptive second query taken for post-processing",
        killed_by="tests/core/plan/test_plan.py::test_anchor_only_has_the_smallest_multiplier_of_one_exact_gaussian",
    ),
    Mutant(
        name="screening-not-charged",
        module=STAGES,
        function="AnchorPlan.releases",
        before="""
            (
                ("anchor-columns", self.column_sensitivity),
                ("anchor-screening", self.screening_sensitivity),
                ("anchor-tables", self.table_sensitivity),
            )
        """,
        after='(("anchor-columns", self.column_sensitivity), ("anchor-tables", self.table_sensitivity))',
        bug="distances of pairs from independence are released, and the ledger hears nothing of them",
        source="an adaptive query taken for post-processing",
        killed_by="tests/core/plan/test_plan.py::test_anchor_only_has_the_smallest_multiplier_of_one_exact_gaussian",
    ),
    Mutant(
        name="screening-takes-nothing-from-the-tables",
        module=STAGES,
        function="anchor_plan",
        before="of_pairs - of_screening",
        after="of_pairs",
        bug="the releases of the anchor together cost more than its noise multiplier says",
        source="a budget that is spent twice",
        killed_by="tests/models/tables/test_screening.py::test_the_share_comes_out_of_the_tables_and_changes_nothing_of_the_whole",
    ),
    Mutant(
        name="screening-noised-as-one-distance",
        module="models.tables.screening",
        function="screening_std",
        before="anchor.noise_std * most_records * math.sqrt(pairs) / anchor.screening_sensitivity * (1 + 1e-12)",
        after="anchor.noise_std * most_records / anchor.screening_sensitivity",
        bug="every distance gets the noise of a single one, though a record moves all of them",
        source="the sensitivity of one answer taken for that of a vector",
        killed_by="tests/models/tables/test_screening.py::test_a_unit_moves_every_distance_by_at_most_its_records",
    ),
    Mutant(
        name="screening-exact",
        module="models.tables.screening",
        function="noisy_distances",
        before="noisy: Floats = exact + on_grid(streams.normals(Purpose.ANCHOR_NOISE, _STREAM, len(exact)) * std)",
        after="""
            noisy: Floats = exact + 0.0 * on_grid(
                streams.normals(Purpose.ANCHOR_NOISE, _STREAM, len(exact)) * std
            )
        """,
        bug="which pairs are counted is decided by the private rows themselves",
        source="data-dependent choice of queries taken for public: marginals chosen by mutual information",
        killed_by="tests/models/tables/test_screening.py::test_the_noise_is_the_planned_one",
    ),
    Mutant(
        name="pairs-by-the-number-of-rows",
        module="models.tables.measurement.measure",
        function="_target_alone",
        before="""
            return counts_target_alone(
                len(counter.cardinalities),
                counter.target_index,
                anchor,
                declared_size=plan.declared_size,
                most_records=counter.most_records,
            )
        """,
        after="""
            from models.tables.anchor import exact_columns
            return counts_target_alone(
                len(counter.cardinalities),
                counter.target_index,
                anchor,
                declared_size=int(exact_columns(counter)[0].sum()),
                most_records=counter.most_records,
            )
        """,
        bug="whether pairs without the target are counted depends on how many rows there are, not on the declared size",
        source="the number of records taken for public where neighbours differ in it",
        killed_by="tests/models/tables/test_screening.py::test_the_declared_size_and_not_the_rows_leaves_pairs_with_the_target_alone",
    ),
    Mutant(
        name="anchor-sums-all-records-of-a-unit",
        module="models.counting.memory",
        function="average_weights",
        before="weight_of_unit = WHOLE_RECORD // np.maximum(np.bincount(unit_of_record), 1)",
        after="weight_of_unit = np.full(unit_of_record.max() + 1, WHOLE_RECORD)",
        bug="a unit with many records contributes all of them in full",
        source="unclipped sums: SmartNoise SDK",
        killed_by="tests/models/counting/test_memory.py::test_a_unit_counts_as_one_record_at_most",
    ),
    Mutant(
        name="streamed-units-counted-by-record",
        module="models.counting.units",
        function="weights_among",
        before="weights[order] = np.repeat(WHOLE_RECORD // records, records)",
        after="weights[order] = WHOLE_RECORD",
        bug="of a long table, which is counted as it is read, a unit contributes all of its records in full",
        source="unclipped sums: SmartNoise SDK",
        killed_by="tests/models/counting/test_streamed.py::test_a_stream_counts_what_a_table_in_memory_counts",
    ),
    Mutant(
        name="bound-on-records-ignored",
        module="models.counting.units",
        function="weights_among",
        before="np.where(ordinal < bound, WHOLE_RECORD, 0)",
        after="np.full(len(tags), WHOLE_RECORD)",
        bug="the noise is that of K records, and a unit contributes as many as it has",
        source="contribution bounds that are declared and not enforced",
        killed_by="tests/models/counting/test_streamed.py::test_a_bound_lets_so_many_records_of_a_unit_count_fully",
    ),
    Mutant(
        name="bound-not-in-the-plan",
        module="core.plan.noise",
        function="PlanQuestion.anchor",
        before="self.facts.most_records",
        after="1",
        bug="K records of a unit count fully, under the noise of one",
        source="K ignored: bounds of contributions left out of the sensitivity",
        killed_by="tests/core/plan/test_plan.py::test_a_bound_on_the_records_of_a_unit_multiplies_the_sensitivity",
    ),
    Mutant(
        name="bound-not-held-against-the-plan",
        module=ANCHOR,
        function="noisy_moments",
        before="sensitivity = counter.most_records * layout.sensitivity",
        after="sensitivity = layout.sensitivity",
        bug="a table of which K records of a unit count is released under a plan that paid for one",
        source="sensitivity passed in by the caller and never checked: diffprivlib",
        killed_by="tests/models/tables/test_anchor.py::test_a_plan_that_paid_for_fewer_records_of_a_unit_is_refused",
    ),
    Mutant(
        name="anchor-takes-any-sensitivity",
        module=ANCHOR,
        function="noisy_moments",
        before="anchor.table_sensitivity < sensitivity",
        after="anchor.table_sensitivity < 0",
        bug="a plan that paid for a smaller statistic gets the larger one",
        source="sensitivity passed in by the caller and never checked: diffprivlib",
        killed_by="tests/models/tables/test_anchor.py::test_a_plan_with_too_small_a_sensitivity_is_refused",
    ),
    Mutant(
        name="groups-chosen-from-exact-counts",
        module=MEASUREMENT,
        function="_count",
        before="groups = groups_of(columns, counter, plan, pairs=pairs)",
        after="""
            groups = groups_of(
                __import__("models.tables.anchor").tables.anchor.exact_columns(counter), counter, plan, pairs=pairs
            )
        """,
        bug="codes are merged by their exact counts, so which pairs are counted reveals single records",
        source="bins and thresholds chosen by looking at the data: PrivBayes code, synthcity",
        killed_by=NEIGHBOURS,
    ),
    Mutant(
        name="number-of-groups-by-the-exact-size",
        module="models.tables.measurement.second_round",
        function="groups_of",
        before="records_that_count(columns, table, plan)",
        after='max(1, int(__import__("models.tables.anchor").tables.anchor.exact_columns(table)[0].sum()))',
        bug="how many groups there are is decided by the exact number of units",
        source="len(data) as a parameter: Opacus, synthcity (delta = 1 / len(X))",
        killed_by="tests/models/tables/test_grouping.py::test_the_groups_of_a_table_hang_on_its_noisy_counts_and_on_public_facts_alone",
    ),
    Mutant(
        name="number-of-groups-by-the-exact-records",
        module="models.tables.measurement.second_round",
        function="records_that_count",
        before="first_size(columns)",
        after='max(1, int(__import__("models.tables.anchor").tables.anchor.exact_columns(table)[0].sum()))',
        bug="how many groups there are is decided by the exact number of records, where several of a unit count",
        source="len(data) as a parameter: Opacus, synthcity (delta = 1 / len(X))",
        killed_by="tests/models/tables/test_grouping.py::test_where_several_records_of_a_unit_count_their_noisy_number_counts_and_not_that_of_units",
    ),
    Mutant(
        name="declared-size-replaced-by-the-exact",
        module="models.tables.measurement.second_round",
        function="_by_class",
        before="plan.declared_size",
        after='int(__import__("models.tables.anchor").tables.anchor.exact_columns(table)[0].sum())',
        bug="whether counts are taken per class is decided by the exact number of units",
        source="len(data) as a parameter: Opacus, synthcity (delta = 1 / len(X))",
        killed_by="tests/privacy/mutants_killed/test_public_constants.py::test_counts_are_taken_per_class_where_the_declared_size_says_so",
    ),
    Mutant(
        name="members-counts-without-noise-of-their-own",
        module=ROUNDS,
        function="CountRounds._released",
        before="round_streams(streams, number, begun)",
        after='__import__("models.exchange").exchange.public_streams(self._federation)',
        bug="the noise of a member's counts follows from the federation's id, so that everybody can subtract it",
        source="one seed for all clients",
        killed_by=f"{EXCHANGED}::test_no_noise_is_drawn_twice_of_different_questions",
    ),
    Mutant(
        name="members-noise-repeats-on-other-questions",
        module=ROUNDS,
        function="CountRounds._released",
        before="round_streams(streams, number, begun)",
        after='round_streams(streams, number, b"")',
        bug="a member that is handed other sums after a crash answers other questions under the same noise",
        source="noise addressed by round alone, under a board that lies to a resumed member",
        killed_by=f"{EXCHANGED}::test_no_noise_is_drawn_twice_of_different_questions",
    ),
    Mutant(
        name="members-second-round-begun-again",
        module=ROUNDS,
        function="CountRounds.load_checkpoint",
        before="self._begun > len(self._sums) + 1",
        after="False",
        bug="a member whose checkpoint is lost counts a second round again, of questions that others may have changed",
        source="resuming from the newest readable checkpoint",
        killed_by=f"{EXCHANGED}::test_a_second_round_is_not_begun_again_without_its_checkpoint",
    ),
    Mutant(
        name="members-counts-made-again-after-they-left",
        module=ROUNDS,
        function="CountRounds._released",
        before="self._keep({_OWN: torch.from_numpy(_counts_in(own))})",
        after="",
        bug="a member that is resumed on another kind of processor counts other groups of the same rows under the same noise, and hands them in too",
        source="found by an attack on federations",
        killed_by=f"{EXCHANGED}::test_a_member_resumed_on_another_machine_hands_in_the_counts_it_had_made[1]",
    ),
    Mutant(
        name="members-share-one-noise",
        module="core.plan.several_owners.member_plan",
        function="MemberPlan.summed",
        before="copies * self.counts.noise_multiplier",
        after="self.counts.noise_multiplier",
        bug="sums of noisy counts are stated and used with the noise of one member",
        source="an average of k noisy answers taken for one",
        killed_by=f"{EXCHANGED}::test_all_members_hold_one_generator_of_sums_with_the_noise_of_each",
    ),
    Mutant(
        name="distances-from-any-number-of-records",
        module="models.tables.screening",
        function="exact_distances",
        before="min(size, MOST_EXPECTED)",
        after="size",
        bug="a member of a federation hands in counts of so many records that distances overflow, and one record moves one by 2^63",
        source="integers that wrap around where another party chooses the operand",
        killed_by="tests/models/tables/test_screening.py::test_a_record_moves_every_distance_by_at_most_one_whatever_is_expected",
    ),
)
