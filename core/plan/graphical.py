"""The synthesizers "aim" and "mst": marginals are chosen by noisy scores, measured, and a graphical model is fitted to them.

All releases are Gaussian vectors of three kinds: all one-way counts once, then in every round the scores of all candidates
and the counts of the marginals chosen by them. The numbers of rounds, candidates and marginals and the noise of each vector
follow from public facts: columns, codes, target and guarantee. The choice among candidates is post-processing of noisy scores.
docs/mechanisms/graphical.md has the argument.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from core.dp.calibration import gaussian_noise_multiplier
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import LARGEST_NOISE, SMALLEST_NOISE, Gaussian
from core.plan.errors import InvalidPlan, InvalidSpec
from core.plan.gaussian_releases import GaussianReleases, sensitivity_above
from core.values import Count, CountOrNone, NotNegative, Positive

Engine = Literal["aim", "mst"]
Clique = tuple[int, ...]
"""Places of the columns of a marginal, increasing."""

LARGEST_MARGINAL: Final = 10_000
"""Maximum number of cells of a candidate."""
MOST_CANDIDATES: Final = 4096
"""Maximum number of candidates with marginals of three columns among them."""
MOST_PAIRS: Final = 250_000
"""Maximum number of pairs of columns."""
MST_ONE_WAY, MST_SELECTION = 1 / 3, 1 / 3
"""Shares of one-way counts and of scores in squared mu; the chosen marginals have the rest (MST's thirds)."""
AIM_ONE_WAY, AIM_SELECTION = 0.15, 0.25
"""The same for AIM, whose rounds have equal shares."""
AIM_ROUNDS: Final = 4
LARGEST_MODEL: Final = 500_000
"""Maximum number of cells of AIM's junction tree."""

Share = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False, strict=True)]
Rounds = Annotated[int, Field(ge=1, le=16, strict=True)]
PerRound = Annotated[int, Field(ge=1, le=512, strict=True)]
Cells = Annotated[int, Field(ge=1000, le=5_000_000, strict=True)]


class GraphicalOptions(BaseModel):
    """Every option of one graphical model, all of them public constants."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), defer_build=True)

    one_way_share: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False, strict=True)]
    """Share of squared mu of the one-way counts; 1 without candidates."""
    selection_share: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False, strict=True)]
    """Share of squared mu of the scores of all rounds; the chosen marginals have the rest."""
    rounds: Annotated[int, Field(ge=0, le=16, strict=True)]
    """Rounds of scores and measurements; 0 without candidates."""
    marginals_per_round: Annotated[int, Field(ge=0, le=2**16, strict=True)]
    """Maximum number of marginals chosen in a round."""
    largest_model: Cells
    """Maximum number of cells of the junction tree; MST's tree of pairs is never too large."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        measures = self.rounds > 0
        if measures != (self.marginals_per_round > 0) or measures != (self.selection_share > 0):
            raise ValueError("rounds, marginals_per_round and selection_share are positive together")
        if measures and self.one_way_share + self.selection_share >= 1:
            raise ValueError("one_way_share and selection_share leave nothing for the chosen marginals")
        if not measures and self.one_way_share != 1:
            raise ValueError("without a candidate the one-way counts have the whole budget")
        return self


class MstRequest(BaseModel):
    """The requested options of "mst"; None leaves an option to the public rules."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), defer_build=True)

    one_way_share: Share | None = None
    selection_share: Share | None = None

    def chosen(self) -> dict[str, Any]:
        """Return the options that were set, by name."""
        return self.model_dump(exclude_none=True)

    def decide(self, shape: "MarginalShape") -> GraphicalOptions:
        """Return every option: requested ones, and those of the public rules for the rest."""
        rules = {
            "one_way_share": MST_ONE_WAY,
            "selection_share": MST_SELECTION,
            "rounds": 1,
            "marginals_per_round": shape.tree_edges,
            "largest_model": LARGEST_MODEL,
        }
        return _options(rules | self.chosen(), shape)


class AimRequest(MstRequest):
    """The requested options of "aim"; None leaves an option to the public rules."""

    rounds: Rounds | None = None
    marginals_per_round: PerRound | None = None
    largest_model: Cells | None = None

    def decide(self, shape: "MarginalShape") -> GraphicalOptions:
        """Return every option: requested ones, and those of the public rules for the rest."""
        rules = {
            "one_way_share": AIM_ONE_WAY,
            "selection_share": AIM_SELECTION,
            "rounds": AIM_ROUNDS,
            "marginals_per_round": -(-shape.columns // 2),
            "largest_model": LARGEST_MODEL,
        }
        return _options(rules | self.chosen(), shape)


def _options(chosen: Mapping[str, Any], shape: "MarginalShape") -> GraphicalOptions:
    if not shape.candidates:
        nothing = {"one_way_share": 1.0, "selection_share": 0.0, "rounds": 0, "marginals_per_round": 0}
        chosen = {**chosen, **nothing}
    fewer = min(chosen["marginals_per_round"], len(shape.candidates))
    return GraphicalOptions.model_validate({**chosen, "marginals_per_round": fewer})


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalShape:
    """Marginals that may be measured; public.

    Args:
        candidates: marginals of two and three columns.
    """

    columns: int
    candidates: tuple[Clique, ...]

    @property
    def tree_edges(self) -> int:
        """Edges of a spanning forest of the candidates that are pairs."""
        part = list(range(self.columns))

        def root(column: int) -> int:
            while part[column] != column:
                column = part[column]
            return column

        edges = 0
        for first, second in (clique for clique in self.candidates if len(clique) == 2):  # noqa: PLR2004
            one, other = root(first), root(second)
            edges += one != other
            part[one] = other
        return edges


def marginal_shape(engine: Engine, cardinalities: Sequence[int], target_index: int | None) -> MarginalShape:
    """Return the candidates of an engine by a public rule.

    They are all pairs of columns. "aim" adds all triples with the target, or all triples without a target, unless there
    would be more than `MOST_CANDIDATES` candidates. Marginals of more than `LARGEST_MARGINAL` cells and columns of one code
    are left out.

    Args:
        target_index: the target among them, or None.

    Raises:
        InvalidSpec: there are more than `MOST_PAIRS` pairs.
    """
    varying = [column for column, codes in enumerate(cardinalities) if codes > 1]
    if math.comb(len(varying), 2) > MOST_PAIRS:
        raise InvalidSpec(
            "the domain has too many columns for a graphical model", remedy="order the synthesizer idpgan"
        )

    def fits(clique: Clique) -> bool:
        return math.prod(cardinalities[column] for column in clique) <= LARGEST_MARGINAL

    found: list[Clique] = [clique for clique in itertools.combinations(varying, 2) if fits(clique)]
    if engine == "aim" and math.comb(len(varying), 2) <= MOST_CANDIDATES:
        triples = [
            clique
            for clique in itertools.combinations(varying, 3)
            if (target_index not in varying or target_index in clique) and fits(clique)
        ]
        if len(found) + len(triples) <= MOST_CANDIDATES:
            found += triples
    return MarginalShape(columns=len(cardinalities), candidates=tuple(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalsPlan(GaussianReleases):
    """The releases before a graphical model is fitted; every noise multiplier is std over L2 sensitivity.

    Raises:
        InvalidPlan: a number out of its range.
    """

    UNREADABLE = InvalidPlan, "the plan of a graphical model lacks a member or has one of the wrong type"

    columns: Count
    """One-way tables."""
    candidates: CountOrNone
    """Scores of a round."""
    rounds: CountOrNone
    marginals_per_round: CountOrNone
    """Maximum number of marginals of a round."""
    one_way_noise_multiplier: Positive
    scores_noise_multiplier: NotNegative
    """0 without rounds, like the next one."""
    marginals_noise_multiplier: NotNegative

    def __post_init__(self) -> None:
        if self.columns < 1 or not 0 <= self.rounds <= 16:  # noqa: PLR2004
            raise InvalidPlan("a graphical model has columns and at most 16 rounds")
        if not 0 <= self.marginals_per_round <= self.candidates:
            raise InvalidPlan("a round chooses among its candidates")
        noises = (
            self.one_way_noise_multiplier,
            self.scores_noise_multiplier,
            self.marginals_noise_multiplier,
        )
        used, unused = (noises, ()) if self.rounds else (noises[:1], noises[1:])
        if not all(SMALLEST_NOISE <= noise <= LARGEST_NOISE for noise in used) or any(unused):
            raise InvalidPlan("every release of a graphical model has noise")
        if (self.rounds > 0) != (self.marginals_per_round > 0):
            raise InvalidPlan("every round of a graphical model measures a marginal")

    @property
    def one_way_sensitivity(self) -> float:
        """L2 sensitivity of all one-way counts: a unit adds at most one to the counts of every column."""
        return sensitivity_above(math.sqrt(self.columns))

    @property
    def scores_sensitivity(self) -> float:
        """L2 sensitivity of the scores: a unit adds between 0 and 1 to each."""
        return sensitivity_above(math.sqrt(self.candidates))

    @property
    def marginals_sensitivity(self) -> float:
        """L2 sensitivity of the counts of a round's marginals: a unit adds at most one to the counts of each."""
        return sensitivity_above(math.sqrt(self.marginals_per_round))

    @property
    def releases(self) -> tuple[tuple[str, int, float, float], ...]:
        """The releases: name, times, sensitivity, noise multiplier."""
        one_way = ("one-way-counts", 1, self.one_way_sensitivity, self.one_way_noise_multiplier)
        if not self.rounds:
            return (one_way,)
        return (
            one_way,
            ("marginal-scores", self.rounds, self.scores_sensitivity, self.scores_noise_multiplier),
            ("chosen-marginals", self.rounds, self.marginals_sensitivity, self.marginals_noise_multiplier),
        )

    @property
    def parts(self) -> tuple[Gaussian, ...]:
        """The mechanism of every release, in order: one-way counts, then scores and marginals in turn."""
        one_round = (self.scores_noise_multiplier, self.marginals_noise_multiplier)
        noises = (self.one_way_noise_multiplier, *(one_round * self.rounds))
        return tuple(Gaussian(noise_multiplier=noise) for noise in noises)


def marginals_plan(
    guarantee: PrivacyGuarantee, options: GraphicalOptions, shape: MarginalShape
) -> MarginalsPlan:
    """Return the releases, each with the noise of its share of the whole job's guarantee."""

    def noise(share: float) -> float:
        return gaussian_noise_multiplier(guarantee, share=share) if share else 0.0

    rounds = options.rounds
    measured = 1 - options.one_way_share - options.selection_share
    return MarginalsPlan(
        columns=shape.columns,
        candidates=len(shape.candidates),
        rounds=rounds,
        marginals_per_round=options.marginals_per_round,
        one_way_noise_multiplier=noise(options.one_way_share),
        scores_noise_multiplier=noise(options.selection_share / rounds) if rounds else 0.0,
        marginals_noise_multiplier=noise(measured / rounds) if rounds else 0.0,
    )
