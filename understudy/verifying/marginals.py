"""Plans of "aim" and "mst", recomputed from options, guarantee and declared columns alone.

All their releases are Gaussian: one-way counts once, then in every round one set of scores and one chosen marginal.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from understudy.verifying.calibrated import anchor_noise
from understudy.verifying.closeness import close
from understudy.verifying.records import Described

Json = Mapping[str, Any]
SYNTHESIZERS: Final = ("aim", "mst")
_LARGEST_MARGINAL: Final = 10_000
_MOST_CANDIDATES: Final = 4096
_MOST_PAIRS: Final = 250_000
"""Maximum number of pairs of a plan; checked before any is listed."""
_ROUNDED_UP: Final = 1e-5
"""Relative tolerance of multipliers, which have six digits, rounded up."""
_PAIR: Final = 2


def is_of_marginals(anchor: Json) -> bool:
    """Whether the release on all records is the marginals of a graphical model."""
    return "one_way_noise_multiplier" in anchor


def releases(anchor: Json) -> list[tuple[str, int, float, float]]:
    """Releases: name, number of runs, sensitivity, noise multiplier."""
    one_way = ("one-way-counts", 1, math.sqrt(anchor["columns"]), anchor["one_way_noise_multiplier"])
    if not anchor["rounds"]:
        return [one_way]
    scores, marginals = math.sqrt(anchor["candidates"]), math.sqrt(anchor["marginals_per_round"])
    return [
        one_way,
        ("marginal-scores", anchor["rounds"], scores, anchor["scores_noise_multiplier"]),
        ("chosen-marginals", anchor["rounds"], marginals, anchor["marginals_noise_multiplier"]),
    ]


def noises(anchor: Json) -> list[float]:
    """Noise multipliers of every release, in order of execution."""
    one_round = [anchor["scores_noise_multiplier"], anchor["marginals_noise_multiplier"]]
    return [anchor["one_way_noise_multiplier"], *(one_round * anchor["rounds"])]


def fits_synthesizer(plan: Json) -> bool:
    """Whether options and releases are of the synthesizer's kind."""
    graphical = plan["synthesizer"] in SYNTHESIZERS
    of_marginals = plan["anchor"] is not None and is_of_marginals(plan["anchor"])
    return graphical == of_marginals == ("largest_model" in plan["options"])


def plan_problems(plan: Json, records: Described) -> Iterator[str]:
    """Report a graphical model's plan that does not follow from its options, its guarantee and the declared columns."""
    options, anchor, size = plan["options"], plan["anchor"], plan["declared_size"]
    if records.image_outputs is not None:
        yield "plan/synthesizer: makes tables only"
        return
    candidates = _candidates(plan["synthesizer"], records)
    if candidates is None:
        yield "plan/anchor/candidates"
        return
    chosen = options["marginals_per_round"]
    rounds, most = options["rounds"], min(chosen, candidates)
    if plan["synthesizer"] == "mst":
        most = _tree_edges(records.cardinalities)
    rules = {
        "steps": plan["steps"] == 0 and plan["blocks"] == [] and plan["acts"] is None,
        "label_histogram": plan["label_histogram"] is None,
        "sampling_rate": plan["sampling_rate"] == 1,
        "expected_batch_size": plan["expected_batch_size"] == plan["max_sampled_batch"] == size,
        "options/rounds": (rounds > 0) == (candidates > 0) == (chosen > 0)
        and (rounds == min(candidates, 1) or plan["synthesizer"] == "aim"),
        "options/shares": _shares_fit(options),
        "options/marginals_per_round": chosen == most,
        "anchor/columns": anchor["columns"] == len(records.cardinalities),
        "anchor/candidates": anchor["candidates"] == candidates,
        "anchor/rounds": anchor["rounds"] == rounds,
        "anchor/marginals_per_round": anchor["marginals_per_round"] == chosen,
    }
    broken = [f"plan/{name}" for name, holds in rules.items() if not holds]
    yield from broken
    if not broken:
        yield from _noise_problems(options, anchor, plan["guarantee"])


def _shares_fit(options: Json) -> bool:
    one_way, selection = options["one_way_share"], options["selection_share"]
    if not options["rounds"]:
        return bool(one_way == 1 and selection == 0)
    return bool(one_way > 0 and selection > 0 and one_way + selection < 1)


def _noise_problems(options: Json, anchor: Json, guarantee: Json) -> Iterator[str]:
    one_way, selection, rounds = options["one_way_share"], options["selection_share"], options["rounds"]
    shares = {"one_way": one_way}
    if rounds:
        shares |= {"scores": selection / rounds, "marginals": (1 - one_way - selection) / rounds}
    for name in ("one_way", "scores", "marginals"):
        stated = anchor[f"{name}_noise_multiplier"]
        if name not in shares:
            holds = stated == 0
        else:
            noise = anchor_noise(guarantee["epsilon"], guarantee["delta"], share=shares[name])
            holds = close(stated, noise, tolerance=_ROUNDED_UP)
        if not holds:
            yield f"plan/anchor/{name}_noise_multiplier"


def _candidates(synthesizer: str, records: Described) -> int | None:
    """Number of marginals that the public rule allows as candidates; None if there are too many columns."""
    codes = records.cardinalities
    varying = [column for column, size in enumerate(codes) if size > 1]
    if math.comb(len(varying), _PAIR) > _MOST_PAIRS:
        return None
    pairs = sum(codes[one] * codes[other] <= _LARGEST_MARGINAL for one, other in _pairs(varying))
    if synthesizer == "mst" or math.comb(len(varying), _PAIR) > _MOST_CANDIDATES:
        return pairs
    target = records.target_index if records.target_index in varying else None
    triples = sum(
        codes[one] * codes[two] * codes[three] <= _LARGEST_MARGINAL
        for one, two, three in itertools.combinations(varying, 3)
        if target is None or target in {one, two, three}
    )
    return pairs + triples if pairs + triples <= _MOST_CANDIDATES else pairs


def _pairs(columns: Sequence[int]) -> Iterator[tuple[int, int]]:
    return itertools.combinations(columns, _PAIR)


def _tree_edges(codes: Sequence[int]) -> int:
    """Edges of a spanning forest of the candidate pairs.

    A pair is excluded if it has too many cells. So a column has a partner if the smallest other column is small enough, and all columns with a
    partner are connected through the smallest column.
    """
    sizes = sorted(size for size in codes if size > 1)
    return sum(sizes[0] * size <= _LARGEST_MARGINAL for size in sizes[1:])


def counted(anchor: Json, columns: int) -> tuple[set[tuple[int, ...]], float, list[float]]:
    """Expected contents of a bundle's counts, by the releases of the plan's anchor.

    Returns:
        The one-way tables; the standard deviation of their noise; those of a marginal chosen once, twice and so on.
    """
    one_way = anchor["one_way_noise_multiplier"] * math.sqrt(anchor["columns"])
    once = anchor["marginals_noise_multiplier"] * math.sqrt(anchor["marginals_per_round"])
    return (
        {(column,) for column in range(columns)},
        one_way,
        [once / math.sqrt(times) for times in range(1, anchor["rounds"] + 1)],
    )
