"""The page of reused counts, its figures from measured results and nothing else."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from docs.tables import machine, table

RESULTS: Final = Path(__file__).parents[1] / "benchmarks" / "results"
_NAMES: Final = {"adult": "Adult, 26,049 rows, 15 columns", "nist-ma": "NIST ACS Massachusetts, 5,796 rows"}
_KINDS: Final = {
    "alone": "a release of epsilon 1",
    "reusing": "a second release of epsilon 1 that reuses it",
    "as_if": 'one release of the quote\'s "as if" epsilon',
}


def reuse_page() -> str:
    """How counts of earlier releases are reused, and what that gains."""
    result = json.loads((RESULTS / "reuse.json").read_text())
    return "\n".join([_HOW, *_measured(result), machine(result), _LIMITS])


_HOW: Final = """# Reuse of counts

Noisy counts that were released once are public and paid for. A later job on the same dataset starts from them: its own noisy
counts are combined with all that were released before, each weighted by its precision. This is post-processing and costs
no privacy; quote, ledger and certificate charge the job's own noise alone.

## What is reused

* **Releases of the same dataset**, so of the same rows, declared domain and privacy unit; a new version of the rows is another
  dataset. Whoever orders must be allowed to download the release: the same rule guards both.
* Releases with an [anchor](mechanisms/anchor.md) of a declared domain, made by `idpgan`. Each release holds the counts of those that it
  reused itself, so a chain of releases is read in its last link. No count is taken twice; the plan is refused if it would be.
* **Columns** always. **Pairs** are combined where they are counted in the same groups of values: the job keeps the groups of the most
  precise release, unless it would by itself have more than 1.5 times as many, or count by class, or pairs without the target, where the release does not.
* A job that keeps groups counts **the same pairs** as the release, which [a screening](decisions/screening.md) may have chosen, and screens none
  itself: what the screening would have cost goes to these pairs. An order that states `anchor_screening_share` keeps it, and takes the columns
  alone of a release unless neither has a screening.

The plan fixes all of it when the order is placed: the releases, the SHA-256 of their `counts.bin` and the noise in each. An order
without `reuse` is one that reuses; `"reuse": false` (`--no-reuse`, a box on the order page) switches it off. A release whose bundle is
gone when the order is placed is left out. If it is lost or changed between the order and the training, the job ends with
`reused-counts-missing` before a row is read, and its budget is given back.

## What it is worth

A quote says for which epsilon one plan would have counted as precisely, at its delta:

```text
$ understudy quote "$DATASET" --epsilon 1
Quote: epsilon 1, delta 1e-06 (by PLD 1.0000, by RDP 1.0781)
  no critic: noisy counts alone
  split of the budget: anchor 100%
  earlier counts: reused from 1 release at no cost, equivalent to spending epsilon 1.45 on counts instead of 1.00
```

Squared `mu` of Gaussian mechanisms add up, so it is the epsilon of `sqrt(mu_own^2 + sum mu_i^2)`, of columns and of pairs that are combined. In
the API it is `reused` of a quote. The quote's expected error of counts is that of all counts together.

`counts.bin` of the new bundle holds the combined counts with their combined standard deviations, so [answers](asking.md) have intervals
that are right and narrower. The certificate lists the releases in `plan.reused`; `understudy verify` derives the noise of every table
from the plan, refuses a release that is counted twice, and holds the charge against the job's own noise.

## What a certificate promises then

The epsilon of a certificate is of what its release adds. A bundle that reuses counts holds those of the earlier releases, so whoever
has it alone knows what they reveal as well: of all of them together the epsilons and deltas add up. `privacy_parameters_description`,
the README of the bundle and `understudy verify` say so. The ledger was charged for each of them, so the cap of the dataset holds for all.

## Before you ask for a budget

`understudy known DATASET` (`GET /v1/datasets/{dataset_id}/known-counts`, `client.read_known_counts`, and the pages where a
budget is asked for and a generator ordered) lists the releases that you may read, what they count, how large the noise on a typical count is,
and what they are worth. Asking them costs nothing.
"""

_LIMITS: Final = """## Limits

* Selections and utility reports reuse nothing, and counts of `aim` and `mst` and of learnt domains are not reused.
* Two releases with different groups of values or different pairs share their columns only. What a pair left out by the release's screening
  holds is not learnt by jobs that reuse it; `--no-reuse` screens anew.
* Two orders that wait at the same time do not know each other's counts; of their releases a later job takes the more precise one,
  if both hold the counts of a third.
* The eight most precise of the newest 64 releases are read.
"""


def _measured(result: Mapping[str, Any]) -> list[str]:
    runs: Mapping[str, Mapping[str, Any]] = result["runs"]
    found = {name: [run for key, run in runs.items() if key.startswith(f"{name}/")] for name in _NAMES}
    rows = [
        [
            words,
            *(
                _figures([run[kind][score] for run in found[name]])
                for name in _NAMES
                for score in ("two_way", "three_way")
            ),
        ]
        for kind, words in _KINDS.items()
    ]
    seeds = len(found["adult"])
    as_if = {name: fmean(run["epsilon_as_if"] for run in runs) for name, runs in found.items()}
    header = ["", *(f"{name}, {ways}" for name in _NAMES.values() for ways in ("2-way", "3-way"))]
    return [
        "## Measured\n",
        (
            f"`python -m benchmarks.reuse`: mean total variation between synthetic and training rows on codes, over all pairs and 200 "
            f'triples of columns; means of {seeds} splits, lowest and highest in brackets. Delta is 1e-6 and the "as if" epsilon '
            f"{as_if['adult']:.2f} for Adult and {as_if['nist-ma']:.2f} for NIST.\n"
        ),
        *table(header, rows),
        "",
    ]


def _figures(values: Sequence[float]) -> str:
    return f"{fmean(values):.4f} ({min(values):.4f} to {max(values):.4f})"
