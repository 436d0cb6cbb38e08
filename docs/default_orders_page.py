"""The page that sets default orders before a large change beside today's, from committed results and nothing else."""

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from benchmarks.default_orders import EPSILONS, table_rows
from docs.tables import table

RESULTS: Final = Path(__file__).parents[1] / "benchmarks" / "results"
_SIZES: Final = ("500", "2000", "10000", "full")
_NAMES: Final = {
    "one_way": "one-way counts", "two_way": "two-way counts", "three_way": "three-way counts", "target_pairs": "pairs with the target",
    "auroc_trees": "AUROC of trees", "auroc_logistic": "AUROC of logistic regression",
}  # fmt: skip
_COUNTS: Final = ("one_way", "two_way", "three_way", "target_pairs")
_DIGITS: Final = {"auroc_trees": 3, "auroc_logistic": 3}

Rows = dict[tuple[str, str, float], dict[str, list[tuple[float, float]]]]
"""Pairs of scores, before and after, of every seed, by table, size and epsilon, and by measure."""


def default_orders_page() -> str:
    """How good default orders were, and are."""
    before = json.loads((RESULTS / "default_orders.json").read_text())
    tables = json.loads((RESULTS / "tables.json").read_text())
    images = json.loads((RESULTS / "images.json").read_text())
    return "\n".join(
        [
            "# Default orders before and after\n",
            (
                f"Private models, several owners and critics without an anchor were begun after commit {before['commit']} of {before['date']}. None of them "
                "should make an order that sets no option worse. Here is every row of the benchmarks of [tables](tables-beside-peers.md) and of "
                "[images](benchmarks.md#images) that had been measured by then, and the same row today, of the same rows, codes, split and seeds "
                "(`python -m benchmarks.default_orders`). Everything that changed the engine in between is in it, above all the work on counts.\n"
            ),
            *tables_section(paired_rows(before["tables"], tables)),
            *images_section(before["images"], images["runs"]),
        ]
    )


def paired_rows(before: Mapping[str, Mapping[str, float]], tables: Mapping[str, Any]) -> Rows:
    """Scores from before beside those among results of tables."""
    now = table_rows(dict(tables))
    paired: Rows = {}
    for name, had in before.items():
        cell = tables["cells"][name]
        row = paired.setdefault((cell["table"], cell["size"], cell["epsilon"]), {})
        for measure, value in had.items():
            row.setdefault(measure, []).append((value, now[name][measure]))
    return dict(sorted(paired.items(), key=lambda one: (one[0][0], _SIZES.index(one[0][1]), one[0][2])))


def tables_section(rows: Rows) -> Iterable[str]:
    """What changed, which rows got worse, and every row."""
    yield "## Tables\n"
    yield (
        "Distances are after over before, so below one is better, and geometric means; of AUROC the difference, so above zero is better. A row is the "
        "mean of its seeds. *Beyond seeds*: rows of three seeds in which all three are worse.\n"
    )
    yield from table(
        ["measure", "rows", "mean", "better", "worse", "worst", "worst row", "beyond seeds"],
        [_summed(rows, measure) for measure in _NAMES],
    )
    good = sum(
        all(now <= was for was, now in (_means(row[measure]) for measure in _COUNTS)) for row in rows.values()
    )
    yield (
        f"\nSo not every row is as good as before: {good} of {len(rows)} are in all four measures of counts. Most rows have one seed, whose noise moves them, and "
        "the classifiers of rows that say little move most: few rows at a small epsilon, and Poker, whose classes hardly depend on a single card.\n"
    )
    yield from _worse(rows)
    yield "Before / after, of every row:\n"
    for name, of_table in groupby(rows, key=lambda key: key[0]):
        yield f"**{name}**\n"
        keys = list(of_table)
        yield from table(
            ["rows", "epsilon", "seeds", *_NAMES.values()],
            [
                [
                    size,
                    f"{epsilon:g}",
                    str(len(rows[name, size, epsilon]["two_way"])),
                    *(_beside(rows[name, size, epsilon], measure) for measure in _NAMES),
                ]
                for _, size, epsilon in keys
            ],
        )
        yield ""


def _summed(rows: Rows, measure: str) -> list[str]:
    changes = _changes(rows, measure)
    area = measure in _DIGITS
    good = [change > 0 if area else change < 1 for change, _ in changes]
    bad = [change < 0 if area else change > 1 for change, _ in changes]
    worst, where = min(changes) if area else max(changes)
    several = [row[measure] for row in rows.values() if len(row[measure]) > 1]
    beyond = sum(all(_change(pair, area=area) < 0 for pair in pairs) for pairs in several)
    numbers = [change for change, _ in changes]
    mean = statistics.fmean(numbers) if area else statistics.geometric_mean(numbers)
    return [
        _NAMES[measure], str(len(changes)), _shown(mean, area=area), str(sum(good)), str(sum(bad)), _shown(worst, area=area), _named(where),
        f"{beyond} of {len(several)}",
    ]  # fmt: skip


def _worse(rows: Rows) -> Iterable[str]:
    yield "Rows that are worse, the worst first:\n"
    for measure in _NAMES:
        area = measure in _DIGITS
        found = sorted(_changes(rows, measure), reverse=not area)
        bad = [
            f"{_named(where)} ({_shown(change, area=area)})"
            for change, where in found
            if (change < 0 if area else change > 1)
        ]
        yield f"* {_NAMES[measure][0].upper()}{_NAMES[measure][1:]}: {', '.join(bad)}."
    yield ""


def _changes(rows: Rows, measure: str) -> list[tuple[float, tuple[str, str, float]]]:
    """The ratio, or of AUROC the difference, of every row."""
    found = []
    for where, row in rows.items():
        was, now = _means(row[measure])
        found.append((now - was if measure in _DIGITS else now / was, where))
    return found


def _change(pair: tuple[float, float], *, area: bool) -> float:
    """Above zero where a seed is better."""
    was, now = pair
    return now - was if area else was - now


def _means(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return statistics.fmean(was for was, _ in pairs), statistics.fmean(now for _, now in pairs)


def _beside(row: Mapping[str, list[tuple[float, float]]], measure: str) -> str:
    digits = _DIGITS.get(measure, 4)
    return " / ".join(f"{mean:.{digits}f}" for mean in _means(row[measure]))


def _shown(change: float, *, area: bool) -> str:
    return f"{change:+.3f}" if area else f"{change:.3f}"


def _named(where: tuple[str, str, float]) -> str:
    name, size, epsilon = where
    return f"{name} {size} at {epsilon:g}"


def images_section(before: Mapping[str, float], runs: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    """The accuracy of every row before, and after where it was scored since."""
    yield "## Images\n"
    yield (
        "A default order of images with labels has an anchor and a critic of labels. Its plan differs in one release from the one that it had at that "
        "commit, for every row, which a test computes: the brightness of all images is measured first, and the other releases of the anchor have "
        "at most 0.26 % more noise for it. A dark set is then summed from black as before, another about its brightness "
        "([what it changes](benchmarks.md#what-images-are-summed-about)). "
        "Accuracy of a convolutional network that learnt from made images, on the test images; means of the seeds.\n"
    )
    lines = []
    for name, scored in EPSILONS.items():
        for epsilon in scored:
            stem = f"{name} anchor and critic epsilon {epsilon:g} seed "
            seeds = sorted(one for one in before if one.startswith(stem))
            again = [run for one, run in runs.items() if one in seeds and run.get("brightness") == "kept"]
            after = (
                f"{statistics.fmean(run['accuracy_cnn'] for run in again):.4f}"
                if again
                else "not scored again"
            )
            earlier = f"{statistics.fmean(before[one] for one in seeds):.4f}"
            lines.append([name, f"{epsilon:g}", str(len(seeds)), earlier, after])
    yield from table(["images", "epsilon", "seeds", "before", "after"], lines)
    yield ""
