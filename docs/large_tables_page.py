"""The pages of long tables and of units with many records, written from measured results and nothing else."""

import json
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from core.plan.learning import NAMES
from docs.tables import machine, table

RESULTS: Final = Path(__file__).parents[1] / "benchmarks" / "results"
_MEASURED: Final = 10_000_000
_CENSUS, _HUNDRED_MILLION, _HOSTS = 55_000_000, 100_000_000, 8


def large_tables_page() -> str:
    """How long tables are counted, what it takes, and what longer ones would take."""
    result = json.loads((RESULTS / "long_tables.json").read_text())
    return "\n".join([_HOW, *_measured(result), *_worked_out(result), _HELPERS, machine(result)])


_HOW: Final = """# Large tables

A training without critic, the default for tables, reads private rows only to count them. It never holds the table: the sealed
rows are decrypted, decompressed and coded a batch at a time, and every batch is counted into all tables that are asked for
(`models/counting`). Memory follows the tables that are counted and one batch, not the rows. A training with a critic looks
at single rows in every step and still holds the coded table, two bytes a value. So does one that
[learns](domain.md#what-a-training-learns) its domain, which holds the rows themselves while it learns.

* **Exact.** Counts are sums of integers in units of 2^-20 of a record. They depend on no order, no batch and no shard, so a
  table gives the same release however it is cut. Noise is drawn once, on the sums.
* **Units with several records.** Where a column names the unit, its values are hashed under a key of the job and sorted, a part of
  the units at a time. That takes 4 bytes for each row, and some 60 for each of 8 million rows at a time. A table whose unit is
  the row needs none of it.
* **Rounds.** Every round of questions reads the rows once more. Nothing decoded is kept between rounds.
"""

_HELPERS: Final = """## Several hosts

Stored rows are cut into shards of about 128 MiB, a million rows of sixty columns. With `UNDERSTUDY_COUNTING_HELPERS` above 0 a
training asks other workers to help, each time it counts: it writes its questions, sealed, to the object store and sends as
many messages to the queue `counting`. Start helpers on as many hosts as you like; they need the same settings as any worker:

```text
$ celery -A workers.app worker --pool prefork --concurrency 1 --queues counting
```

* A helper's child reads the claim of the training again before every shard, picks a shard that nobody has handed over, counts it, and
  puts its exact counts into the object store, sealed under a key that is destroyed with the job. The training adds
  them up and deletes them.
* The training itself counts every shard that nobody has handed over, one after the other, and waits for nobody. Without helpers
  it counts all of them. A shard that is lost, damaged or counted twice costs time and changes nothing.
* A helper claims, spends and releases nothing. It stops when the training's lease is lost or its job ends.
* A helper of another version that would cut the shards otherwise counts none.
* Your broker learns how long the stored rows are: a training sends one message less than there are shards, up to the number of
  helpers, so whoever reads the queue learns the stored size to 128 MiB, and when each round of counting began. Without helpers no message is sent.
* Workers of the queue `counting` take no trainings and no reports. How long counting takes depends on rows; a worker that others wait for
  would be free sooner or later because of them.

On one host with two cores, one worker and one helper count with both.
"""


def _measured(result: dict[str, Any]) -> list[str]:
    entries = {name: result[name][str(_MEASURED)] for name in ("open", "count", "weigh", "release")}
    both = result["count_by_two"][str(_MEASURED)]
    facts = entries["count"]
    rows = [
        ["find where the shards begin", *_figures(entries["open"])],
        [f"count all {facts['tables']:,} one- and two-way tables once", *_figures(facts)],
        [
            "the same in two processes",
            f"{sum(both['processor_seconds_of_parts']):.0f}",
            f"{both['seconds']:.0f}",
            f"{max(both['peak_megabytes_of_parts']):.0f} each",
            f"{both['load']:.1f}",
        ],
        ["where units have a column: what every record counts", *_figures(entries["weigh"])],
        ["a whole training, from the sealed rows to the bundle", *_figures(entries["release"])],
    ]
    release = entries["release"]
    return [
        "## Measured\n",
        (
            f"`make bench-long`: {_MEASURED:,} simulated rows of {facts['columns']} columns with {facts['codes']:,} codes, "
            f"{facts['stored_bytes'] / 1e9:.2f} GB sealed. Every line is a process of its own; its start and the imports, about 430 MB, "
            "count. Others worked on the same two cores: the load says how many processes wanted one, and processor seconds "
            "are what a quiet machine would need.\n"
        ),
        *table(["", "processor seconds", "seconds", "peak MB", "load"], rows),
        "",
        (
            f"The bar is a release in 15 minutes and 2 GiB on two cores. It took {release['seconds'] / 60:.1f} minutes under that load and "
            f"{release['peak_megabytes'] / 1000:.2f} GB, most of it the fit, which does not depend on the rows.\n"
        ),
    ]


def _figures(entry: dict[str, Any]) -> list[str]:
    return [
        f"{entry['processor_seconds']:.0f}",
        f"{entry['seconds']:.0f}",
        f"{entry['peak_megabytes']:.0f}",
        f"{entry['load']:.1f}",
    ]


def _worked_out(result: dict[str, Any]) -> list[str]:
    count, release = result["count"][str(_MEASURED)], result["release"][str(_MEASURED)]
    opened, weighed = result["open"][str(_MEASURED)], result["weigh"][str(_MEASURED)]
    per_million = count["processor_seconds"] / 10
    fit = release["processor_seconds"] - count["processor_seconds"]
    gigabytes = count["stored_bytes"] / _MEASURED

    def column(total: int, hosts: int) -> list[str]:
        counting = per_million * total / 1e6
        once = opened["processor_seconds"] * total / _MEASURED
        return [
            f"{gigabytes * total / 1e9:.1f}",
            f"{once:.0f}",
            f"{counting:.0f}",
            f"{counting / hosts:.0f}",
            f"{(once + counting / hosts + fit) / 60:.1f}",
            f"{weighed['processor_seconds'] * total / _MEASURED:.0f}",
            f"{release['peak_megabytes']:.0f}",
        ]

    names = [
        "sealed rows, GB",
        "finding the shards, processor seconds, once",
        "one round of all pairs, processor seconds",
        "the same for each host",
        "minutes to a release of one round, quiet machines",
        "if units have a column: processor seconds more, in the training",
        "peak MB of the training",
    ]
    cases = [(_CENSUS, 1), (_CENSUS, 2), (_HUNDRED_MILLION, _HOSTS)]
    columns = [column(*case) for case in cases]
    rows = [[name, *(each[place] for each in columns)] for place, name in enumerate(names)]
    head = [
        "",
        *(
            f"{total / 1e6:.0f} million rows, {hosts} process{'es' if hosts > 1 else ''}"
            for total, hosts in cases
        ),
    ]
    return [
        "## Worked out\n",
        (
            "55 million rows are a national census; 100 million are counted by eight hosts with one process each. Counting grows with "
            f"the rows ({per_million:.1f} processor seconds a million rows and round), the fit does not "
            f"({fit:.0f} processor seconds). Nothing here was run at these lengths: the lines below are the measured ones in proportion. "
            "What the network between hosts and object store adds is not in them: each shard is downloaded once a round, and the "
            "training reads the whole object once before.\n"
        ),
        *table(head, rows),
        "",
        (
            "A unit column adds 4 bytes a row to the training's memory: 0.2 GB for 55 million rows, 0.4 GB for 100 million.\n"
        ),
    ]


def unit_records_page() -> str:
    """What weighting and bounds of units with many records are worth."""
    result = json.loads((RESULTS / "unit_records.json").read_text())
    return "\n".join(
        [_UNITS, *_rules(result), machine(result), "", *_patients(), *_made_up(), *_words(), _CHOICE]
    )


_UNITS: Final = """# Units with many records

A patient has several stays, a customer many orders. Everything one of them contributed is protected together, so what each may
contribute to a count has to be bounded. There are three rules, and they answer different questions.

**The average**, where nothing is declared: a unit with `m` records adds a share of `1/m` of each of them, one record in all. Counts
are counts of *units*; a patient with forty stays weighs as much as one with one. The noise is that of one record.

**A declared bound**: `records` in the unit's column of the domain says how many records of a unit count, each of them fully.

```json
{"name": "patient", "kind": "unit", "records": 8}
```

Counts are then counts of *records*. Of a unit with more, so many are drawn uniformly, by a keyed hash of the unit that depends on no
value and no other unit; the others count nothing. One unit more or less moves every statistic by at most `K` times what one
record does, so its sensitivity is multiplied by `K`, and so is the noise. The bound is public: choose it from what is known of
such data, not from these rows. Plan, quote and certificate state it, and `understudy verify` recomputes the sensitivity with it.

**A learnt bound**: `"records": "learn"`. Before anything else a training counts, with noise, how many units have how many records, in 20 public steps from 1 to
beyond 768. One unit more or less moves one of these counts by one. It costs 2 % of the budget in squared mu, less beside other parts that
[are learnt](domain.md#what-a-training-learns); quote and certificate have a line for it (`learning-records`). From the noisy counts the bound follows by a public rule, free of charge. It is
the candidate with the least sum of three errors, all total variations:

    unlike     D(K) / 4
    noise      0.4 * cells * std / sqrt(2 pi) * K / counted(K)
    drawn      sqrt(cells / (2 pi counted(K)) * (1 - counted(K) / records))

`counted(K)` are the records that count under `K`. `D(K)` is how far the records that count are from all records in the logarithm of the number of records that their units have (the Wasserstein
distance): zero where all units have equally many, whatever `K` is. A quarter stands for how much records of units differ of which one has e times as many, and 0.4 for the shrinkage
of tables. Both were chosen by trials with 500, 2,000 and 5,000 units, by the ratio to the best bound as [below](#on-made-up-tables); larger tables played no part. `cells` and `std` are those of the plan's tables of
pairs, where a unit is one record; the last line is the chance of a draw without replacement. Far steps in which no units surely are (three standard deviations) count as empty. Then the training goes on as if `K`
had been declared: the plan's noise multipliers stay, and the noise of its counts is multiplied by `K`. The release's `domain.json` says which `K`; `understudy verify` recomputes the noise with it. A resumed training
learns the same `K`. It needs the rows in memory, like everything that is learnt.

A bound, declared or learnt, holds for counts: an order with a critic or a choice among candidates is refused (`bound-needs-anchor`), because they look at
one record of a unit at a time. A utility report weighs units as ever, so beside a release with a bound it measures the difference
between the two questions too.
"""

_CHOICE: Final = """
What follows from it:

* Ask for shares of units: declare nothing. The average is unbiased for them and has the least noise.
* Ask for shares of records: leave the bound to be learnt, as `understudy domain draft` proposes for a table whose units have several rows. The average is far off for
  records, however many units there are, where units of many records differ from others.
* Who declares a bound: between the 90th and the 99th percentile of the records of a unit with tens of thousands of units, less with fewer.
* A bound far above what units have costs noise and gains nothing.
"""


def _patients() -> list[str]:
    """What the rules give on real encounters."""
    result = json.loads((RESULTS / "learnt_records.json").read_text())
    sizes = sorted((name for name in result if name.isdigit()), key=int)
    rules = ["average", "1", "2", "4", "8", "learn"]
    rows = []
    for rule in rules:
        cells = [f"{result[size][rule]['two_way']:.4f}" if rule in result[size] else "" for size in sizes]
        name = "learnt" if rule == "learn" else rule if rule == "average" else f"K = {rule}"
        rows.append([name, *cells])
    learnt = "; ".join(
        f"of {int(size):,} patients {' and '.join(str(bound) for bound in result[size]['learn']['bounds'])}"
        for size in sizes
        if "learn" in result[size]
    )
    return [
        "## On real encounters\n",
        (
            "`make bench-learnt-records`: twelve columns of Diabetes 130, whose patients have one to forty encounters, most of them one. Trained at epsilon 1 by default options under "
            "every rule; mean total variation of all pairs of columns, of synthetic rows from all encounters of these patients; two trainings each.\n"
        ),
        *table(["rule", *(f"{int(size):,} patients" for size in sizes)], rows),
        "",
        f"Learnt bounds: {learnt}.\n",
    ]


def _made_up() -> list[str]:
    """What the rules give on made-up tables."""
    result = json.loads((RESULTS / "learnt_records.json").read_text())
    rows: list[list[str]] = []
    lost: dict[str, list[float]] = {"average": [], "learn": []}
    for name in ("few stays", "many stays", "orders"):
        for key, entry in sorted(result[name].items(), key=lambda one: _units_and_epsilon(one[0])):
            errors = entry["two_way"]
            best = min((rule for rule in errors if rule.isdigit()), key=lambda rule: errors[rule])
            units, epsilon = _units_and_epsilon(key)
            rows.append(
                [
                    name,
                    f"{units:,}",
                    f"{entry['records']:,}",
                    f"{epsilon:g}",
                    f"{errors['average']:.4f}",
                    f"{errors[best]:.4f} ({best})",
                    f"{errors['learn']:.4f} ({entry['bound']})",
                ]
            )
            for rule, ratios in lost.items():
                ratios.append(errors[rule] / errors[best])
    return [
        "## On made-up tables\n",
        (
            "Stays as above, of which sicker patients have more, and orders of customers who have twenty each on average, differ in what they order and not by how often they do. Eight columns, "
            "trained once under every rule (bounds of 1, 2, 4, 8, 16 and 24); the bound in brackets.\n"
        ),
        *table(["table", "units", "records", "epsilon", "average", "best bound", "learnt"], rows),
        "",
        (
            f"Errors are {fmean(lost['learn']):.2f} times those of the best bound on average where the bound is learnt, {max(lost['learn']):.2f} times at worst; of the average of a unit's records "
            f"{fmean(lost['average']):.2f} times, and {max(lost['average']):.2f} at worst.\n"
        ),
        machine(result),
    ]


def _words() -> list[str]:
    """How many words are learnt of units with several records."""
    result = json.loads((RESULTS / "learnt_names.json").read_text())
    rows = []
    for name, shown in _WORDS.items():
        by_column: dict[str, list[tuple[float, dict[str, Any]]]] = {}
        for key, entry in result[name].items():
            column, epsilon = key.split(", epsilon ")
            by_column.setdefault(column, []).append((float(epsilon), entry))
        for column, entries in by_column.items():
            for epsilon, entry in sorted(entries, key=lambda one: one[0]):
                found = [entry["bounds"][bound] for bound in ("first", "8", str(NAMES), "128")]
                facts = [shown, f"{entry['units']:,}", f"{entry['records'] / entry['units']:.1f}", column]
                cells = [f"{one['words']:g} ({one['kept']:.0%})" for one in found]
                rows.append([*facts, f"{entry['distinct']:,}", f"{epsilon:g}", *cells])
    head = ["table", "units", "records each", "column", "words", "epsilon", "first record", "8 words"]
    return [
        "",
        "## Words that are learnt\n",
        (
            f"Of a column whose [categories are learnt](domain.md#what-a-training-learns) a unit counts for up to {NAMES} different words, for each of `m` words with `1 / sqrt(m)`. "
            "So what one unit moves is that of one word, and the votes of a unit grow with the root of its words. The threshold grows with the largest number of words, because a unit may bring so many new ones "
            "([why that is private](mechanisms/learning.md)). All records of a unit are looked at, whatever the bound on them is.\n"
        ),
        (
            "`make bench-learnt-names`: words that are learnt, of at most 200, and in brackets the share of rows that keep their word instead of `other`; by the first record of a unit alone, and where so many words of a unit count. "
            "Means of five keys; delta 1e-6, two parts learnt.\n"
        ),
        *table([*head, f"{NAMES} words", "128 words"], rows),
        "",
        machine(result),
    ]


_WORDS: Final = {
    "cards": "payments of cards, made up",
    "patients with three": "three encounters of patients (Diabetes 130)",
    "patients": "all encounters of patients (Diabetes 130)",
    "customers": "orders of customers, one or two, made up",
}


def _units_and_epsilon(key: str) -> tuple[int, float]:
    units, epsilon = key.split(", epsilon ")
    return int(units), float(epsilon)


def _rules(result: dict[str, Any]) -> list[str]:
    lines = [
        "## What it is worth\n",
        (
            "`make bench-units`: simulated stays of eight columns; sicker patients have more of them. Every two-way table is released once at "
            "epsilon 1, delta 1e-6. Total variation from the true shares of records and of units, with the share that is bias and not noise in "
            "brackets; mean of five releases. The best of each column is bold.\n"
        ),
    ]
    for kind in ("few stays", "many stays"):
        for patients, entry in sorted(result[kind].items(), key=lambda item: int(item[0])):
            rules = sorted(
                entry["rules"].items(), key=lambda item: 0 if item[0] == "average" else int(item[0])
            )
            best = {truth: min(rule[truth] for _name, rule in rules) for truth in ("records", "units")}
            rows = [
                [
                    "average" if name == "average" else f"K = {name}",
                    *(
                        _cell(rule[truth], rule[f"{truth}_bias"], best[truth])
                        for truth in ("records", "units")
                    ),
                    "" if name == "average" else f"{rule['share_of_records']:.0%}",
                ]
                for name, rule in rules
            ]
            lines += [
                (
                    f"{int(patients):,} patients, {entry['mean']} stays on average, half have {entry['q50']} or fewer, 95 % {entry['q95']}, "
                    f"99 % {entry['q99']}, one {entry['most']}:\n"
                ),
                *table(
                    ["rule", "error of shares of records", "error of shares of units", "records that count"],
                    rows,
                ),
                "",
            ]
    return lines


def _cell(value: float, bias: float, best: float) -> str:
    shown = f"{value:.4f} ({bias:.4f})"
    return f"**{shown}**" if value == best else shown
