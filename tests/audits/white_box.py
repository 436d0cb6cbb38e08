"""The long canary audits of small real jobs, sound and broken.

    python -m tests.audits.white_box [--games 2000] [--only NAME ...]

Results go into benchmarks/results/audits/white_box.json; an interrupted audit goes on where it was.
"""

import argparse
import sys
from collections.abc import Callable

import numpy as np
import torch

from core.dp import gaussian
from core.dp.accountant import epsilons
from tests.audits import jobs
from tests.audits.bounds import Errors, Floats, epsilon_by_threshold, mu_by_location, mu_by_threshold
from tests.audits.claims import audited_mechanism, largest_power, profile
from tests.audits.game import Game
from tests.audits.results import cached, commit, keep, remember
from tests.audits.twins import (
    counts_with_a_quarter_of_the_noise,
    exact_label_counts,
    train_on_everybody,
    train_through_deaths,
    train_with_a_quarter_of_the_noise,
    train_with_fresh_noise_on_resume,
)

CONFIDENCE = 0.999
ALARMS = (0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
"""False alarm rates at which the measured power is shown beside the claim's."""
SLICE = 10
BINS = 41

SOUND: dict[str, tuple[Callable[[], Game], float]] = {
    "flat": (jobs.flat_game, 1.0),
    "thresholds": (jobs.thresholds_game, 0.5),
    "whole": (jobs.whole_game, 0.5),
    "anchor": (jobs.anchor_game, 4.0),
    "labels": (jobs.labels_game, 8.0),
    "sampled": (jobs.sampled_game, 1.5),
    "resumed": (lambda: jobs.resumed_game(steps=2, audited=train_through_deaths), 0.5),
}
"""Each sound audit and its number of games, relative to the number asked for."""
TWINS: dict[str, tuple[Callable[[], Game], float]] = {
    "a quarter of the noise": (lambda: jobs.flat_game(audited=train_with_a_quarter_of_the_noise), 0.1),
    "a quarter of the anchor's noise": (
        lambda: jobs.anchor_game(audited=counts_with_a_quarter_of_the_noise),
        0.1,
    ),
    "fresh noise on resume": (
        lambda: jobs.resumed_game(steps=1, audited=train_with_fresh_noise_on_resume),
        0.1,
    ),
    "exact label counts": (lambda: jobs.labels_game(audited=exact_label_counts), 1.0),
    "everybody sampled, a quarter claimed": (lambda: jobs.sampled_game(audited=train_on_everybody), 0.5),
}


def play(name: str, game: Game, count: int) -> tuple[Floats, Floats]:
    """Scores of `count` games in each world, kept every `SLICE` games."""
    worlds = []
    for present in (True, False):
        kept = f"{name}-{present}".replace(" ", "-")
        scores = cached(kept)
        while len(scores) < count:
            more = range(len(scores), min(len(scores) + SLICE, count))
            scores = np.concatenate([scores, game.scores(more, present=present)])
            remember(kept, scores)
        worlds.append(scores[:count])
    return worlds[0], worlds[1]


def judged(game: Game, present: Floats, absent: Floats) -> dict[str, object]:
    """Everything the page shows of one audit."""
    errors = Errors.of(present, absent, threshold=0.0)
    mechanism = audited_mechanism(game.plan)
    entry: dict[str, object] = {
        "games": len(present),
        "steps": game.plan.steps,
        "sampling_rate": game.plan.sampling_rate,
        "errors": [errors.false_alarms, errors.misses],
        "confidence": CONFIDENCE,
        "curve": _curve(game, present, absent),
        "histogram": _histogram(present, absent),
    }
    if game.plan.sampling_rate < 1.0 or game.plan.label_histogram is not None:
        delta = 0.2 if game.plan.label_histogram is not None else 0.1
        return entry | {
            "delta": delta,
            "claimed_epsilon": epsilons(mechanism, delta=delta).reported,
            "epsilon_by_threshold": epsilon_by_threshold(errors, delta=delta, confidence=CONFIDENCE),
            "claimed_epsilon_1e-6": epsilons(mechanism, delta=1e-6).reported,
            "epsilon_by_threshold_1e-6": epsilon_by_threshold(errors, delta=1e-6, confidence=CONFIDENCE),
        }
    found = mu_by_location(present, absent, confidence=CONFIDENCE)
    return entry | {
        "claimed_mu": game.claimed_mu,
        "mu": found.estimate,
        "mu_lower": found.lower,
        "mu_upper": found.upper,
        "mu_by_threshold": mu_by_threshold(errors, confidence=CONFIDENCE),
        "claimed_epsilon_1e-6": gaussian.epsilon_of(game.claimed_mu, 1e-6),
        "epsilon_lower_1e-6": gaussian.epsilon_of(max(found.lower, 1e-3), 1e-6),
    }


def _curve(game: Game, present: Floats, absent: Floats) -> list[list[float]]:
    """At each false alarm rate: the threshold's measured rates and the claim's largest power at the measured rate."""
    thresholds = np.quantile(absent, 1.0 - np.array(ALARMS))
    alarms = np.array([(absent > threshold).mean() for threshold in thresholds])
    power = np.array([(present > threshold).mean() for threshold in thresholds])
    allowed = largest_power(profile(audited_mechanism(game.plan)), alarms)
    return [[float(f"{value:.5g}") for value in row] for row in zip(alarms, power, allowed, strict=True)]


def _histogram(present: Floats, absent: Floats) -> dict[str, list[float]]:
    edges = np.linspace(min(present.min(), absent.min()), max(present.max(), absent.max()), BINS)
    return {
        "edges": [float(f"{edge:.5g}") for edge in edges],
        "present": np.histogram(present, edges)[0].tolist(),
        "absent": np.histogram(absent, edges)[0].tolist(),
    }


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--games", type=int, default=2000, help="games in each world, for the plainest audit")
    parser.add_argument("--only", nargs="*", default=None, help="these audits alone")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    commit()
    for kind, audits in (("sound", SOUND), ("twins", TWINS)):
        for name, (make, share) in audits.items():
            if chosen.only is None or name in chosen.only:
                game = make()
                entry = judged(game, *play(name, game, round(share * chosen.games)))
                keep("white_box", kind=kind, key=name, entry=entry)
                shown = {key: value for key, value in entry.items() if key not in {"curve", "histogram"}}
                sys.stdout.write(f"{name}: {shown}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
