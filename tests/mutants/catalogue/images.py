"""Bugs in what is released of images, and in selections."""

from tests.mutants.mutant import Mutant

SUMS, ANCHOR = "models.images.sums", "models.images.anchor"
HOSTILE = "tests/models/images/test_sums.py::test_no_unit_of_a_hostile_person_moves_more"
NEIGHBOUR = "tests/models/images/test_sums.py::test_a_unit_moves_every_release_by_at_most_its_sensitivity"
NOISE = (
    "tests/models/images/test_anchor.py::test_the_noise_is_normal_with_the_stated_deviation_and_on_the_grid"
)

MUTANTS = (
    Mutant(
        name="images-of-a-person-in-full",
        module=SUMS,
        function="ImageSums.__init__",
        before="self.shares = unit_shares(images.unit_of_record)",
        after="self.shares = np.ones(len(images.labels))",
        bug="a person with many images contributes all of them in full",
        source="unit and record confused",
        killed_by=NEIGHBOUR,
    ),
    Mutant(
        name="images-unclipped-in-their-mean",
        module=SUMS,
        function="ImageSums.mean_sums",
        before="factor = np.minimum(steps * self._plan.image_norm / np.maximum(norms, 1.0), 1.0)",
        after="factor = np.ones(len(pixels))",
        bug="class means are sums of images of any norm",
        source="bounds assumed of the data: DP means without clipping",
        killed_by=HOSTILE,
    ),
    Mutant(
        name="images-clipped-by-another-norm",
        module=SUMS,
        function="ImageSums.mean_sums",
        before='norms = np.sqrt(np.einsum("ij,ij->i", pixels, pixels))',
        after="norms = 255.0 * np.linalg.norm(self.pixels[part].reshape(-1, self.pixel_count) / 255.0, axis=1)",
        bug="images less grey are summed, clipped by their norms from black",
        source="the norm of one vector clips another",
        killed_by=HOSTILE,
    ),
    Mutant(
        name="images-about-their-exact-brightness",
        module=ANCHOR,
        function="_release_origin",
        before="origin_about(noisy, count_std=std / (COUNT_WEIGHT * BRIGHTNESS_REACH))",
        after="""
            origin_about(
                Sums(counts=private.brightness_sums()[0], sums=private.brightness_sums()[1]), count_std=1.0
            )
        """,
        bug="images are summed less their exact mean brightness, though a noisy one was released",
        source="centring before DP-PCA on the exact mean",
        killed_by="tests/models/images/test_anchor.py::test_what_images_are_summed_about_follows_from_the_noisy_release_alone",
    ),
    Mutant(
        name="the-brightness-of-images-goes-free",
        module="core.plan.images.anchor",
        function="ImageAnchorPlan.parts",
        before="(Gaussian(noise_multiplier=noise) for _, times, _, noise in self.releases for _ in range(times))",
        after="""
            (
                Gaussian(noise_multiplier=noise)
                for _, times, _, noise in self.releases[1:]
                for _ in range(times)
            )
        """,
        bug="the release of brightness is in no mechanism",
        source="preprocessing left out of the account",
        killed_by="tests/core/plan/test_image_anchor.py::test_the_brightness_takes_its_share_and_is_charged_first",
    ),
    Mutant(
        name="brightness-of-a-person-in-full",
        module=SUMS,
        function="ImageSums.brightness_sums",
        before="np.trunc(share * away * BELOW).sum()",
        after="np.trunc(2.0**_SHARE_BITS * away * BELOW).sum()",
        bug="every image of a person adds its whole brightness",
        source="unit and record confused",
        killed_by=HOSTILE,
    ),
    Mutant(
        name="distances-without-reach",
        module=SUMS,
        function="ImageSums.moment_sums",
        before="np.minimum(squares / reach, 1.0)",
        after="squares / reach",
        bug="the sum of squared distances has no bound, for it is taken before clipping",
        source="a statistic added beside a clipped one, unclipped",
        killed_by=HOSTILE,
    ),
    Mutant(
        name="image-sums-without-noise",
        module=ANCHOR,
        function="_release_sums",
        before="drawn[1].reshape(sums.shape)",
        after="0.0 * drawn[1].reshape(sums.shape)",
        bug="class means and cells are released exactly, beside noisy counts",
        source="noise missing in one part of a release",
        killed_by=NOISE,
    ),
    Mutant(
        name="each-image-release-takes-the-whole-share",
        module="core.plan.images.anchor",
        function="image_anchor_plan.noise",
        before="return gaussian_noise_multiplier(guarantee, share=share * part)",
        after="return gaussian_noise_multiplier(guarantee, share=share)",
        bug="each release of the anchor gets the noise of all of them together",
        source="sequential composition forgotten",
        killed_by="tests/core/plan/test_image_plans.py::test_no_plan_exceeds_its_target_and_none_wastes_it",
    ),
    Mutant(
        name="only-the-first-image-release-is-charged",
        module="core.plan.images.anchor",
        function="ImageAnchorPlan.parts",
        before="(Gaussian(noise_multiplier=noise) for _, times, _, noise in self.releases for _ in range(times))",
        after="""
            (
                Gaussian(noise_multiplier=noise)
                for _, times, _, noise in self.releases[:1]
                for _ in range(times)
            )
        """,
        bug="basis, cells and moments of images go free",
        source="preprocessing left out of the account: DP-PCA never composed",
        killed_by="tests/core/plan/test_image_plans.py::test_every_release_of_the_anchor_is_charged_before_the_first_step",
    ),
    Mutant(
        name="class-rows-outside-the-norm",
        module="models.critic.conv_form",
        function="ConvForm._measure_last",
        before="squared_norms(factors.features)[:, None]",
        after="0.0 * squared_norms(factors.features)[:, None]",
        bug="what a record adds to the row of its class is not in its norm",
        source="parameters left out of per-record norms: embedding layers in Opacus forks",
        killed_by="tests/privacy/sensitivity/test_images.py::test_adversarial_records_and_weights",
    ),
    Mutant(
        name="parts-that-overlap",
        module="models.selection.selecting",
        function="Selection._judge_candidates",
        before="self._fit(part_of(self._private, part == number), self._plan.candidates[number], streams, host)",
        after="self._fit(part_of(self._private, part != parts - 1), self._plan.candidates[number], streams, host)",
        bug="every candidate trains on all units but the last part's, charged as one of disjoint parts",
        source="parallel composition on overlapping data",
        killed_by="tests/models/selection/test_selecting.py::test_one_unit_less_moves_one_part_or_the_errors_by_one_and_nothing_else",
    ),
    Mutant(
        name="best-candidate-chosen-exactly",
        module="models.selection.choice",
        function="permute_and_flip",
        before="bernoulli_exp(reader, epsilon * (errors[candidate] - fewest))",
        after="errors[candidate] == fewest",
        bug="the candidate with the fewest errors always wins",
        source="hyper-parameters chosen on real data for nothing: nearly every paper",
        killed_by="tests/models/selection/test_choice.py::test_frequencies_are_the_distributions",
    ),
)
