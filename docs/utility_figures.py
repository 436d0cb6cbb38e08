"""What utility reports said of real data beside what was true, for docs/benchmarks.md."""

from collections.abc import Mapping
from typing import Any

from docs.tables import machine, table

_HELD = ("columns", "pairs", "means", "score")
_NAMED = ("mean of columns", "mean of pairs", "score")


def charged(result: dict[str, Any]) -> list[str]:
    """Reported and true errors, and how often the intervals hold the truth."""
    entries = result["data"]
    one = next(iter(entries.values()))
    release = one["release"]
    images = next(entry["release"] for entry in entries.values() if "critic" in entry["release"])
    return [
        (
            f"`make bench-charged`: a generator of epsilon {release['epsilon']:g}, of tables with few steps ({release['pretraining_steps']} on the "
            f"anchor, {release['steps']} with the critic), of images the anchor alone, then a report at each epsilon; delta {release['delta']:g} (generators of images {images['delta']:g}). *Reported* is what "
            "the first report says, *true* the same number without noise, which only a benchmark may look at.\n"
        ),
        *table(
            ["data", "epsilon", "number", "true", "reported", "95 %", "by chance"],
            [row for name, entry in entries.items() for row in _numbers(name, entry)],
        ),
        "",
        (
            f"Half the width of an interval of one column and of one pair, and the share of intervals that held the truth, with its "
            f"standard error, when the noise alone was drawn {one['redraws']} times (for pairs and columns over all of them together; "
            "*lowest* is the one number whose intervals held it least often).\n"
        ),
        *table(
            ["data", "epsilon", "a column ±", "a pair ±", *(f"{kind} held" for kind in _HELD), "lowest"],
            [row for name, entry in entries.items() for row in _coverage(name, entry)],
        ),
        "",
        *_sentences(entries),
        machine(result),
    ]


def _numbers(name: str, entry: Mapping[str, Any]) -> list[list[str]]:
    rows = []
    for epsilon, report in entry["reports"].items():
        columns = {key: told for key, told in report["numbers"].items() if key.startswith("column ")}
        worst = max(columns, key=lambda key: (columns[key]["true"], key))
        for key in (*_NAMED, worst):
            told = report["numbers"][key]
            shown = key if key != worst else f"{key.removeprefix('column ')}, the worst column"
            rows.append(
                [name, epsilon, shown, *(_percent(told[part]) for part in ("true", "estimate")),
                 f"{_percent(told['low'])} to {_percent(told['high'])}",
                 _percent(told["by_chance"]) if "by_chance" in told else ""]
            )  # fmt: skip
    return rows


def _coverage(name: str, entry: Mapping[str, Any]) -> list[list[str]]:
    rows = []
    for epsilon, report in entry["reports"].items():
        held = report["coverage"]
        rows.append(
            [name, epsilon, *(_percent(report["half_widths_95"][kind]) for kind in ("columns", "pairs")),
             *(f"{100 * held[kind]['held']:.1f} % ± {100 * held[kind]['standard_error']:.1f}" for kind in _HELD),
             f"{100 * min(held[kind]['lowest_of_one_number'] for kind in _HELD):.1f} %"]
        )  # fmt: skip
    return rows


def _sentences(entries: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [
        (
            f"{name}: {entry['rows']:,} records, {entry['columns']} columns, {entry['pairs']} pairs. The generator took "
            f"{entry['release']['seconds']:g} s, what is public {entry['public_seconds']:g} s (drawing {entry['synthetic_rows']:,} records, "
            f"trees), the private records {entry['rows_seconds']:g} s, on one thread at a load of {entry['load']:g}. Counted plainly, without the "
            f"grid, no number differs by more than {entry['largest_rounding']:.0e}.\n"
        )
        for name, entry in entries.items()
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
