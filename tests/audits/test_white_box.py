"""The canary audit of the real jobs: they reach what they claim, and no more; broken twins exceed it.

Keys are fixed, so the results are too. Over the choice of keys, "more than claimed" rejects a sound job with
probability at most 1e-6 a test (one-sided bound of that confidence). That 90 % of the claim is measured (80 % where the
games are few) could fail for other keys in one case in twenty; `make audit` plays enough games to prove it.
"""

import pytest
import torch
from scipy import stats

from core.dp.accountant import epsilons
from tests.audits.bounds import Errors, epsilon_by_threshold, mu_by_location
from tests.audits.claims import audited_mechanism
from tests.audits.game import train
from tests.audits.jobs import (
    anchor_game,
    flat_game,
    labels_game,
    resumed_game,
    sampled_game,
    thresholds_game,
    whole_game,
)
from tests.audits.transcript import Transcript
from tests.audits.twins import (
    DEATHS,
    counts_with_a_quarter_of_the_noise,
    exact_label_counts,
    train_on_everybody,
    train_through_deaths,
    train_with_a_quarter_of_the_noise,
    train_with_fresh_noise_on_resume,
)

SURE = 1 - 1e-6


def both(game, count):
    return game.scores(range(count), present=True), game.scores(range(count), present=False)


@pytest.mark.parametrize(
    ("make", "count", "share"),
    [
        pytest.param(flat_game, 60, 0.85, id="flat", marks=pytest.mark.long),
        pytest.param(thresholds_game, 50, 0.8, id="thresholds", marks=pytest.mark.long),
        pytest.param(anchor_game, 100, 0.9, id="anchor", marks=pytest.mark.long),
        # The anchor and the steps in one job.
        pytest.param(whole_game, 50, 0.8, id="whole", marks=pytest.mark.long),
        pytest.param(flat_game, 200, 0.9, id="flat-long", marks=pytest.mark.long),
        pytest.param(anchor_game, 400, 0.9, id="anchor-long", marks=pytest.mark.long),
    ],
)
def test_a_canary_measures_what_is_claimed_and_no_more(make, count, share):
    game = make()
    found = mu_by_location(*both(game, count), confidence=SURE)
    assert found.estimate >= share * game.claimed_mu
    assert found.lower <= game.claimed_mu


@pytest.mark.parametrize(
    ("game", "count"),
    [
        pytest.param(flat_game(audited=train_with_a_quarter_of_the_noise), 25, id="a-quarter-of-the-noise"),
        pytest.param(
            anchor_game(audited=counts_with_a_quarter_of_the_noise), 25, id="a-quarter-of-the-anchors-noise"
        ),
        pytest.param(
            resumed_game(steps=1, audited=train_with_fresh_noise_on_resume),
            20,
            id="fresh-noise-on-resume",
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_twin_with_less_noise_is_caught(game, count):
    """With 1 - 1e-6 confidence: the bound that a sound job passes is exceeded."""
    assert mu_by_location(*both(game, count), confidence=SURE).lower > game.claimed_mu


def test_a_job_that_dies_and_resumes_gives_the_same_release_again():
    """So the averaging attack learns nothing: nine attempts, one release."""
    game = resumed_game(steps=2)
    heard = Transcript()
    train_through_deaths(game.with_canary, game.plan, bytes(32), heard)
    (_, first), (_, last) = sorted(heard.released.items())
    assert len(first) == 1
    assert len(last) == DEATHS + 1
    assert all(torch.equal(each[0], last[0][0]) for each in last)


@pytest.mark.long
def test_the_label_histogram_leaks_what_is_claimed_and_no_more():
    """At delta 0.2, where one threshold shows 99 % of the claim; discrete scores, so by threshold alone."""
    game = labels_game()
    claim = epsilons(audited_mechanism(game.plan), delta=0.2).reported
    errors = Errors.of(*both(game, 1500), threshold=0.0)
    assert 0.7 * claim <= epsilon_by_threshold(errors, delta=0.2, confidence=SURE) <= claim


def test_exact_label_counts_are_caught():
    game = labels_game(audited=exact_label_counts)
    claim = epsilons(audited_mechanism(game.plan), delta=0.2).reported
    errors = Errors.of(*both(game, 400), threshold=0.0)
    assert epsilon_by_threshold(errors, delta=0.2, confidence=SURE) > claim


def test_the_adversary_finds_by_running_again_what_the_job_noised():
    """Which is why one run can be spared: the same to the bit."""
    for game in (flat_game(), whole_game()):
        key, heard = game.key(0, present=True), Transcript()
        train(game.with_canary, game.plan, key, heard)
        again = game.expected(heard, key, present=True)
        assert again.keys() == heard.means.keys()
        for name, parts in again.items():
            assert all(torch.equal(a, b) for (a, _), (b, _) in zip(parts, heard.means[name], strict=True))


@pytest.mark.long
def test_with_sampling_no_more_leaks_than_the_accountant_says():
    """Thresholds of the likelihood ratio fixed beforehand, at delta 0.2, where so few games show a twin that samples everybody."""
    count = 150
    game, twin = sampled_game(), sampled_game(audited=train_on_everybody)
    claim = epsilons(game.plan.mechanism, delta=0.2).reported
    present, absent = both(game, count)
    present_in_all = twin.scores(range(count), present=True)  # nobody else is in the table to be sampled
    for threshold in (0.0, 1.0):
        sound, broken = (
            Errors.of(scores, absent, threshold=threshold) for scores in (present, present_in_all)
        )
        assert epsilon_by_threshold(sound, delta=0.2, confidence=SURE) <= claim
        assert epsilon_by_threshold(broken, delta=0.2, confidence=SURE) > claim
    assert stats.mannwhitneyu(present, absent, alternative="greater").pvalue < 0.05
