"""The page of wide tables, written from measured results and nothing else."""

import json
from pathlib import Path
from typing import Any, Final

from docs.tables import machine, table

RESULTS: Final = Path(__file__).parents[1] / "benchmarks" / "results"
_MADE: Final = (
    ("200 columns", "200 columns, mixed"),
    ("500 columns", "500 columns"),
    ("4,000 codes", "a column of 4,000 codes among 20"),
    ("100,000 codes", "a column of 100,000 codes among 10"),
    ("100 categories", "100 columns of 2,000 to 5,000 codes"),
    ("1,000,000 codes", "199 columns of 5,000 codes and a flag"),
)
_METHODS: Final = (
    ("fresh", "fresh rows of the same distributions"),
    ("independent", "independent columns"),
    ("understudy", "understudy"),
    ("mst", "MST"),
)


def wide_tables_page() -> str:
    """What tables of many columns or codes take, and how well they are made."""
    result = json.loads((RESULTS / "wide_tables.json").read_text())
    return "\n".join([_HOW, *_costs(result), *_scores(result), _READING, machine(result)])


_HOW: Final = """# Wide tables

A table may have hundreds of columns, and a column tens of thousands of codes, such as those of ICD-10 or of postcodes. A domain declares
at most 1,000,000 codes together, in one column or many.

* **Counts.** The first round counts every code of every column, the second pairs of groups of codes ([anchor](mechanisms/anchor.md)).
  Memory follows the groups, at most 2,048 together or two a column, and one number a code. No array holds rows times codes.
* **Screening.** Pairs are compared with independence in groups of codes as well, the fewer the more columns there are
  ([screening](decisions/screening.md)).
* **Rows.** A code is stored, coded and counted in 16 bits where its column has at most 32,767 codes, and in 32 bits otherwise.
* **Bundles.** Up to 32,767 codes together the network in a bundle gives a logit for every code. Beyond, it gives one for every group, and the
  code is drawn within its group (`understudy.wide-bundle/1`). The service and the client draw both from tables that the network's file holds, so
  a row takes as long as its columns. `sample.py` and the README inside run the network and read shares of codes from `generator.safetensors`.
  Verifiers of earlier versions refuse such bundles: update the client.
* **What is refused.** A critic, the generator `network` and graphical models look at every code by itself. Beyond 32,767 codes an order
  that asks for one is refused (`too-many-codes-for-order`) before anything is charged. So is a target of more than 4,096 codes: codes of a target
  are not merged.
* **Requests.** The body of `POST /v1/datasets` may have 32 MiB.
"""

_READING: Final = """
Pairs are read so:

* A fresh sample of the same distributions is as far from the stored rows as sampling makes it. Where all pairs depend a little and few depend
  strongly, its distance is most of every method's.
* With hundreds of columns a unit touches tens of thousands of pairs, and the noise on the cells of each grows with the root of their number.
  Where it hides what a pair adds to independent columns, the pair is made independent.
* Pairs of columns with more than 50 codes are scored by 20 chapters of neighbouring codes.

`make bench-wide` makes all of it.
"""


def _costs(result: dict[str, Any]) -> list[str]:
    rows = []
    for name, words in _MADE:
        if (entry := result.get(name, {}).get("understudy")) is None:
            continue
        training, drawing = entry["training"], entry["drawing"]
        rows.append(
            [
                words,
                f"{entry['rows']:,}",
                f"{entry['codes']:,}",
                f"{training['processor_seconds']:.0f}",
                f"{training['peak_megabytes']:.0f}",
                f"{training['bundle_bytes'] / 1e6:.1f}",
                f"{drawing['processor_seconds']:.0f}",
                f"{drawing['peak_megabytes']:.0f}",
            ]
        )
    head = ["", "rows", "codes", "training, processor seconds", "peak MB", "bundle MB", "drawing as many rows, processor seconds", "peak MB"]  # fmt: skip
    return [
        "## What it takes\n",
        (
            "Simulated rows, sealed as the service stores them; default order at epsilon 1, delta 1e-6. The training goes from the sealed rows to "
            "the packed bundle, and drawing from the bundle to codes, each in a process of its own whose start and imports, about 430 MB, "
            "count.\n"
        ),
        *table(head, rows),
        "",
        *_per_code(result),
    ]


def _per_code(result: dict[str, Any]) -> list[str]:
    """What a code costs: two tables of as many columns against each other."""
    pair = [result.get(name, {}).get("understudy") for name in ("200 columns", "1,000,000 codes")]
    if None in pair:
        return []
    less, more = pair
    codes = more["codes"] - less["codes"]
    kilobytes = (more["training"]["peak_megabytes"] - less["training"]["peak_megabytes"]) * 1000 / codes
    return [
        f"From {less['codes']:,} to {more['codes']:,} codes in {more['columns']} columns the peak of the training grew by {kilobytes:.1f} kB a code.\n"
    ]


def _scores(result: dict[str, Any]) -> list[str]:
    rows = []
    for name, words in _MADE:
        for method, said in _METHODS:
            entry = result.get(name, {}).get(method)
            if entry is None:
                continue
            if "two_way" not in entry:
                rows.append([words, said, *_why_not(entry[method])])
                continue
            rows.append(
                [
                    words,
                    said,
                    *(
                        f"{entry[part]:.4f}"
                        for part in ("one_way", "pairs_of_a_factor", "other_pairs", "two_way")
                    ),
                ]
            )
    earlier = [
        words for name, words in _MADE if any("note" in entry for entry in result.get(name, {}).values())
    ]
    return [
        "## How well\n",
        (
            "A class of each record drives latent factors, and each factor five or ten columns. Mean total variation between made and stored codes "
            "of columns, of pairs of one factor, of pairs of different factors and of all pairs; smaller is better.\n"
        ),
        *table(["", "rows from", "columns", "pairs of a factor", "other pairs", "all pairs"], rows),
        *_half(result),
        *(
            f"\n{words}: another draw of the same distributions' parameters, without fresh rows."
            for words in earlier
        ),
    ]


def _half(result: dict[str, Any]) -> list[str]:
    """The two tables of many columns beside their bar, half of the error of independent columns."""
    said = []
    for name in ("200 columns", "500 columns"):
        entry = result.get(name, {})
        if all("two_way" in entry.get(method, {}) for method in ("understudy", "independent", "fresh")):
            floor, ours = (
                entry[method]["two_way"] / entry["independent"]["two_way"]
                for method in ("fresh", "understudy")
            )
            said.append(
                f"with {name} it is {ours:.2f}, and fresh rows of the same distributions have {floor:.2f}"
            )
    if not said:
        return []
    return [
        (
            f"\nThe bar for these two was half of the distance of independent columns in all pairs: {'; '.join(said)}. So it is missed, and no sample of "
            "the true distributions would reach it. Tried: [more budget for single columns](rules-study.md#counts-in-groups), which is the rule now."
        )
    ]


def _why_not(part: dict[str, Any]) -> list[str]:
    limit = part.get("stopped_after_processor_seconds")
    return [f"stopped after {limit} processor seconds" if limit else "failed", "", "", ""]
