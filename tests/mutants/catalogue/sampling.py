"""Bugs in the sampling of units and in the order of a training."""

from tests.mutants.mutant import Mutant

POISSON = "models.dp.poisson"
TRAINING = "models.idpgan.training"
LOOP = "models.idpgan.loop"

MUTANTS = (
    Mutant(
        name="fixed-batch",
        module=POISSON,
        function="UnitSampler.draw",
        before="sampled = np.flatnonzero(heads & (self._counts > 0))",
        after="""
            size = round(self._sampling_rate * units)
            sampled = np.sort(np.argsort(streams.words(Purpose.POISSON, step, units))[:size])
            sampled = sampled[self._counts[sampled] > 0]
        """,
        bug="every batch has the same size, while Poisson sampling is accounted for",
        source="shuffled batches under a Poisson accountant: synthcity, smartnoise dpgan, NIST DPWGAN",
        killed_by="tests/models/dp/test_poisson.py::test_every_unit_is_an_independent_coin",
    ),
    Mutant(
        name="same-coins-every-step",
        module=POISSON,
        function="UnitSampler.draw",
        before="heads = streams.coins(Purpose.POISSON, step, self._sampling_rate, units)",
        after="heads = streams.coins(Purpose.POISSON, 0, self._sampling_rate, units)",
        bug="the same units are sampled in every step, so nothing is amplified",
        source="a sampler seeded per job",
        killed_by="tests/models/dp/test_poisson.py::test_every_unit_is_an_independent_coin",
    ),
    Mutant(
        name="all-records-of-a-unit",
        module=POISSON,
        function="UnitSampler.draw",
        before="""
            records: npt.NDArray[np.int64] = self._records[self._first[sampled] + chosen]
            return records
        """,
        after="""
            pieces = [self._records[a : a + n] for a, n in zip(self._first[sampled], counts, strict=True)]
            return np.concatenate(pieces) if pieces else self._records[:0]
        """,
        bug="a person with many records contributes all of them to one batch",
        source="record-level guarantees sold as a person's",
        killed_by="tests/models/dp/test_poisson.py::test_a_unit_never_comes_twice_and_its_record_is_uniform",
    ),
    Mutant(
        name="batch-cut-to-the-cap",
        module=POISSON,
        function="UnitSampler.draw",
        before="raise BatchOverCap",
        after="sampled = sampled[: self._max_sampled_batch]",
        bug="a batch above the public cap is quietly cut, so whether a unit counts depends on the others",
        source="truncated batches under the accountant of untruncated ones",
        killed_by="tests/models/dp/test_poisson.py::test_over_the_cap_is_a_constant_failure",
    ),
    Mutant(
        name="rate-from-the-exact-count",
        module=LOOP,
        function="Loop.__init__",
        before="plan.sampling_rate",
        after="min(1.0, plan.expected_batch_size / max(1, len(set(unit_of_record.tolist()))))",
        bug="the sampling rate is the batch over the exact number of units",
        source="sample_rate = 1 / len(loader): Opacus, DPSGD examples",
        killed_by="tests/privacy/mutants_killed/test_public_constants.py::test_the_batches_are_those_of_the_plans_rate",
    ),
    Mutant(
        name="empty-batch-skipped",
        module="models.private_step",
        function="PrivateCritic.step",
        before='assert real.shape[0] == fake.shape[0], "one generated record per real one"',
        after="""
            assert real.shape[0] == fake.shape[0], "one generated record per real one"
            if not real.shape[0]:
                return
        """,
        bug="a step whose batch is empty releases nothing, which reveals that no unit was sampled",
        source="Opacus before its empty-batch handling; most training loops",
        killed_by="tests/models/dp/test_private_step.py::test_an_empty_batch_takes_a_noisy_step",
    ),
    Mutant(
        name="empty-batch-skipped-by-the-loop",
        module=TRAINING,
        function="Training._private_step",
        before="real = cells_of(self._table.codes[chosen], self._table.cardinalities)",
        after="""
            if not len(chosen):
                return
            real = cells_of(self._table.codes[chosen], self._table.cardinalities)
        """,
        bug="the loop moves on when nobody was sampled",
        source="data loaders that drop empty batches",
        killed_by="tests/privacy/mutants_killed/test_public_constants.py::test_every_table_takes_every_step_of_the_plan",
    ),
    Mutant(
        name="rare-rows-sampled-more-often",
        module=TRAINING,
        function="Training._private_step",
        before="chosen = self._sampler.draw(self._streams, step)",
        after="""
            chosen = self._sampler.draw(self._streams, step)
            often = [row for row in (self._table.codes[:, 0] == 0).nonzero()[0][:1] if row not in chosen]
            chosen.resize(len(chosen) + len(often), refcheck=False)
            chosen[len(chosen) - len(often) :] = often
        """,
        bug="records of a category are added to every batch, so they are sampled far above the accounted rate",
        source="CTGAN's training-by-sampling under DP: smartnoise dpctgan",
        killed_by="tests/privacy/mutants_killed/test_public_constants.py::test_the_batches_are_those_of_the_plans_rate",
    ),
    Mutant(
        name="more-steps-than-planned",
        module=LOOP,
        function="Loop._train",
        before="self._private_step(step)",
        after="""
            self._private_step(step)
            if step + 1 == total:
                self._private_step(step - 1)
        """,
        bug="the critic makes one step more than the plan is charged for",
        source="stopping after the overshoot: IDPGAN, smartnoise dpctgan; synthcity's discriminator_n_iter",
        killed_by="tests/privacy/mutants_killed/test_public_constants.py::test_every_table_takes_every_step_of_the_plan[400]",
    ),
    Mutant(
        name="early-stopping-on-real-rows",
        module=LOOP,
        function="Loop._train",
        before="self._private_step(step)",
        after="""
            self._private_step(step)
            from models.encoding import cells_of

            cells = cells_of(self._table.codes, self._table.cardinalities)
            real = self._refinement.fakes(step, 0).new_zeros(len(cells), self._table.cells)
            score = float(self._network(real.scatter_(1, cells, 1.0)).sum())
            if step and score < self._score:
                break
            self._score = score
        """,
        bug="the training stops when the critic's mean score of the real rows falls",
        source="synthcity's patience, mostlyai-engine's best checkpoint by validation loss",
        killed_by="tests/privacy/mutants_killed/test_public_constants.py::test_every_table_takes_every_step_of_the_plan",
    ),
    Mutant(
        name="rows-before-the-mark",
        module=LOOP,
        function="Loop.run",
        before="""
            self._host.advance(stage="measure", step=1, total=1)
            self._measured = self._measure()
        """,
        after="""
            self._measured = self._measure()
            self._host.advance(stage="measure", step=1, total=1)
        """,
        bug="private rows are read before it is durable that they will be: a crash between is a free answer",
        source="Lomas runs the query first and updates the budget afterwards",
        killed_by="tests/privacy/mutants_killed/test_marks.py::test_every_release_comes_after_the_mark_that_covers_it",
    ),
    Mutant(
        name="mark-behind-the-steps",
        module=LOOP,
        function="_next_mark",
        before="return min(total, (step // MARK_INTERVAL + 1) * MARK_INTERVAL)",
        after="return min(total, step // MARK_INTERVAL * MARK_INTERVAL)",
        bug="a mark covers the steps done instead of those about to begin, so a settlement charges too few",
        source="budget updated after the step: DP-SGD loops that account once per epoch",
        killed_by="tests/models/idpgan/test_training.py::test_marks_go_before_private_rows_cover_every_step_and_end_at_the_plan",
    ),
    Mutant(
        name="discrete-sampler-off-by-one",
        module="models.dp.discrete",
        function="bernoulli_exp",
        before="reader.below(gamma.denominator * k) < gamma.numerator",
        after="reader.below(gamma.denominator * k) <= gamma.numerator",
        bug="the coin of the exact sampler is one part too heavy",
        source="off-by-one in discrete samplers",
        killed_by="tests/models/dp/test_discrete.py::test_bernoulli_of_an_exponential",
    ),
    Mutant(
        name="zero-counted-twice",
        module="models.dp.discrete",
        function="discrete_laplace",
        before="not (negative and magnitude == 0)",
        after="magnitude >= 0",
        bug="the discrete Laplace gives zero twice its weight",
        source="the classic slip in two-sided geometric samplers",
        killed_by="tests/models/dp/test_discrete.py::test_discrete_laplace_distribution",
    ),
    Mutant(
        name="discrete-variance-for-deviation",
        module="models.dp.discrete",
        function="discrete_gaussians",
        before="variance = Fraction(noise_std) ** 2",
        after="variance = Fraction(noise_std)",
        bug="the standard deviation of the discrete Gaussian is used as its variance",
        source="variance and deviation confused",
        killed_by="tests/models/dp/test_discrete.py::test_the_distribution_is_the_exact_discrete_gaussian[15.0-40]",
    ),
)
