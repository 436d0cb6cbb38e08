"""Bounds that are far wider than the values, with and without checks, beside bounds that fit; edges and heaps are declared nowhere.

    python -m benchmarks.declarations.wide_bounds [--table adult] [--size 2000] [--epsilon 1] [--seed 0] [--bounds fit] [--out FILE]

Tables, splits and bounds are those of the comparison (`benchmarks.tables.sources`). Far too wide bounds are a thousand times as large; those of
times lie fifty years further out. Every synthetic row is decoded and scored on the declared codes of the comparison, so all ways are measured
alike: mean distances of counts, AUROC of classifiers that synthetic rows taught, and the largest difference of the distribution functions of numbers
and times, their mean and the worst.
"""

import argparse
import itertools
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from benchmarks.machine import machine_facts
from benchmarks.results_file import RESULTS
from benchmarks.tables.ours import CERTIFICATE
from benchmarks.tables.scores import distances, train_and_test
from benchmarks.tables.sources import Split, split
from benchmarks.tables.task import key_of
from core.artifacts.bundle import unpack
from core.artifacts.sampling.sampler import Sampler
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.codec import decode, encode
from core.plan.domain.columns.kinds import Modelled, NumericColumn, TimeColumn
from core.plan.domain.schema import storage_schema
from core.plan.domain.table import TableDomain
from core.plan.plan import make_plan
from core.plan.spec import SynthesisSpec
from models.bundle import write_bundle
from models.learnt_domains.learning import learnt_records
from models.randomness import KeyedStreams
from models.registry import make_synthesizer
from models.synthesizer import NullHost

OUT: Final = RESULTS / "wide_bounds.json"
TABLES: Final = ("adult", "bank", "diabetes", "nist-ma", "synthea", "taxi")
SIZES: Final = ("2000", "full")
BOUNDS: Final = ("fit", "far too wide")
DELTA: Final = 1e-6
SHOWN: Final = ("two_way", "three_way", "auroc_trees", "auroc_logistic", "gap", "worst_gap", "share")
_TIMES, _YEARS, _YEAR_SECONDS = 1000, 50, 31_557_600
_SAMPLER_SEED: Final = 20_261_130


def declared(domain: TableDomain, bounds: str) -> TableDomain:
    """Return the domain with bounds alone: no edges, and no special values between the bounds."""
    columns = tuple(
        _plain(column, wide=bounds != "fit") if isinstance(column, NumericColumn | TimeColumn) else column
        for column in domain.columns
    )
    return replace(domain, columns=columns)


def _plain(column: NumericColumn | TimeColumn, *, wide: bool) -> Modelled:
    if isinstance(column, TimeColumn):
        far = _YEARS * (_YEAR_SECONDS // column.seconds_per_unit) if wide else 0
        return replace(column, edges=(), lower=column.lower - far, upper=column.upper + far)
    specials = tuple(one for one in column.specials if not column.lower <= one <= column.upper)
    times = _TIMES if wide else 1
    lower, upper = (times * min(column.lower, 0) if wide else column.lower), times * column.upper
    return replace(column, edges=(), specials=specials, lower=float(lower), upper=float(upper))


def run(table: Split, bounds: str, *, checks: bool, epsilon: float, seed: int) -> dict[str, Any]:
    """Publish the training rows, and score the synthetic ones."""
    domain, rows = declared(table.domain, bounds), table.train.num_rows
    begun = time.process_time()
    plan = make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={}),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=DELTA),
        declared_size=rows,
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
        checks_bounds=checks,
    )
    streams, schema = KeyedStreams(key_of(seed)), storage_schema(domain)
    batch = pa.RecordBatch.from_arrays(
        [table.train.column(field.name).cast(field.type) for field in schema], schema=schema
    )
    found, private = learnt_records([batch], domain, plan.learning, streams, NullHost(), declared_size=rows)
    generator = make_synthesizer("idpgan").fit(private, plan, streams, NullHost())
    generator.network.eval().float().cpu()
    bundle = unpack(write_bundle(generator=generator, domain=found.to_json(), certificate=CERTIFICATE))
    codes = Sampler(bundle).codes(rows, np.random.default_rng(_SAMPLER_SEED))
    seconds = time.process_time() - begun
    drawn = decode(found, codes, np.random.default_rng(_SAMPLER_SEED))
    return _scored(table, drawn, seed) | {
        "processor_seconds": round(seconds, 1),
        "checked": 0 if plan.learning is None else len(plan.learning.checks),
        "changed": sum(one != other for one, other in zip(found.modelled, domain.modelled, strict=True)),
        "share": 0.0 if plan.learning is None else float(f"{_share(plan.to_json()):.3g}"),
    }


def _share(plan: dict[str, Any]) -> float:
    noises = [part["noise_multiplier"] ** -2 for part in plan["mechanism"]["parts"]]
    count = len(plan["learning"]["releases"])
    return float(sum(noises[:count]) / sum(noises))


def _scored(table: Split, drawn: pa.RecordBatch, seed: int) -> dict[str, Any]:
    kept = [_within(drawn.column(column.name), column) for column in table.domain.modelled]
    rows = pa.RecordBatch.from_arrays(kept, schema=table.train.schema)
    made = encode(table.domain, rows)
    gaps = [
        _gap(table.train.column(column.name), drawn.column(column.name))
        for column in table.domain.modelled
        if isinstance(column, NumericColumn | TimeColumn)
    ]
    found = distances(made, table.train_codes, table.domain.cardinalities, table.target)
    scores = found | train_and_test(table, made, seed) | {"gap": float(np.mean(gaps)), "worst_gap": max(gaps)}
    return {name: float(f"{value:.4g}") for name, value in scores.items()}


def _within(values: pa.Array, column: Modelled) -> pa.Array:
    """The values as rows of the comparison's domain: beyond its bounds they count as the bound."""
    if not isinstance(column, NumericColumn | TimeColumn):
        return values
    kind = values.type
    bare = values.cast(pa.int32()).cast(pa.int64()) if pa.types.is_date32(kind) else values
    bare = bare.cast(pa.int64()) if pa.types.is_temporal(bare.type) else bare
    numbers = bare.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    clipped = np.where(
        np.isin(numbers, column.specials), numbers, np.clip(numbers, column.lower, column.upper)
    )
    there = pa.array(np.nan_to_num(clipped), mask=np.isnan(clipped))
    if pa.types.is_date32(kind):
        return there.cast(pa.int64(), safe=False).cast(pa.int32()).cast(kind)
    return (
        there.cast(pa.int64(), safe=False).cast(kind)
        if pa.types.is_temporal(kind)
        else there.cast(kind, safe=False)
    )


def _gap(real: pa.Array, synthetic: pa.Array) -> float:
    one, other = (
        np.sort(_bare(values).drop_null().to_numpy(zero_copy_only=False)) for values in (real, synthetic)
    )
    grid = np.unique(np.concatenate([one, other]))
    below = [np.searchsorted(values, grid, side="right") / max(len(values), 1) for values in (one, other)]
    return float(np.abs(below[0] - below[1]).max())


def _bare(values: pa.Array) -> pa.Array:
    if pa.types.is_temporal(values.type):
        values = values.cast(pa.int32() if pa.types.is_date32(values.type) else pa.int64())
    return values.cast(pa.float64(), safe=False)


def means(cells: dict[str, Any]) -> dict[str, Any]:
    """Return the scores of each table, size, epsilon, bounds and way: the means of its seeds, and how many they are."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for cell, made in cells.items():
        name, size, epsilon, _seed, bounds, way = cell.split("/")
        groups.setdefault(f"{name}/{size}/{epsilon}/{bounds}/{way}", []).append(made)
    return {
        group: {score: float(f"{np.mean([one[score] for one in made]):.3g}") for score in SHOWN}
        | {"seeds": len(made)}
        for group, made in groups.items()
    }


def main() -> None:
    """Run what the command line asks for and is not there yet, and merge it into the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", choices=TABLES, action="append")
    parser.add_argument("--size", action="append")
    parser.add_argument("--epsilon", type=float, action="append")
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--bounds", choices=BOUNDS, action="append")
    parser.add_argument("--out", type=Path, default=OUT)
    chosen = parser.parse_args()
    asked = itertools.product(
        chosen.size or SIZES, chosen.epsilon or [1.0], chosen.seed or [0], chosen.table or TABLES
    )
    for size, epsilon, seed, name in asked:
        table = split(name, size, seed)
        for bounds, checks in itertools.product(chosen.bounds or BOUNDS, (False, True)):
            results = json.loads(chosen.out.read_text()) if chosen.out.exists() else {"cells": {}}
            cell = f"{name}/{size}/{epsilon:g}/{seed}/{bounds}/{'checked' if checks else 'as declared'}"
            if cell in results["cells"]:
                continue
            made = run(table, bounds, checks=checks, epsilon=epsilon, seed=seed)
            print(cell, made, flush=True)
            results["cells"][cell] = made | {"rows": table.train.num_rows}
            results |= {"machine": machine_facts(), "means": means(results["cells"])}
            chosen.out.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
