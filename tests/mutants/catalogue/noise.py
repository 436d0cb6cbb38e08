"""Bugs in the noise: how much, where, and from which stream."""

from tests.mutants.mutant import Mutant

NOISE = "models.dp.noise"
STEP = "models.private_step"
RANDOM = "models.randomness"
NORMAL = "tests/models/dp/test_noise.py::test_noise_distribution_per_group"

MUTANTS = (
    Mutant(
        name="half-the-noise",
        module=NOISE,
        function="NoisyMean.draw",
        before="std = noise.stds[block] / noise.grids[block]",
        after="std = 0.5 * noise.stds[block] / noise.grids[block]",
        bug="every gradient gets half the noise that was paid for",
        source="the classic",
        killed_by=NORMAL,
    ),
    Mutant(
        name="variance-for-deviation",
        module=NOISE,
        function="group_noise_stds",
        before="noise_multiplier * math.sqrt(c / root * total)",
        after="noise_multiplier * (c / root * total)",
        bug="the variance of a group's noise is used as its standard deviation",
        source="variance and deviation confused, a class of its own in reviews of DP code",
        killed_by="tests/models/dp/test_noise.py::test_the_stack_is_one_mechanism_whatever_k_is",
    ),
    Mutant(
        name="noise-missing-in-one-group",
        module=NOISE,
        function="NoisyMean.draw",
        before="self._source.fill(self._drawn[piece], reader, std=std).round_()",
        after="""
            self._source.fill(
                self._drawn[piece], reader, std=std if block < len(noise.stds) - 1 else 0.0
            ).round_()
        """,
        bug="the last group, that of the biases, is released without noise",
        source="IDPGAN's weight clusters leave DBSCAN's outliers in no cluster, so their weights get no noise",
        killed_by="tests/privacy/mutants_killed/test_public_constants.py::test_every_coordinate_of_every_block_has_its_noise",
    ),
    Mutant(
        name="groups-not-counted",
        module=NOISE,
        function="group_noise_stds",
        before="noise_multiplier * math.sqrt(c / root * total)",
        after="noise_multiplier * c",
        bug="every group is noised as if it were alone: K groups cost sqrt(K) times what is charged",
        source="IDPGAN, equation 17; per-layer clipping without the square root of the number of layers",
        killed_by="tests/models/dp/test_noise.py::test_the_stack_is_one_mechanism_whatever_k_is",
    ),
    Mutant(
        name="grid-only-for-the-sum",
        module=NOISE,
        function="NoisyMean.draw",
        before="self._source.fill(self._drawn[piece], reader, std=std).round_()",
        after="self._source.fill(self._drawn[piece], reader, std=std)",
        bug="noise keeps low bits below the public grid, which tell the sum apart",
        source="Mironov 2012; attacks on the floating point of several libraries",
        killed_by="tests/models/dp/test_noise.py::test_releases_lie_on_the_grid",
    ),
    Mutant(
        name="same-noise-every-step",
        module=STEP,
        function="PrivateCritic._begin_noise",
        before="reader = self._streams.reader(Purpose.GRADIENT_NOISE, step)",
        after="reader = self._streams.reader(Purpose.GRADIENT_NOISE, 0)",
        bug="all steps reuse one stream of noise, so differences of releases are exact",
        source="a generator seeded anew in every step",
        killed_by="tests/models/dp/test_noise_ahead.py::test_every_step_asks_for_its_own_noise_and_no_other",
    ),
    Mutant(
        name="address-without-step",
        module=RANDOM,
        function="_nonce",
        before='return int(purpose).to_bytes(4, "little") + step.to_bytes(8, "little")',
        after='return int(purpose).to_bytes(4, "little") + (step * 0).to_bytes(8, "little")',
        bug="the nonce forgets the step: coins and noise repeat in every step",
        source="nonce reuse",
        killed_by="tests/models/test_randomness.py::test_an_address_is_its_nonce",
    ),
    Mutant(
        name="one-address-for-all-sums-of-images",
        module="models.images.anchor",
        function="_release_sums",
        before="streams.normals(*address, counts.size + sums.size)",
        after="streams.normals(Purpose.IMAGE_MEANS_NOISE, 0, counts.size + sums.size)",
        bug="brightness, class means and every round of cells are noised with the same numbers, so that differences of releases have less",
        source="one random stream for everything",
        killed_by="tests/privacy/mutants_killed/test_addresses.py::test_no_two_draws_of_a_job_share_an_address[images]",
    ),
    Mutant(
        name="same-address-for-two-purposes",
        module="models.acts",
        function="AdaptiveThresholds.release",
        before="reader = streams.reader(Purpose.ACTS_NOISE, step)",
        after="reader = streams.reader(Purpose.GRADIENT_NOISE, step)",
        bug="the histograms are noised with the very numbers that noise the gradient of the same step",
        source="one random stream for everything",
        killed_by="tests/privacy/mutants_killed/test_addresses.py::test_no_two_draws_of_a_job_share_an_address",
    ),
    Mutant(
        name="key-that-everybody-knows",
        module=RANDOM,
        function="KeyedStreams.__init__",
        before="self._key = bytes(key)",
        after="self._key = bytes(KEY_BYTES)",
        bug="the noise comes from a fixed key, so anyone with the software can subtract it",
        source="noise seeded from the configuration (dpgan-revisit, and most research code)",
        killed_by="tests/models/idpgan/test_training.py::test_a_job_delivered_twice_gives_the_same_bytes_and_another_key_does_not",
    ),
    Mutant(
        name="fresh-noise-on-resume",
        module=RANDOM,
        function="KeyedStreams.__init__",
        before="self._key = bytes(key)",
        after='self._key = __import__("os").urandom(KEY_BYTES)',
        bug="a resumed job draws fresh noise for steps that were released before, which averages it away",
        source="mostlyai-engine resumes from a checkpoint and forgets the later steps",
        killed_by="tests/models/idpgan/test_training.py::test_a_training_killed_at_any_checkpoint_resumes_to_the_same_bytes[anchor]",
    ),
    Mutant(
        name="no-noise-on-thresholds",
        module="models.acts",
        function="AdaptiveThresholds.release",
        before="noisy = rounded_sum_with_noise(exact, [std] * self._plan.groups, reader, bits=GRID_BITS)",
        after="noisy = rounded_sum_with_noise(exact, [1e-6 * std] * self._plan.groups, reader, bits=GRID_BITS)",
        bug="the histograms of gradient norms are released as good as exact",
        source="adaptive clipping whose count query gets no noise (Opacus)",
        killed_by="tests/models/test_acts.py::test_noise_of_the_histograms",
    ),
    Mutant(
        name="thresholds-from-exact-histograms",
        module=STEP,
        function="PrivateCritic.step",
        before="thresholds = self._acts.update(self._thresholds, noisy)",
        after="thresholds = self._acts.update(self._thresholds, self._acts.counts(squares) + 0.0 * noisy)",
        bug="noisy histograms are released, but the clipping thresholds follow the exact ones",
        source="a private value that steers the training beside its noisy twin",
        killed_by="tests/privacy/mutants_killed/test_public_constants.py::test_thresholds_follow_what_was_released_and_nothing_else[thresholds]",
    ),
    Mutant(
        name="clusters-of-exact-thresholds",
        module=STEP,
        function="PrivateCritic.step",
        before="self._adopt(thresholds, self._cluster(thresholds))",
        after="""
            self._adopt(
                thresholds, self._cluster(self._acts.update(self._thresholds, self._acts.counts(squares)))
            )
        """,
        bug="thresholds follow the noisy histograms, but which blocks form a group follows the exact ones",
        source="IDPGAN's weight clusters, made before the noise is added",
        killed_by="tests/privacy/mutants_killed/test_public_constants.py::test_thresholds_follow_what_was_released_and_nothing_else[clusters]",
    ),
)
