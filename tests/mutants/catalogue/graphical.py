"""Bugs in what aim and mst release."""

from tests.mutants.mutant import Mutant

MEASURING = "models.graphical.measuring"
MARGINALS = "core.plan.graphical"
TESTS = "tests/models/graphical/test_measuring.py"
MOVED = f"{TESTS}::test_a_unit_moves_every_release_by_at_most_its_sensitivity"
NOISE = f"{TESTS}::test_every_release_has_the_planned_noise"
PLAN = "tests/core/plan/test_graphical.py"

MUTANTS = (
    Mutant(
        name="marginals-without-noise",
        module="models.dp.count_noise",
        function="release_counts",
        before="noisy = exact + on_grid(streams.normals(purpose, step, len(exact)) * std)",
        after="""
            noise = on_grid(streams.normals(purpose, step, len(exact)) * std)
            noisy = exact + (noise if purpose != Purpose.MARGINAL_NOISE else 0 * noise)
        """,
        bug="the marginals that were chosen are released exactly",
        source="noise missing in one part of a release",
        killed_by=NOISE,
    ),
    Mutant(
        name="scores-noised-as-one",
        module=MEASURING,
        function="Measuring.scores",
        before="std = self._plan.scores_noise_multiplier * self._plan.scores_sensitivity",
        after="std = self._plan.scores_noise_multiplier",
        bug="every score gets the noise of a single one",
        source="report-noisy-max with Gaussian noise of the largest score's sensitivity (only exponential noise may)",
        killed_by=NOISE,
    ),
    Mutant(
        name="graph-records-instead-of-units",
        module=MEASURING,
        function="Measuring.__init__",
        before="np.floor((1.0 / GRID) / records)",
        after="np.floor((1.0 / GRID) / np.ones_like(records))",
        bug="a person with many records counts once a record",
        source="unit and record confused",
        killed_by=MOVED,
    ),
    Mutant(
        name="absolute-scores-of-double-sensitivity",
        module=MEASURING,
        function="Measuring._excesses",
        before="np.maximum(self._counts(clique).astype(np.int64) - public, 0).sum()",
        after="2 * np.maximum(self._counts(clique).astype(np.int64) - public, 0).sum()",
        bug="a score changes by two, as the L1 distance does where records are replaced",
        source="sensitivities under add-or-remove and replace-one confused",
        killed_by=MOVED,
    ),
    Mutant(
        name="rounds-share-their-noise",
        module="models.dp.count_noise",
        function="release_counts",
        before="streams.normals(purpose, step, len(exact))",
        after="streams.normals(purpose, 0, len(exact))",
        bug="all rounds add the same noise, so their difference is exact",
        source="a stream addressed without its step",
        killed_by=f"{TESTS}::test_rounds_have_noise_of_their_own_and_a_kept_release_is_not_made_again",
    ),
    Mutant(
        name="kept-release-made-again",
        module=MEASURING,
        function="Measuring._released",
        before="kept = self.released.get((purpose, number))",
        after="kept = None",
        bug="a resumed job releases again what an earlier attempt released",
        source="noise drawn again after a crash",
        killed_by=f"{TESTS}::test_rounds_have_noise_of_their_own_and_a_kept_release_is_not_made_again",
    ),
    Mutant(
        name="columns-for-free",
        module=MARGINALS,
        function="MarginalsPlan.one_way_sensitivity",
        before="return sensitivity_above(math.sqrt(self.columns))",
        after="return sensitivity_above(1.0)",
        bug="the one-way counts of all columns are noised as those of one",
        source="sensitivity of a vector taken for that of a part",
        killed_by=MOVED,
    ),
    Mutant(
        name="marginals-of-a-round-for-free",
        module=MARGINALS,
        function="MarginalsPlan.marginals_sensitivity",
        before="return sensitivity_above(math.sqrt(self.marginals_per_round))",
        after="return sensitivity_above(1.0)",
        bug="the marginals of a round are noised as one",
        source="sensitivity of a vector taken for that of a part",
        killed_by=MOVED,
    ),
    Mutant(
        name="rounds-not-composed",
        module=MARGINALS,
        function="MarginalsPlan.parts",
        before="noises = (self.one_way_noise_multiplier, *(one_round * self.rounds))",
        after="noises = (self.one_way_noise_multiplier, *one_round)",
        bug="one round is accounted for, and all of them run",
        source="composition forgotten",
        killed_by=f"{PLAN}::test_the_whole_budget_is_used_and_not_exceeded",
    ),
    Mutant(
        name="rounds-with-the-whole-share-each",
        module=MARGINALS,
        function="marginals_plan",
        before="noise(options.selection_share / rounds)",
        after="noise(options.selection_share)",
        bug="the scores of every round have the noise of all rounds together",
        source="budget not divided",
        killed_by=f"{PLAN}::test_the_whole_budget_is_used_and_not_exceeded",
    ),
    Mutant(
        name="choice-by-exact-scores",
        module="models.graphical.synthesizer",
        function="_Job._choice",
        before="gained = gains(scores, self._candidates, self._cardinalities, noise_std=std)",
        after="""
            scores = self._measuring._excesses(expected)
            gained = gains(scores, self._candidates, self._cardinalities, noise_std=std)
        """,
        bug="noisy scores are released, and exact ones choose",
        source="selection without a mechanism",
        killed_by="tests/models/graphical/test_synthesizer.py::test_the_choice_follows_the_released_scores_and_nothing_else",
    ),
)
