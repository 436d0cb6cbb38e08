"""Sums of two columns: distributions of all three in drawn rows, by which of them is computed from the others.

    python -m benchmarks.declarations.summed_columns

Each table is simulated, trained once and drawn three times for each column that may be computed, as many rows as were declared. Scores are
total variations from the real rows: of each column, and the mean of the three pairs, over codes, among which every declared heap is one by
itself; and the share of rows on the total's heaps.
"""

import itertools
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from benchmarks.declarations.ordered_columns import trained
from benchmarks.declarations.ordered_tables import Simulated
from benchmarks.declarations.summed_tables import TABLES
from benchmarks.results_file import merge, rounded
from benchmarks.tables.scores import variation
from core.artifacts.sampling.sampler import Sampler
from core.plan.domain.codec import codes_of, draw_values
from core.plan.domain.table import TableDomain
from understudy.drafts.sums import column_to_compute, largest_heap

Floats = npt.NDArray[np.float64]
GRID: Final = (*itertools.product(TABLES, (8000,), (1.0,)), *itertools.product(TABLES, (2000,), (1.0,)))
"""Tables, rows, epsilon."""
DRAWS: Final = 3
SUMMED: Final = 3


def drawn(domain: TableDomain, sampler: Sampler, rows: int, seed: int) -> list[Floats]:
    """Rows that keep the domain's rules, if it has any."""
    rng = np.random.default_rng(seed)

    def fresh(at: npt.NDArray[np.int64]) -> list[Floats]:
        return draw_values(domain, sampler.codes(len(at), rng), rng)

    values = fresh(np.arange(rows))
    if domain.kept is not None:
        domain.kept.keeper.keep(values, fresh, rng)
    return values


def scores(domain: TableDomain, table: Simulated, values: list[Floats]) -> dict[str, float]:
    """Total variations from the real rows, and the share of rows on the total's heaps."""
    real, made = (codes_of(domain, own) for own in (table.values, values))
    names = [column.name for column in domain.modelled[:SUMMED]]
    found = {name: variation(made, real, domain.cardinalities, (place,)) for place, name in enumerate(names)}
    pairs = itertools.combinations(range(SUMMED), 2)
    between = [variation(made, real, domain.cardinalities, pair) for pair in pairs]
    return found | {"pairs": float(np.mean(between)), "on heaps": on_heaps(table, values)}


def on_heaps(table: Simulated, values: list[Floats]) -> float:
    """The share of rows whose total is a declared heap."""
    heaps = table.document["columns"][SUMMED - 1].get("specials", ())
    return float(np.isin(values[SUMMED - 1], heaps).mean())


def by_draft(table: Simulated) -> str:
    """The column that a draft of the table lets the rule compute."""
    *parts, total = table.document["columns"][:SUMMED]
    values = {column["name"]: own for column, own in zip([*parts, total], table.values, strict=False)}
    return column_to_compute([total, *parts], total, values)


def measured(name: str, rows: int, epsilon: float) -> dict[str, Any]:
    """Means over draws: without the rule, and with it by the computed column."""
    table = TABLES[name](rows)
    _, sampler = trained(table, rows, epsilon)
    (rule,) = table.document["rules"]
    names = [*rule["parts"], rule["total"]]
    ways = {"no rule": []} | {f"{one} computed": [rule | {"computed": one}] for one in reversed(names)}
    found: dict[str, dict[str, Any]] = {
        "rows": {"on heaps": on_heaps(table, table.values), "a draft computes": by_draft(table)}
        | {f"largest heap of {one}": largest_heap(table.values[place]) for place, one in enumerate(names)}
    }
    for way, rules in ways.items():
        domain = TableDomain.from_json(table.document | {"rules": rules})
        runs = [scores(domain, table, drawn(domain, sampler, rows, seed)) for seed in range(DRAWS)]
        found[way] = {score: float(np.mean([one[score] for one in runs])) for score in runs[0]}
    return {way: rounded(entry) for way, entry in found.items()}


def main() -> None:
    """Measure and write the result."""
    for name, rows, epsilon in GRID:
        key = f"{rows} rows, epsilon {epsilon:g}"
        merge("summed_columns", kind=name, key=key, entry=measured(name, rows, epsilon))


if __name__ == "__main__":
    main()
