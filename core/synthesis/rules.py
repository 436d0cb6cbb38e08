"""Public rules: what the options are when nobody sets them, from public facts alone.

The facts are the declared size, the number of modelled columns, their one-hot cells and the target epsilon. No
rule looks at a private row, so choosing by them costs nothing. The constants below are the whole table.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from core.domain.images import ImageDomain
from core.synthesis import image_rules
from core.synthesis.errors import InvalidSpec
from core.synthesis.groups import image_critic_shapes
from core.synthesis.options import IdpganOptions, IdpganRequest, explain

SAMPLING_RATE = 0.03
"""Expected share of the units in one step, before the limits on the batch."""
SMALLEST_BATCH, LARGEST_BATCH = 256, 2048
"""Limits of the expected batch, in units; a table smaller than the lower one is sampled whole."""
STEPS_BY_EPSILON = ((1.0, 500), (4.0, 1000), (float("inf"), 2000))
"""Noisy critic updates, by the smallest epsilon listed that is not below the target."""
ANCHOR_SHARE_BY_EPSILON = ((1.0, 0.97), (4.0, 0.93), (float("inf"), 0.9))
"""The anchor's share of squared mu, likewise; the rest is the critic's."""
LABEL_SHARE = 0.02
"""The label histogram's share of squared mu where there is no anchor to hold the label counts."""
ACTS_SHARE = 0.25
"""What a refresh adds to its step's squared mu, relative to the gradient's, where no histogram noise is set."""
CLIPPING_NORM = 0.1
"""Small, so that nearly all gradients are clipped and Adam undoes the scale."""
ACTS_CLIPPING_NORM = 1.0
"""First threshold where ACTS replaces it."""
PERIOD_SHARE = {"constant": 1.0, "exponential": 1.0, "step": 0.25, "polynomial": 1.0}
"""The schedule's period over the number of steps."""
DECAY = {"constant": 1.0, "exponential": 1.0, "step": 0.8, "polynomial": 1.0}
"""The schedule's decay."""
WIDE_TABLE_CELLS = 400
"""From this many one-hot cells on, both networks are wide."""
NARROW, WIDE = (64, 128), (128, 256)
"""Critic and generator width of narrow and of wide tables: noise grows with the critic's size."""
OF_NETWORKS = frozenset(
    {
        "generator_width",
        "generator_blocks",
        "latent_dimension",
        "generator_learning_rate",
        "generator_batch_size",
    }
)
"""Options of a network as generator."""
MOST_LOGITS = 32767
"""Codes of a table up to which a network of a generator gives a logit, and a critic has a weight, for each of them."""
MOST_TARGET_CODES = 4096
"""Codes of a target at most: they are not merged, and memory of the counts grows with the square of groups and target's codes."""
MIXTURE_STEPS = 400
"""Steps of the fit of a mixture."""
WITHOUT_CRITIC = frozenset(
    {
        "anchor", "critic", "anchor_diagonal_weight", "anchor_screening_share", "generator", "generator_width", "generator_blocks", "latent_dimension",
        "generator_learning_rate", "generator_batch_size", "pretraining_steps", "anchor_weight", "ema_decay",
    }
)  # fmt: skip
"""Options of the anchor and the generator. A table is trained with a critic only if its order sets `critic`, another option,
or `"anchor": false` (docs/rules-study.md has the measurements)."""
COLUMN_SHARE, COLUMN_SHARE_MORE, COLUMN_SIGNAL = 0.4, 0.5, 50.0
"""The share of the anchor's squared mu for the counts of single columns: the first where much stands above the noise; up to the second
more where little does, that is where declared size times epsilon is at most the third times the root of the number of pairs."""
SCREENED_PAIRS = 15
"""Pairs of columns from which on some are screened out."""
SCREENING_SIGNAL, SCREENING_NOISE, SCREENING_SHARES = 60.0, 125.0, (0.01, 0.08)
"""Screening needs declared size times epsilon over the root of the number of pairs to be at least the first. The second over it, squared,
is the share by which distances are known to about 0.02 of all records, kept within the third."""
CRITIC_STEPS = {True: 1, False: 5}
"""Critic steps per generator step, with and without an anchor that holds the generator."""
PRETRAINING_BY_CELLS = ((512, 1500), (1024, 1000), (2048, 700), (float("inf"), 500))
"""Generator steps on the anchor alone, by the smallest number of one-hot cells listed that is not below."""
LARGEST_EXPECTED = {False: 50_000, True: 5_000}
"""Units of an expected batch at most, of tables and of images: the room that a step leaves below every threshold for the
rounding of its sum grows with the square of the batch (`models.dp.clipping.rounding_allowance`)."""
CAP_FACTOR, CAP_EXTRA = 4, 256
"""The public cap on one sampled batch: factor times the expected batch and this many more."""


Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicFacts:
    """All that the rules may look at."""

    declared_size: int
    columns: int
    cells: int
    epsilon: float
    image: ImageDomain | None = None
    """What is declared about images; None for tables. Then a column is one number of an image, or its label."""
    most_records: int = 1
    """How many records a unit weighs as much as at most: its declared bound, or 1."""

    def __post_init__(self) -> None:
        if type(self.declared_size) is not int or not 1 <= self.declared_size <= 10**12:
            raise InvalidSpec("the declared size must be a whole number between 1 and 10^12")
        if self.columns < 1 or self.cells < 1:
            raise InvalidSpec("the domain declares no column to model", remedy="declare at least one column")


def row_of(table: tuple[tuple[float, Value], ...], value: float) -> Value:
    """Return the entry of the first row whose limit is not below the value."""
    return next(entry for limit, entry in table if value <= limit)


def decide(request: IdpganRequest, facts: PublicFacts, *, automatic_histogram_noise: float) -> IdpganOptions:
    """Return every option: the requested ones, the rules' for the rest.

    Args:
        request: What was asked for.
        facts: What the rules may look at.
        automatic_histogram_noise: What to note for ACTS where no histogram noise was asked for; the plan
            replaces it by the calibrated value.

    Raises:
        InvalidSpec: options that exclude each other, a batch above the declared size, or a critic that cannot be.
    """
    chosen = request.chosen()
    anchor = chosen.get("anchor", True)
    critic = chosen.get("critic", _wants_critic(chosen, facts))
    acts = chosen.get("acts", False)
    schedule = chosen.get("schedule", "constant")
    asks = chosen.get("critic_asks", image_rules.question(facts.image, anchor=anchor, critic=critic))
    usual = image_rules.LABEL_STEPS if asks == "labels" else row_of(STEPS_BY_EPSILON, facts.epsilon)
    steps = chosen.get("steps", usual if critic else 0)
    batch = min(
        max(round(SAMPLING_RATE * facts.declared_size), SMALLEST_BATCH), LARGEST_BATCH, facts.declared_size
    )
    critic_width, generator_width = WIDE if facts.cells >= WIDE_TABLE_CELLS else NARROW
    share = row_of(ANCHOR_SHARE_BY_EPSILON, facts.epsilon) if anchor and critic else float(anchor)
    rules: dict[str, Any] = {
        "anchor": anchor,
        "critic": critic,
        "anchor_share": share,
        "anchor_diagonal_weight": _column_weight(facts),
        "anchor_screening_share": _screening_share(facts) if anchor else 0.0,
        "pretraining_steps": row_of(PRETRAINING_BY_CELLS, facts.cells),
        "steps": steps,
        "expected_batch_size": batch,
        "schedule_period": max(1, round(PERIOD_SHARE[schedule] * steps)),
        "schedule_decay": DECAY[schedule],
        "acts_noise_multiplier": automatic_histogram_noise if acts else 0.0,
        "grouping": "rows" if chosen.get("weight_clusters", False) else "layers" if acts else "flat",
        "clipping_norm": ACTS_CLIPPING_NORM if acts else CLIPPING_NORM,
        "critic_width": critic_width,
        "critic_steps": CRITIC_STEPS[anchor],
        "generator": _generator(chosen, facts, anchor=anchor, critic=critic),
        "generator_width": generator_width,
    }
    if facts.image is not None:
        rules |= image_rules.defaults(facts.image, anchor=anchor, critic=critic)
    if asks == "labels":
        if facts.image is None or not facts.image.labels:
            raise InvalidSpec(
                "only images with labels have a critic of labels", remedy='leave out the option "critic_asks"'
            )
        rules |= image_rules.label_defaults(facts.image, declared_size=facts.declared_size)
    if rules["generator"] == "mixture":
        rules |= {"pretraining_steps": MIXTURE_STEPS}
    if not anchor:
        rules |= {"pretraining_steps": 0, "anchor_weight": 0.0}
    try:
        options = IdpganOptions.model_validate(rules | chosen)
    except ValidationError as error:
        raise explain(error) from None
    if options.expected_batch_size > facts.declared_size:
        raise InvalidSpec("expected_batch_size is above the declared size", remedy="choose a smaller batch")
    most = LARGEST_EXPECTED[facts.image is not None]
    if options.critic and options.expected_batch_size > most:
        raise InvalidSpec(f"expected_batch_size is at most {most} here", remedy="choose a smaller batch")
    if facts.image is not None and options.critic:
        image_critic_shapes(options, facts.image)
    return options


def sampled_batch_cap(expected_batch_size: int) -> int:
    """Return the public cap on the units in one sampled batch; beyond it a job fails and is charged in full."""
    return CAP_FACTOR * expected_batch_size + CAP_EXTRA


def _generator(chosen: Mapping[str, Any], facts: PublicFacts, *, anchor: bool, critic: bool) -> str:
    """Return what is fitted to the counts: a network for a critic, for images, or if the order sets an option of networks.

    Raises:
        InvalidSpec: the order sets a mixture that cannot be.
    """
    possible = anchor and not critic and facts.image is None
    wanted: str = chosen.get("generator", "network" if set(chosen) & OF_NETWORKS else "mixture")
    if wanted == "mixture" and not possible and "generator" in chosen:
        raise InvalidSpec(
            "a mixture is fitted to the counts of a table's anchor, without a critic",
            remedy='leave out the option "generator", or set "critic" to false',
        )
    return wanted if possible else "network"


def _column_weight(facts: PublicFacts) -> float:
    """Return the weight of the counts of a column that gives all columns their share."""
    pairs = facts.columns * (facts.columns - 1) / 2
    if facts.image is not None or not pairs:
        return 1.0
    signal = facts.declared_size * facts.epsilon / math.sqrt(pairs)
    share = COLUMN_SHARE + COLUMN_SHARE_MORE * min(1.0, COLUMN_SIGNAL / signal)
    weight = math.sqrt(share / (1 - share) * pairs / facts.columns)
    return min(max(round(weight, 3), 1.0), 1000.0)


def _screening_share(facts: PublicFacts) -> float:
    """Return the share of the anchor that buys distances of pairs from independence good enough to choose by, or 0."""
    pairs = facts.columns * (facts.columns - 1) / 2
    if facts.image is not None or pairs < SCREENED_PAIRS:
        return 0.0
    signal = facts.declared_size * facts.epsilon / math.sqrt(pairs)
    if signal < SCREENING_SIGNAL:
        return 0.0
    share = (SCREENING_NOISE / signal) ** 2
    return min(max(round(share, 3), SCREENING_SHARES[0]), SCREENING_SHARES[1])


def _wants_critic(chosen: Mapping[str, Any], facts: PublicFacts) -> bool:
    """Return whether to train a critic where the order does not set `critic`."""
    if facts.image is not None:
        return image_rules.wants_critic(
            chosen, facts.image, declared_size=facts.declared_size, epsilon=facts.epsilon
        )
    return chosen.get("anchor") is False or not set(chosen) <= WITHOUT_CRITIC
