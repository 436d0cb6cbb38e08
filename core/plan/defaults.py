"""Defaults of the options, by public rules: from public facts only.

The facts are the declared size, the number of modelled columns, their one-hot cells and the target epsilon.
No rule uses a private row, so choosing by them costs nothing. The constants below are all of the rules'
parameters.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from core.plan.counting_rules import FEWEST_PAIRS_CHOSEN
from core.plan.critic_groups import image_critic_shapes
from core.plan.domain.images import ImageDomain
from core.plan.errors import InvalidSpec
from core.plan.images import defaults as image_defaults
from core.plan.options import IdpganOptions, IdpganRequest, explain

SAMPLING_RATE = 0.03
"""Expected share of the units in one step, before the limits on the batch."""
SMALLEST_BATCH, LARGEST_BATCH = 256, 2048
"""Limits of the expected batch, in units; a table smaller than the lower limit is sampled whole."""
STEPS_BY_EPSILON = ((1.0, 500), (4.0, 1000), (float("inf"), 2000))
"""Number of noisy updates of a critic beside an anchor, by the smallest listed epsilon not below the target."""
STEPS_BY_EFFORT = {"quick": 1000, "standard": 4000, "long": 8000}
"""The same for a table's critic without an anchor, by the effort."""
USUAL_EFFORT = "standard"
"""The effort of a table's critic without an anchor if the order sets none."""
ANCHOR_SHARE_BY_EPSILON = ((1.0, 0.97), (4.0, 0.93), (float("inf"), 0.9))
"""The anchor's share of squared mu, likewise; the rest is the critic's."""
LABEL_SHARE = 0.02
"""The label histogram's share of squared mu without an anchor, which would include the label counts."""
ACTS_SHARE = 0.25
"""Squared mu added by a refresh, relative to the gradient's, if no histogram noise is set."""
CLIPPING_NORM = 0.1
"""Small: nearly all gradients are clipped, and Adam compensates the scale."""
ACTS_CLIPPING_NORM = 1.0
"""Initial threshold with ACTS, which adapts it."""
PERIOD_SHARE = {"constant": 1.0, "exponential": 1.0, "step": 0.25, "polynomial": 1.0}
"""The schedule's period as a fraction of the number of steps."""
DECAY = {"constant": 1.0, "exponential": 1.0, "step": 0.8, "polynomial": 1.0}
"""The schedule's decay."""
WIDE_TABLE_CELLS = 400
"""Minimum number of one-hot cells at which both networks are wide."""
NARROW, WIDE = (64, 128), (128, 256)
"""Critic and generator width for narrow and for wide tables: noise grows with the critic's size."""
OF_NETWORKS = frozenset(
    {
        "generator_width",
        "generator_blocks",
        "latent_dimension",
        "generator_learning_rate",
        "generator_batch_size",
    }
)
"""Options of a network generator."""
MOST_LOGITS = 32767
"""Maximum number of codes of a table for a network generator, which has a logit for each, or a critic, which
has a weight for each."""
MOST_TARGET_CODES = 4096
"""Maximum number of codes of a target: they are not merged, and the counts' memory grows with the square of
groups and target codes."""
MIXTURE_STEPS = 400
"""Number of steps of a mixture's fit."""
WITHOUT_CRITIC = frozenset(
    {
        "anchor", "critic", "anchor_diagonal_weight", "anchor_screening_share", "generator", "generator_width", "generator_blocks", "latent_dimension",
        "generator_learning_rate", "generator_batch_size", "pretraining_steps", "anchor_weight", "ema_decay",
    }
)  # fmt: skip
"""Options of the anchor and the generator. A table is trained with a critic only if its order sets `critic`,
another option, or `"anchor": false` (docs/rules-study.md has the measurements)."""
COLUMN_SHARE, COLUMN_SHARE_MORE = 0.4, 0.5
"""The share of the anchor's squared mu for one-way counts: the first value at a high signal, plus up to the
second at a low one."""
COLUMN_SIGNAL, COLUMN_SIGNAL_ALONE = 50.0, 75.0
"""Declared size times epsilon up to which the signal is low: the first value times the square root of the number
of pairs; the second times that of the pairs with the target if they are counted alone."""
FEW_CODES, POWER_OF_CODES = 20, 1.5
"""From this number of codes of the median column on, `COLUMN_SIGNAL` rises with its multiples to this power: what is wrong in a column
adds up over its codes."""
COLUMN_SIGNAL_OF_PAIR, COLUMN_SIGNAL_OF_PAIR_ALONE = 1.0, 0.4
"""Declared size times epsilon for each pair of columns up to which the signal is low too: what is wrong in a column is wrong in all its
pairs, and of very many pairs few are counted. The second if pairs with the target are counted alone."""
SCREENING_SIGNAL, SCREENING_NOISE, SCREENING_SHARES = 60.0, 125.0, (0.01, 0.08)
"""A screening needs declared size times epsilon over the square root of the number of pairs to be at least
the first value. The second over it, squared, is the share at which distances are known to about 0.02 of all
records, limited to the third."""
CRITIC_STEPS = {True: 1, False: 5}
"""Critic steps per generator step, with and without an anchor that constrains the generator."""
PRETRAINING_BY_CELLS = ((512, 1500), (1024, 1000), (2048, 700), (float("inf"), 500))
"""Generator steps on the anchor alone, by the smallest listed number of one-hot cells not below the table's."""
LARGEST_EXPECTED = {False: 50_000, True: 5_000}
"""Maximum expected batch in units, for tables and for images: the margin below every threshold for rounding
of the sum grows with the square of the batch (`models.dp.clipping.rounding_allowance`)."""
CAP_FACTOR, CAP_EXTRA = 4, 256
"""The public cap on one sampled batch: a factor times the expected batch, plus a constant."""


Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicFacts:
    """All inputs of the rules."""

    declared_size: int
    columns: int
    cells: int
    epsilon: float
    image: ImageDomain | None = None
    """The declared image domain; None for tables. For images a column is one value of an image, or its
    label."""
    middle_codes: float = 1.0
    """Codes of the median column of a table."""
    has_target: bool = False
    """Whether the domain declares a target."""
    few_combinations: bool = False
    """Whether a table's codes have few combinations."""
    most_records: int = 1
    """Maximum weight of a unit in records: its declared bound, or 1."""

    def __post_init__(self) -> None:
        if type(self.declared_size) is not int or not 1 <= self.declared_size <= 10**12:
            raise InvalidSpec("the declared size must be a whole number between 1 and 10^12")
        if self.columns < 1 or self.cells < 1:
            raise InvalidSpec("the domain declares no column to model", remedy="declare at least one column")

    def counts_combinations(self, screening_share: float) -> bool:
        """Return whether an anchor with this share of a screening counts all combinations of codes instead of pairs."""
        return self.few_combinations and not screening_share


def row_of(table: tuple[tuple[float, Value], ...], value: float) -> Value:
    """Return the entry of the first row whose limit is at least the value."""
    return next(entry for limit, entry in table if value <= limit)


def decide(request: IdpganRequest, facts: PublicFacts, *, automatic_histogram_noise: float) -> IdpganOptions:
    """Return every option: the requested ones, the rules' for the rest.

    Args:
        automatic_histogram_noise: Placeholder for ACTS if no histogram noise was requested; the plan replaces
            it by the calibrated value.

    Raises:
        InvalidSpec: options exclude each other, the batch exceeds the declared size, or no such critic exists.
    """
    chosen = request.chosen()
    anchor = chosen.get("anchor", True)
    critic = chosen.get("critic", _wants_critic(chosen, facts))
    acts = chosen.get("acts", False)
    schedule = chosen.get("schedule", "constant")
    asks = chosen.get("critic_asks", image_defaults.question(facts.image, anchor=anchor, critic=critic))
    usual = _usual_steps(chosen.pop("effort", None), facts, anchor=anchor, asks=asks)
    steps = chosen.setdefault("steps", usual if critic else 0)
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
        "schedule_period": max(1, round(PERIOD_SHARE[schedule] * (steps - chosen.get("schedule_start", 0)))),
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
        rules |= image_defaults.usual_options(
            facts.image, anchor=anchor, critic=critic, declared_size=facts.declared_size
        )
    if asks == "labels":
        if facts.image is None or not facts.image.labels:
            raise InvalidSpec(
                "only images with labels have a critic of labels", remedy='leave out the option "critic_asks"'
            )
        rules |= image_defaults.label_defaults(facts.image, declared_size=facts.declared_size)
    if rules["generator"] == "mixture":
        combinations = facts.counts_combinations(chosen.get("anchor_screening_share") or 0.0)
        rules |= {"pretraining_steps": 0 if combinations else MIXTURE_STEPS}
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


def _usual_steps(effort: str | None, facts: PublicFacts, *, anchor: bool, asks: str) -> int:
    """Return the number of noisy updates of a critic whose order does not set `steps`.

    Raises:
        InvalidSpec: the order sets an effort beside an anchor.
    """
    if not anchor:
        if facts.image is None:
            return STEPS_BY_EFFORT[effort or USUAL_EFFORT]
        return image_defaults.STEPS_BY_EFFORT[effort or image_defaults.usual_effort(facts.declared_size)]
    if effort is not None:
        raise InvalidSpec(
            "an effort is the length of the training of a critic without an anchor",
            remedy='set the profile "idpgan", or leave out the option "effort"',
        )
    return image_defaults.LABEL_STEPS if asks == "labels" else row_of(STEPS_BY_EPSILON, facts.epsilon)


def _generator(chosen: Mapping[str, Any], facts: PublicFacts, *, anchor: bool, critic: bool) -> str:
    """Return the generator: a network for a critic, for images, or if the order sets an option of networks; else a mixture.

    Raises:
        InvalidSpec: the order sets a mixture of images.
    """
    named: str | None = chosen.get("generator")
    if facts.image is not None and named == "mixture":
        raise InvalidSpec("a mixture is of tables", remedy='leave out the option "generator"')
    network = facts.image is not None or critic or not anchor or bool(set(chosen) & OF_NETWORKS)
    return named or ("network" if network else "mixture")


def _column_weight(facts: PublicFacts) -> float:
    """Return the weight of one-way counts that gives all columns together their share."""
    pairs = facts.columns * (facts.columns - 1) / 2
    if facts.image is not None or not pairs:
        return 1.0
    chosen = pairs >= FEWEST_PAIRS_CHOSEN and not facts.few_combinations
    alone = facts.has_target and chosen and _signal(facts, pairs) < SCREENING_SIGNAL
    tables, little = (facts.columns - 1, COLUMN_SIGNAL_ALONE) if alone else (pairs, COLUMN_SIGNAL)
    of_pair = COLUMN_SIGNAL_OF_PAIR_ALONE if alone else COLUMN_SIGNAL_OF_PAIR
    little *= max(facts.middle_codes / FEW_CODES, 1.0) ** POWER_OF_CODES
    low = max(little / _signal(facts, tables), of_pair * pairs / (facts.declared_size * facts.epsilon))
    # All combinations have the same noise however many columns share it: more for columns would not pay where there is little signal.
    share = COLUMN_SHARE + (0.0 if facts.few_combinations else COLUMN_SHARE_MORE * min(1.0, low))
    weight = math.sqrt(share / (1 - share) * pairs / facts.columns)
    return min(max(round(weight, 3), 1.0), 1000.0)


def _signal(facts: PublicFacts, tables: float) -> float:
    """Return the declared size times epsilon over the root of the number of tables that share the anchor."""
    return facts.declared_size * facts.epsilon / math.sqrt(tables)


def _screening_share(facts: PublicFacts) -> float:
    """Return the share of the anchor at which noisy distances from independence are precise enough to screen pairs, or 0."""
    pairs = facts.columns * (facts.columns - 1) / 2
    if facts.image is not None or facts.few_combinations or pairs < FEWEST_PAIRS_CHOSEN:
        return 0.0
    if _signal(facts, pairs) < SCREENING_SIGNAL:
        return 0.0
    share = (SCREENING_NOISE / _signal(facts, pairs)) ** 2
    return min(max(round(share, 3), SCREENING_SHARES[0]), SCREENING_SHARES[1])


def _wants_critic(chosen: Mapping[str, Any], facts: PublicFacts) -> bool:
    """Return whether to train a critic if the order does not set `critic`."""
    if facts.image is not None:
        return image_defaults.wants_critic(
            chosen, facts.image, declared_size=facts.declared_size, epsilon=facts.epsilon
        )
    return chosen.get("anchor") is False or not set(chosen) <= WITHOUT_CRITIC
