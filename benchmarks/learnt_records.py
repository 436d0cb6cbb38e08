"""Bounds on the records of a unit, declared and learnt, on hospital encounters of real patients.

    python -m benchmarks.learnt_records

Diabetes 130: 101,766 encounters of 71,518 patients, most of whom have one. Twelve columns are trained by default options at epsilon 1 under
every rule, for some patients and for all. The score is the mean total variation of all pairs of columns, of synthetic rows
from all encounters of these patients.
"""

import itertools
import math
from typing import Any, Final

import numpy as np
import pyarrow as pa

from benchmarks.datasets import data_folder
from benchmarks.results_file import merge, rounded
from benchmarks.tables.ours import CERTIFICATE
from benchmarks.tables.scores import variation
from benchmarks.tables.sources import SOURCES, _rows, domain_of
from core.artifacts.bundle import unpack
from core.artifacts.sampling.sampler import Sampler
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.cleaned import TextRules
from core.plan.domain.cleaning import clean_column
from core.plan.domain.codec import encode
from core.plan.domain.document import column_to_json
from core.plan.domain.schema import storage_schema
from core.plan.domain.table import TableDomain
from core.plan.plan import make_plan
from core.plan.spec import SynthesisSpec
from models.bundle import write_bundle
from models.learning import learnt_records
from models.learnt_records import noise_of_learnt_records
from models.randomness import KeyedStreams
from models.registry import make_synthesizer
from models.synthesizer import NullHost, TrainedGenerator

PATIENTS: Final = (2_000, 10_000, 71_518)
RULES: Final[tuple[int | str | None, ...]] = (None, 1, 2, 4, 8, "learn")
KEYS: Final = 2
COLUMNS: Final = (
    "race", "gender", "age", "admission_type_id", "time_in_hospital", "num_procedures", "number_inpatient", "number_diagnoses",
    "A1Cresult", "insulin", "change", "readmitted",
)  # fmt: skip


def declared(rule: int | str | None) -> dict[str, Any]:
    """The domain of the twelve columns under a rule."""
    bound = {} if rule is None else {"records": rule}
    columns = [column_to_json(column) for column in domain_of("diabetes").columns if column.name in COLUMNS]
    unit = {"name": "patient_nbr", "kind": "unit", **bound}
    return {
        "schema": "understudy.domain/1",
        "target": None,
        "privacy_unit": "patient_nbr",
        "columns": [unit, *columns],
    }


def encounters() -> pa.RecordBatch:
    """All encounters."""
    source = SOURCES["diabetes"]
    rows = list(_rows(data_folder() / source.file, domain_of("diabetes")))
    domain = TableDomain.from_json(declared(None))
    rules = TextRules(strip=False, null_values=("?",))
    arrays = [
        clean_column(column, pa.array([row[column.name] for row in rows], pa.string()), rules).values
        for column in domain.modelled
    ]
    units = pa.array([row["patient_nbr"] for row in rows], pa.string())
    return (
        pa.Table.from_arrays([*arrays, units], schema=storage_schema(domain)).combine_chunks().to_batches()[0]
    )


def measured(
    rows: pa.RecordBatch, patients: int, rule: int | str | None, key: int
) -> tuple[float, int | None]:
    """Error of pairs, and the bound."""
    document = declared(rule)
    domain = TableDomain.from_json(document)
    plan = make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={}),
        guarantee=PrivacyGuarantee(epsilon=1.0, delta=1e-6),
        declared_size=patients,
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column="patient_nbr", records=domain.records_per_unit),
    )
    streams = KeyedStreams(bytes([key]) * 32)
    learnt, table = learnt_records(
        [rows],
        domain,
        plan.learning,
        streams,
        NullHost(),
        bound=plan.privacy_unit.records,
        key=bytes([key]) * 32,
        noise_of_one=noise_of_learnt_records(plan, domain),
    )
    plan = plan.with_learnt_records(learnt.records_per_unit)
    generator = make_synthesizer("idpgan").fit(table, plan, streams, NullHost())
    assert isinstance(generator, TrainedGenerator), "tables have generators of rows"
    generator.network.eval().float().cpu()
    bundle = unpack(write_bundle(generator=generator, domain=learnt.to_json(), certificate=CERTIFICATE))
    made = Sampler(bundle).codes(rows.num_rows, np.random.default_rng(key))
    real, sizes = encode(learnt, rows), learnt.cardinalities
    pairs = itertools.combinations(range(len(sizes)), 2)
    return float(np.mean([variation(made, real, sizes, pair) for pair in pairs])), learnt.records_per_unit


def main() -> None:
    """Measure and write the result."""
    everything = encounters()
    names, owners = np.unique(np.array(everything.column("patient_nbr").to_pylist()), return_inverse=True)
    order = np.random.default_rng(7).permutation(len(names))
    for patients in PATIENTS:
        rows = everything.filter(pa.array(np.isin(owners, order[:patients])))
        held = np.bincount(owners, minlength=len(names))[order[:patients]]
        quantiles = {f"q{share}": int(np.quantile(held, share / 100)) for share in (50, 90, 99)}
        facts = {"records": rows.num_rows, "most": int(held.max())} | quantiles
        for rule in RULES:
            found = [measured(rows, patients, rule, key) for key in range(1, KEYS + 1)]
            error = math.fsum(one for one, _bound in found) / KEYS
            entry = facts | rounded({"two_way": error}) | {"bounds": [bound for _error, bound in found]}
            merge(
                "learnt_records",
                kind=str(patients),
                key="average" if rule is None else str(rule),
                entry=entry,
            )


if __name__ == "__main__":
    main()
