"""Bounds on the records of a unit, declared and learnt, on real and on made-up tables.

    python -m benchmarks.declarations.learnt_records

* Diabetes 130: 101,766 encounters of 71,518 patients, most of whom have one. Twelve columns at epsilon 1, for some patients and for all.
* Made-up stays, of which sicker patients have more (`benchmarks.declarations.unit_records`), and made-up orders, whose number says nothing of a customer:
  eight columns of six codes, at several epsilons.

Every rule trains by default options. The score is the mean total variation of all pairs of columns, of synthetic rows from all records.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.datasets import data_folder
from benchmarks.declarations.unit_records import CODES, SHAPES, stays
from benchmarks.declarations.unit_records import COLUMNS as MADE_COLUMNS
from benchmarks.results_file import merge, rounded
from benchmarks.tables.ours import CERTIFICATE
from benchmarks.tables.scores import variation
from benchmarks.tables.sources import SOURCES, _rows, domain_of
from core.artifacts.bundle import unpack
from core.artifacts.sampling.sampler import Sampler
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.cleaning.column import clean_column
from core.plan.domain.codec import encode
from core.plan.domain.columns.document import column_to_json
from core.plan.domain.schema import storage_schema
from core.plan.domain.table import CsvFormat, TableDomain
from core.plan.plan import make_plan
from core.plan.spec import SynthesisSpec
from models.bundle import write_bundle
from models.learnt_domains.learning import learnt_records
from models.learnt_domains.records import pair_of
from models.randomness import KeyedStreams
from models.registry import make_synthesizer
from models.synthesizer import NullHost, TrainedGenerator

PATIENTS: Final = (2_000, 10_000, 71_518)
RULES: Final[tuple[int | str | None, ...]] = (None, 1, 2, 4, 8, "learn")
KEYS: Final = 2
UNITS: Final = (500, 2_000, 5_000, 20_000)
EPSILONS: Final = (0.2, 1.0, 4.0)
MADE_RULES: Final[tuple[int | str | None, ...]] = (None, 1, 2, 4, 8, 16, 24, "learn")
ORDERS: Final = 20
"""Mean number of orders of a customer."""
COLUMNS: Final = (
    "race", "gender", "age", "admission_type_id", "time_in_hospital", "num_procedures", "number_inpatient", "number_diagnoses",
    "A1Cresult", "insulin", "change", "readmitted",
)  # fmt: skip
UNIT: Final = "patient_nbr"


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Records and their columns' declarations."""

    batch: pa.RecordBatch
    columns: list[dict[str, Any]]


def declared(rule: int | str | None, columns: Sequence[dict[str, Any]]) -> TableDomain:
    """The domain of some columns under a rule."""
    bound = {} if rule is None else {"records": rule}
    unit = {"name": UNIT, "kind": "unit", **bound}
    return TableDomain.from_json(
        {"schema": "understudy.domain/1", "target": None, "privacy_unit": UNIT, "columns": [unit, *columns]}
    )


def encounters() -> Rows:
    """All encounters."""
    columns = [column_to_json(column) for column in domain_of("diabetes").columns if column.name in COLUMNS]
    source = SOURCES["diabetes"]
    rows = list(_rows(data_folder() / source.file, domain_of("diabetes")))
    domain = declared(None, columns)
    csv = CsvFormat(null_values=("?",))
    arrays = [
        clean_column(column, pa.array([row[column.name] for row in rows], pa.string()), csv).values
        for column in domain.modelled
    ]
    units = pa.array([row["patient_nbr"] for row in rows], pa.string())
    batch = (
        pa.Table.from_arrays([*arrays, units], schema=storage_schema(domain)).combine_chunks().to_batches()[0]
    )
    return Rows(batch=batch, columns=columns)


def made_up(codes: npt.NDArray[np.int16], owners: npt.NDArray[np.int64]) -> Rows:
    """Records of eight columns of six codes."""
    columns = [
        {"name": f"c{place}", "kind": "ordinal", "levels": [str(code) for code in range(CODES)]}
        for place in range(codes.shape[1])
    ]
    schema = storage_schema(declared(None, columns))
    words = {f"c{place}": pa.array(codes[:, place].astype(str)) for place in range(codes.shape[1])}
    words[UNIT] = pa.array(owners.astype(str))
    arrays = [words[one.name].cast(one.type) for one in schema]
    return Rows(batch=pa.RecordBatch.from_arrays(arrays, schema=schema), columns=columns)


def orders(customers: int) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int64]]:
    """Codes of every order, and whose it is: customers differ in what they order, and not by how often they do."""
    rng = np.random.default_rng(5)
    owners = np.repeat(np.arange(customers), 1 + rng.poisson(ORDERS - 1, customers))
    taste, common = rng.normal(size=(customers, MADE_COLUMNS)), rng.normal(size=(len(owners), 1))
    own = rng.normal(size=(len(owners), MADE_COLUMNS))
    cuts = np.linspace(-1.5, 1.5, CODES - 1)
    return np.searchsorted(cuts, 0.5 * taste[owners] + 0.6 * common + 0.6 * own).astype(np.int16), owners


def measured(
    rows: Rows, units: int, rule: int | str | None, *, epsilon: float, key: int
) -> tuple[float, int | None]:
    """Error of pairs, and the bound."""
    domain = declared(rule, rows.columns)
    plan = make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={}),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=1e-6),
        declared_size=units,
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=UNIT, records=domain.records_per_unit),
    )
    streams = KeyedStreams(bytes([key]) * 32)
    learnt, table = learnt_records(
        [rows.batch],
        domain,
        plan.learning,
        streams,
        NullHost(),
        bound=plan.privacy_unit.records,
        key=bytes([key]) * 32,
        pair=pair_of(plan, domain),
    )
    plan = plan.with_learnt_records(learnt.records_per_unit)
    generator = make_synthesizer("idpgan").fit(table, plan, streams, NullHost())
    assert isinstance(generator, TrainedGenerator), "tables have generators of rows"
    generator.network.eval().float().cpu()
    bundle = unpack(write_bundle(generator=generator, domain=learnt.to_json(), certificate=CERTIFICATE))
    made = Sampler(bundle).codes(rows.batch.num_rows, np.random.default_rng(key))
    real, sizes = encode(learnt, rows.batch), learnt.cardinalities
    pairs = itertools.combinations(range(len(sizes)), 2)
    return float(np.mean([variation(made, real, sizes, pair) for pair in pairs])), learnt.records_per_unit


def on_encounters() -> None:
    """Measure every rule on real encounters."""
    everything = encounters()
    names, owners = np.unique(np.array(everything.batch.column(UNIT).to_pylist()), return_inverse=True)
    order = np.random.default_rng(7).permutation(len(names))
    for patients in PATIENTS:
        rows = Rows(
            batch=everything.batch.filter(pa.array(np.isin(owners, order[:patients]))),
            columns=everything.columns,
        )
        held = np.bincount(owners, minlength=len(names))[order[:patients]]
        quantiles = {f"q{share}": int(np.quantile(held, share / 100)) for share in (50, 90, 99)}
        facts = {"records": rows.batch.num_rows, "most": int(held.max())} | quantiles
        for rule in RULES:
            found = [measured(rows, patients, rule, epsilon=1.0, key=key) for key in range(1, KEYS + 1)]
            error = math.fsum(one for one, _bound in found) / KEYS
            entry = facts | rounded({"two_way": error}) | {"bounds": [bound for _error, bound in found]}
            merge("learnt_records", kind=str(patients), key=_name(rule), entry=entry)


def on_made_up_tables() -> None:
    """Measure every rule on made-up tables, once each."""
    tables: dict[str, Callable[[int], tuple[npt.NDArray[np.int16], npt.NDArray[np.int64]]]] = {
        name: partial(stays, spread=spread) for name, spread in SHAPES.items()
    } | {"orders": orders}
    for (name, make), units in itertools.product(tables.items(), UNITS):
        rows = made_up(*make(units))
        for epsilon in EPSILONS:
            found = {_name(rule): measured(rows, units, rule, epsilon=epsilon, key=1) for rule in MADE_RULES}
            entry = {
                "records": rows.batch.num_rows,
                "bound": found["learn"][1],
                "two_way": rounded({rule: error for rule, (error, _bound) in found.items()}),
            }
            merge("learnt_records", kind=name, key=f"{units}, epsilon {epsilon:g}", entry=entry)


def _name(rule: int | str | None) -> str:
    return "average" if rule is None else str(rule)


def main() -> None:
    """Measure and write the results."""
    on_encounters()
    on_made_up_tables()


if __name__ == "__main__":
    main()
