"""Columns in an order `a <= b`: distributions of both, and of their distance, in rows that keep the order by exchange and by drawing again.

    python -m benchmarks.declarations.ordered_columns

Each table is simulated, trained with its rule and drawn three times, as many rows as were declared. Scores are total variations from the
real rows: of `a` and of `b` in tenths of the real values, of `b - a` in classes cut at its quantiles, of the codes of `a` and `b` together,
and the mean over the pairs of one of them with another column.
"""

import itertools
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from benchmarks.declarations.ordered_tables import TABLES, Simulated
from benchmarks.results_file import merge, rounded
from benchmarks.tables.ours import CERTIFICATE
from benchmarks.tables.scores import variation
from core.artifacts.bundle import unpack
from core.artifacts.sampling.sampler import Sampler
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.codec import batch_of, codes_of, draw_values
from core.plan.domain.rules.keeping import REDRAWS, Keeper
from core.plan.domain.table import TableDomain
from core.plan.plan import make_plan
from core.plan.spec import SynthesisSpec
from models.bundle import write_bundle
from models.coding import coded_table
from models.randomness import KeyedStreams
from models.registry import make_synthesizer
from models.synthesizer import NullHost, TrainedGenerator

Floats = npt.NDArray[np.float64]
GRID: Final = (
    *itertools.product(TABLES, (4000,), (0,), (0.3, 1.0)),
    *itertools.product(TABLES, (50_000,), (0,), (1.0,)),
    ("dates", 4000, 0, 4.0),
    ("dates", 1000, 0, 1.0),
    *(("dates", 4000, 15, epsilon) for epsilon in (0.3, 1.0)),
)
"""Tables, rows, further columns, epsilon."""
DRAWS: Final = 3
QUANTILES: Final = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


def trained(table: Simulated, rows: int, epsilon: float) -> tuple[TableDomain, Sampler]:
    """The domain of a table, and rows of a generator that knows its rules before they are kept."""
    domain = TableDomain.from_json(table.document)
    plan = make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={}),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=1e-6),
        declared_size=rows,
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )
    private = coded_table([batch_of(domain, table.values)], domain)
    generator = make_synthesizer("idpgan").fit(private, plan, KeyedStreams(bytes([1]) * 32), NullHost())
    assert isinstance(generator, TrainedGenerator), "tables have generators of rows"
    generator.network.eval().float().cpu()
    bare = {key: value for key, value in table.document.items() if key != "rules"}
    bundle = write_bundle(generator=generator, domain=bare, certificate=CERTIFICATE)
    return domain, Sampler(unpack(bundle))


def drawn_again(
    values: list[Floats], keeper: Keeper, redraw: Callable[[npt.NDArray[np.int64]], list[Floats]]
) -> list[Floats]:
    """Rows that break a rule are drawn again and again, without an exchange; those that never keep it are left out."""
    made = [column.copy() for column in values]
    for _ in range(REDRAWS):
        at = np.flatnonzero(keeper.broken(dict(enumerate(made))))
        for column, again in zip(made, redraw(at), strict=True):
            column[at] = again
    whole = ~keeper.broken(dict(enumerate(made)))
    return [column[whole] for column in made]


def scores(domain: TableDomain, table: Simulated, values: list[Floats]) -> dict[str, float]:
    """Total variations from the real rows."""
    real, made = (codes_of(domain, own) for own in (table.values, values))
    first, second = table.pair

    def between(own: Floats, truth: Floats, quantiles: tuple[float, ...]) -> float:
        inner = np.unique(np.quantile(truth, quantiles))
        shares = [
            np.bincount(np.searchsorted(inner, one, side="left"), minlength=len(inner) + 1) / len(one)
            for one in (own, truth)
        ]
        return float(np.abs(shares[0] - shares[1]).sum() / 2)

    tenths = tuple((np.arange(1, 10) / 10).tolist())
    distance, truth = (own[second] - own[first] for own in (values, table.values))
    others = [
        variation(made, real, domain.cardinalities, pair)
        for pair in itertools.combinations(range(len(values)), 2)
        if (pair[0] in table.pair) != (pair[1] in table.pair)
    ]
    return {
        "a": between(values[first], table.values[first], tenths),
        "b": between(values[second], table.values[second], tenths),
        "b - a": between(distance, truth, QUANTILES),
        "median of b - a": float(np.median(distance)),
        "codes of a and b": variation(made, real, domain.cardinalities, table.pair),
        "one and another column": float(np.mean(others)),
    }


def measured(name: str, rows: int, further: int, epsilon: float) -> dict[str, Any]:
    """Means over draws: before the rule is kept, drawn again, and as the product keeps it."""
    table = TABLES[name](rows, further)
    domain, sampler = trained(table, rows, epsilon)
    assert domain.kept is not None
    found: dict[str, list[dict[str, float]]] = {}
    for draw in range(DRAWS):
        rng = np.random.default_rng(draw)

        def fresh(at: npt.NDArray[np.int64], rng: np.random.Generator = rng) -> list[Floats]:
            return draw_values(domain, sampler.codes(len(at), rng), rng)

        before = fresh(np.arange(rows))
        again = drawn_again(before, domain.kept.keeper, fresh)
        kept = [column.copy() for column in before]
        domain.kept.keeper.keep(kept, fresh, rng)
        for way, values in (("drawn", before), ("drawn again", again), ("exchanged", kept)):
            found.setdefault(way, []).append(scores(domain, table, values))
    first, second = table.pair
    means = {
        way: {score: float(np.mean([one[score] for one in runs])) for score in runs[0]}
        for way, runs in found.items()
    }
    real = {"median of b - a": float(np.median(table.values[second] - table.values[first]))}
    return {way: rounded(entry) for way, entry in ({"rows": real} | means).items()}


def main() -> None:
    """Measure and write the result."""
    for name, rows, further, epsilon in GRID:
        key = f"{rows} rows, {further} further columns, epsilon {epsilon:g}"
        merge("ordered_columns", kind=name, key=key, entry=measured(name, rows, further, epsilon))


if __name__ == "__main__":
    main()
