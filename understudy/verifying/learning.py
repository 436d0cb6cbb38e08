"""Releases that learn a plan's domain, derived from the guarantee and the number of releases alone.

Bounds, bins and categories are learnt first, each by one Gaussian; together they have a public share of the squared mu. Categories are
published above a threshold, which takes a public share of delta that no Renyi divergence covers.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from understudy.verifying.calibrated import anchor_noise
from understudy.verifying.closeness import close

Json = Mapping[str, Any]
FIRST_SHARE, NEXT_SHARE, LARGEST_SHARE = 0.02, 0.005, 0.05
"""Shares of squared mu: of one release, of each further one, and the maximum of all."""
CHECK_SHARE, ALL_CHECKS_SHARE = 0.01, 0.03
"""Maximum shares of squared mu: of one check of declared bounds, of all."""
CHECK_PRECISION: Final = 300.0
"""A check needs no noise below the declared size over this number."""
DELTA_SHARE: Final = 0.125
"""Share of delta for thresholds, if any."""
UNBOUNDED_MICROS: Final = 10**15
"""Charge at every Renyi order for a job with a threshold."""
RECORDS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768)
"""Candidates for a learnt bound on records per unit."""
NAMES: Final = 32
"""Number of a unit's names that count in a list of categories, if units have a column; older plans do not state it."""
_LEVELS, _DECIMALS = 4, 1.0
"""Squared sensitivity of the tree of counts, and of the counts of decimals released with it."""
_SQUARES: Final = {"bins": (_LEVELS, _LEVELS + _DECIMALS), "crowded": (_LEVELS,)}
_GRID: Final = 2.0**-20
_ROUNDED_UP: Final = 1e-5


def learning_releases(plan: Json) -> list[tuple[str, float, float]]:
    """Releases that learn the domain, in order: name, sensitivity, noise multiplier."""
    learning = plan.get("learning")
    if learning is None:
        return []
    noise = learning["noise_multiplier"]
    return [(f"learning-{one['learns']}", one["sensitivity"], noise) for one in learning["releases"]]


def threshold_delta(plan: Json) -> float:
    """The part of delta that thresholds take; 0 without thresholds."""
    learning = plan.get("learning")
    return 0.0 if learning is None else float(learning["delta"])


def rest_of(plan: Json) -> float:
    """The share of squared mu that learning leaves for all other releases; exactly 1 if nothing is learnt."""
    count = len(learning_releases(plan))
    return 1.0 - (count * _check_share(plan, count) if _only_checks(plan) else _share(count))


def left_of(plan: Json) -> Json:
    """The guarantee with the delta left by thresholds."""
    guarantee = plan["guarantee"]
    return {"epsilon": guarantee["epsilon"], "delta": guarantee["delta"] - threshold_delta(plan)}


def learning_grid(plan: Json) -> dict[str, float]:
    """The grid for rounding counts, if something is learnt."""
    return {"learning": _GRID} if "learning" in plan else {}


def learns_records(plan: Json) -> bool:
    """Whether a plan learns the bound on records per unit."""
    return any(name == "learning-records" for name, _size, _noise in learning_releases(plan))


def says_what_is_learnt(preprocessing: list[str], plan: Json) -> bool:
    """Whether the sentence on columns matches a plan that learns, or one that does not; the schema has both."""
    return any("learnt by mechanisms that are charged" in said for said in preprocessing) == (
        "learning" in plan
    )


def says_how_many_count(preprocessing: list[str], plan: Json) -> bool:
    """Whether the sentence on units matches a plan with a declared or learnt bound on records, or one without."""
    bounded = plan["privacy_unit"].get("records") is not None or learns_records(plan)
    return any("each of them fully" in said for said in preprocessing) == bounded


def says_which_names_count(preprocessing: list[str], plan: Json) -> bool:
    """Whether the sentence on units matches a plan that counts several names of a unit, or one that counts the first."""
    several = "names_per_unit" in plan.get("learning", {})
    return any("'names_per_unit'" in said for said in preprocessing) == several


def learning_problems(plan: Json, columns: int) -> Iterator[str]:
    """Report learning that does not follow from the guarantee and the number of releases."""
    learning = plan.get("learning")
    if learning is None:
        return
    releases, delta = learning["releases"], plan["guarantee"]["delta"]
    names = any(one["learns"] == "categories" for one in releases)
    if learning["delta"] != (delta * DELTA_SHARE if names else 0.0):
        yield "plan/learning/delta"
        return
    left, count = left_of(plan), len(releases)
    share = _check_share(plan, count) if _only_checks(plan) else _share(count) / count
    noise = anchor_noise(left["epsilon"], left["delta"], share=share)
    if not close(learning["noise_multiplier"], noise, tolerance=_ROUNDED_UP):
        yield "plan/learning/noise_multiplier"
    for place, one in enumerate(releases):
        squares = _SQUARES.get(one["learns"], (1.0,))
        if not any(close(one["sensitivity"], math.sqrt(square)) for square in squares):
            yield f"plan/learning/releases/{place}/sensitivity"
        if (one["column"] is None) != (one["learns"] == "records") or (one["column"] or 0) >= columns:
            yield f"plan/learning/releases/{place}/column"
    several = learning.get("names_per_unit")
    if several is not None and not (
        several == NAMES and names and plan["privacy_unit"]["column"] is not None
    ):
        yield "plan/learning/names_per_unit"
    yield from _check_problems(plan)
    asked = [(one["column"], one["learns"]) for one in releases]
    if len(set(asked)) < len(asked):
        yield "plan/learning/releases: one is made twice"


def _check_problems(plan: Json) -> Iterator[str]:
    if _only_checks(plan):
        return
    if any(one["learns"] == "crowded" for one in plan["learning"]["releases"]):
        yield "plan/learning/releases: declared bounds are checked beside what is learnt"
    if plan["learning"].get("cut_tails"):
        yield "plan/learning/cut_tails"


def _only_checks(plan: Json) -> bool:
    releases = plan.get("learning", {"releases": ()})["releases"]
    return bool(releases) and all(one["learns"] == "crowded" for one in releases)


def _check_share(plan: Json, count: int) -> float:
    """The share of squared mu of each check of declared bounds: no more than needed to see a three-hundredth of the declared units."""
    guarantee = plan["guarantee"]
    whole = 2.0 * anchor_noise(guarantee["epsilon"], guarantee["delta"], share=1.0) / plan["declared_size"]
    return float(min(CHECK_SHARE, ALL_CHECKS_SHARE / count, (CHECK_PRECISION * whole) ** 2))


def _share(count: int) -> float:
    return min(LARGEST_SHARE, FIRST_SHARE + NEXT_SHARE * (count - 1)) if count else 0.0
