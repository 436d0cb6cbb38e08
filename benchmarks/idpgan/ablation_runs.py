"""One run of one row of the ablation table: plan, train, make, score. Keys derive from seeds: NOT PRIVATE."""

import hashlib
import time
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.datasets import Table
from benchmarks.idpgan.ablation_rows import Budget
from benchmarks.images.classifiers import Recipe, accuracy, train
from benchmarks.images.datasets import ImageSet, Pictures
from benchmarks.images.drawing import drawn
from benchmarks.images.measures import distances as picture_distances
from benchmarks.images.scorer import scorer
from benchmarks.publishing import publish
from benchmarks.scoring import distances, train_and_test
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from models.idpgan.synthesizer import IdpganSynthesizer
from models.randomness import KeyedStreams
from models.synthesizer import NullHost

RECIPE = Recipe(epochs=2)
"""Recipe of the convolutional classifier, which sees few images here; the tables of benchmarks.md train six passes over 60,000."""
Made = tuple[Plan, Callable[[], dict[str, float]]]
"""The plan of a run, and what scores what it made."""


def run(data: Table | ImageSet, budget: Budget, row: str, *, seed: int) -> dict[str, Any]:
    """Train one row and score it.

    Args:
        data: the real records of the budget's data set.
        budget: what every row runs at.
        row: one of `ROWS`.
        seed: names the key and every draw of the scoring; equal seeds pair the rows.

    Returns:
        Scores; `seconds` and `processor_seconds` of planning, training and making; the noise of the first and the
        last step, which is the price of a strategy in noise; the spent epsilon; what was asked for.
    """
    begun, processor = time.perf_counter(), time.process_time()
    make = _tables if isinstance(data, Table) else _images
    plan, score = make(data, budget, budget.options_of(row), seed)  # type: ignore[arg-type]
    seconds, busy = time.perf_counter() - begun, time.process_time() - processor
    return {
        "dataset": budget.dataset, "epsilon": budget.epsilon, "delta": budget.delta, "anchor": budget.anchor,
        "row": row, "seed": seed, "options": budget.options_of(row), "made": budget.made, **score(),
        "seconds": round(seconds, 1), "processor_seconds": round(busy, 1), "steps": plan.steps,
        "noise_first": plan.noise_multiplier_at(0), "noise_last": plan.noise_multiplier_at(plan.steps - 1),
        "histogram_noise": plan.idpgan_options.acts_noise_multiplier, "spent_epsilon": plan.epsilons.reported,
    }  # fmt: skip


def _tables(table: Table, budget: Budget, options: Mapping[str, Any], seed: int) -> Made:
    made = publish(
        table,
        epsilon=budget.epsilon,
        delta=budget.delta,
        variant="both",
        seed=seed,
        options=dict(options),
        rows=budget.made,
    )

    def score() -> dict[str, float]:
        return train_and_test(table.domain, made.rows, table.test) | distances(
            made.codes, table.train_codes, table.domain.cardinalities
        )

    return made.plan, score


def _images(images: ImageSet, budget: Budget, options: Mapping[str, Any], seed: int) -> Made:
    plan = make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=dict(options)),
        guarantee=PrivacyGuarantee(epsilon=budget.epsilon, delta=budget.delta),
        declared_size=len(images.train),
        domain=images.domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )
    key = hashlib.sha256(f"understudy benchmark, not private, ablation {seed}".encode()).digest()
    fitted = IdpganSynthesizer().fit(images.private(), plan, KeyedStreams(key), NullHost())
    assert fitted.label_probabilities is not None, "the sets of the benchmarks have labels"
    made: Pictures = drawn(
        fitted.network, fitted.label_probabilities, images,
        seed=seed, latent=fitted.latent_dimension, count=budget.made,
    )  # fmt: skip

    def score() -> dict[str, float]:
        classifier = train("cnn", made, classes=images.classes, seed=seed, recipe=RECIPE)
        return {"accuracy_cnn": accuracy(classifier, images.test)} | picture_distances(
            images, made, scorer(images)
        )

    return plan, score
