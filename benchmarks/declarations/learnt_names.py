"""Words that a training learns where units have several records: by their first record, and by several of their words.

    python -m benchmarks.declarations.learnt_names

Made-up cards with some forty payments each, customers with one order or two, and the encounters of Diabetes 130, of all patients and of 4,000
with three each. Every column is learnt by the releases of a plan that learns two; delta is 1e-6. Counted are the words that are learnt and
the share of rows that keep their word instead of "other"; means of `KEYS` keys.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.declarations.learnt_domains import read_table
from benchmarks.results_file import merge, rounded
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.columns.kinds import LabelColumn
from core.plan.domain.schema import storage_schema
from core.plan.domain.table import TableDomain
from core.plan.learning import LearningPlan
from core.plan.plan import make_plan
from core.plan.spec import SynthesisSpec
from models.learnt_domains.learning import learn_domain
from models.randomness import KeyedStreams

EPSILONS: Final = (0.5, 1.0, 4.0)
BOUNDS: Final[tuple[int | None, ...]] = (None, 2, 4, 8, 16, 32, 64, 128)
"""Names of a unit that count; None for its first record's."""
KEYS: Final = 5
CARDS: Final = 4_000
PAYMENTS: Final = 40
CODES, CITIES = 300, 500
AT_HOME: Final = 0.7
"""Share of a card's payments in its own city."""
Words = dict[str, pa.Array]


def cards() -> tuple[pa.Array, Words]:
    """Payments of cards: codes by Zipf's law, cities by it too and mostly one a card."""
    rng = np.random.default_rng(1)
    owner = np.repeat(np.arange(CARDS), np.maximum(rng.poisson(PAYMENTS, CARDS), 1))
    codes = rng.choice(CODES, len(owner), p=_zipf(CODES))
    home, away = rng.choice(CITIES, CARDS, p=_zipf(CITIES)), rng.choice(CITIES, len(owner), p=_zipf(CITIES))
    cities = np.where(rng.random(len(owner)) < AT_HOME, home[owner], away)
    return _words(owner), {"code": _words(codes), "city": _words(cities)}


def customers() -> tuple[pa.Array, Words]:
    """Orders of customers who have one or two."""
    rng = np.random.default_rng(2)
    owner = np.repeat(np.arange(CARDS), rng.integers(1, 3, CARDS))
    return _words(owner), {"code": _words(rng.choice(CODES, len(owner), p=_zipf(CODES)))}


def patients() -> tuple[pa.Array, Words]:
    """All encounters, with the first sign of the diagnosis too."""
    table = read_table("diabetes").combine_chunks()
    diagnosis = table.column("diag_1").combine_chunks().cast(pa.string())
    words = {"diag_1": diagnosis, "first sign of diag_1": pc.utf8_slice_codeunits(diagnosis, 0, 1)}
    return table.column("patient_nbr").combine_chunks().cast(pa.string()), words


def patients_with_three() -> tuple[pa.Array, Words]:
    """The first three encounters of 4,000 patients who have as many."""
    units, words = patients()
    owner = np.unique(np.array(units.to_pylist()), return_inverse=True)[1]
    order = np.argsort(owner, kind="stable")
    held = np.bincount(owner)
    place = np.empty(len(owner), dtype=np.int64)
    place[order] = np.arange(len(owner)) - np.repeat(np.cumsum(held) - held, held)
    chosen = np.flatnonzero(held >= 3)[:CARDS]
    kept = pa.array((place < 3) & np.isin(owner, chosen))
    return units.filter(kept), {name: values.filter(kept) for name, values in words.items()}


TABLES: Final[dict[str, Callable[[], tuple[pa.Array, Words]]]] = {
    "cards": cards,
    "customers": customers,
    "patients": patients,
    "patients with three": patients_with_three,
}


def _zipf(count: int) -> npt.NDArray[np.float64]:
    shares = 1.0 / np.arange(1, count + 1)
    return np.asarray(shares / shares.sum(), dtype=np.float64)


def _words(numbers: npt.NDArray[np.int64]) -> pa.Array:
    return pa.array(numbers.astype(str), pa.string())


def _domain() -> TableDomain:
    """A column of words, and one that is learnt beside it."""
    columns: list[dict[str, Any]] = [
        {"name": "unit", "kind": "unit"},
        {"name": "word", "kind": "categorical", "categories": "learn", "most": 200, "null": "category"},
        {"name": "beside", "kind": "numeric", "type": "integer", "lower": 0, "upper": 9, "bins": "learn"},
    ]
    return TableDomain.from_json(
        {"schema": "understudy.domain/1", "target": None, "privacy_unit": "unit", "columns": columns}
    )


def _plan(domain: TableDomain, units: int, epsilon: float) -> LearningPlan:
    plan = make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={}),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=1e-6),
        declared_size=units,
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column="unit"),
    ).learning
    assert plan is not None
    return plan


def learnt(units: pa.Array, words: pa.Array, *, epsilon: float, bound: int | None) -> dict[str, float]:
    """Words that are learnt and the share of rows with one of them, where so many words of a unit count."""
    domain = _domain()
    plan = replace(_plan(domain, pc.count_distinct(units).as_py(), epsilon), names_per_unit=bound)
    values = {"unit": units, "word": words, "beside": pa.array(np.zeros(len(units), dtype=np.int64))}
    schema = storage_schema(domain)
    batch = pa.RecordBatch.from_arrays([values[one.name].cast(one.type) for one in schema], schema=schema)
    found, kept = [], []
    for key in range(1, KEYS + 1):
        column = learn_domain([batch], domain, plan, KeyedStreams(bytes([key]) * 32)).modelled[0]
        assert isinstance(column, LabelColumn), "words are learnt"
        found.append(len(column.labels))
        kept.append(
            pc.sum(pc.is_in(words, value_set=pa.array(column.labels, pa.string()))).as_py() / len(words)
        )
    return rounded(
        {"words": float(np.mean(found)), "kept": float(np.mean(kept)), "threshold": plan.threshold}
    )


def main() -> None:
    """Measure and write the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", choices=[*TABLES], action="append")
    chosen = parser.parse_args()
    for name in chosen.table or TABLES:
        units, columns = TABLES[name]()
        for column, words in columns.items():
            facts = {
                "units": pc.count_distinct(units).as_py(),
                "records": len(units),
                "distinct": pc.count_distinct(words).as_py(),
            }
            for epsilon in EPSILONS:
                found = {
                    "first" if bound is None else str(bound): learnt(
                        units, words, epsilon=epsilon, bound=bound
                    )
                    for bound in BOUNDS
                }
                key = f"{column}, epsilon {epsilon:g}"
                merge("learnt_names", kind=name, key=key, entry=facts | {"bounds": found})


if __name__ == "__main__":
    main()
