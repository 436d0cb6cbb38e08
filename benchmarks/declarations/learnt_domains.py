"""Domains that are learnt, beside domains that are declared too wide: medians, heavy values and categories of real tables.

    python -m benchmarks.declarations.learnt_domains [--epsilon 1] [--table adult] [--out FILE]

Every table is trained twice by the local library, as its users do: once with bounds, bins and categories left to be
learnt, once with bounds that are far too wide and no list of categories but "other". Real and synthetic values are
compared column by column. Keys come from the operating system, so numbers differ a little from run to run.
"""

import argparse
import gzip
import io
import json
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from benchmarks.datasets import data_folder
from benchmarks.machine import machine_facts
from benchmarks.results_file import RESULTS
from understudy.local import fit, set_cap

OUT: Final = RESULTS / "learnt_domains.json"
DELTA: Final = 1e-6
HEAVIEST: Final = 5
# Declared bins are not checked, so these bounds stay as they are.
_BOUNDS: Final = {"lower": -1000, "upper": 17000, "bins": 32}
_TIMES: Final = {"lower": "1900-01-01T00:00:00", "upper": "2099-12-31T23:59:59", "bins": 32}
Entry = dict[str, Any]


def _number(name: str, kind: str, **more: object) -> tuple[Entry, Entry]:
    entry = {"name": name, "kind": "numeric", "type": kind} | more
    return entry | {"bounds": "learn", "bins": "learn"}, entry | _BOUNDS


def _words(name: str, most: int = 64) -> tuple[Entry, Entry]:
    entry = {"name": name, "kind": "categorical", "null": "category"}
    # Nobody can declare what nobody knows: without learning all words are "other".
    learnt = entry | {"categories": "learn", "most": most}
    return learnt, entry | {"categories": ["not known"], "other": True}


def _time(name: str) -> tuple[Entry, Entry]:
    entry = {"name": name, "kind": "datetime", "resolution": "minute", "null": "category"}
    return entry | {"bounds": "learn", "bins": "learn"}, entry | _TIMES


def _same(entry: Entry) -> tuple[Entry, Entry]:
    return entry, entry


TABLES: Final[dict[str, tuple[str, str | None, tuple[tuple[Entry, Entry], ...]]]] = {
    "adult": (
        "adult/adult.data.gz",
        None,
        (
            _number("age", "integer"),
            _number("capital-gain", "integer"),
            _number("hours-per-week", "integer"),
            _words("native-country"),
            _words("occupation"),
            _same({"name": "income", "kind": "categorical", "categories": ["<=50K", ">50K"]}),
        ),
    ),
    "nyc-taxi": (
        "nyc_taxi/taxis.csv.gz",
        None,
        (
            _number("fare", "real"),
            _number("tip", "real"),
            _number("distance", "real"),
            _time("pickup"),
            _words("payment"),
        ),
    ),
    "diabetes": (
        "diabetes130/diabetic_data.csv.gz",
        "patient_nbr",
        (
            _number("num_lab_procedures", "integer"),
            _number("num_medications", "integer"),
            _words("diag_1", most=200),
            _words("discharge_disposition_id"),
            _same({"name": "readmitted", "kind": "categorical", "categories": ["NO", "<30", ">30"]}),
        ),
    ),
}
ADULT_NAMES: Final = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip


def read_table(name: str) -> pa.Table:
    """The private rows of a table: the columns of its domain, as text."""
    file, unit, pairs = TABLES[name]
    text = gzip.decompress((data_folder() / file).read_bytes())
    options = csv.ReadOptions(column_names=list(ADULT_NAMES)) if name == "adult" else None
    columns = [entry["name"] for entry, _other in pairs] + ([] if unit is None else [unit])
    converting = csv.ConvertOptions(
        include_columns=columns, column_types=dict.fromkeys(columns, pa.string()), strings_can_be_null=False
    )
    return csv.read_csv(io.BytesIO(text), read_options=options, convert_options=converting)


def domain_of(name: str, *, learnt: bool) -> dict[str, Any]:
    """The domain that is learnt, or the one that is too wide."""
    _file, unit, pairs = TABLES[name]
    columns = [pair[0 if learnt else 1] for pair in pairs]
    return {
        "schema": "understudy.domain/1",
        "target": None,
        "privacy_unit": unit,
        "csv": {"strip_spaces": True, "null_values": ["", "?"]},
        "columns": columns if unit is None else [*columns, {"name": unit, "kind": "unit"}],
    }


def compared(entry: Entry, real: pa.Array, synthetic: pa.Array) -> dict[str, Any]:
    """Differences between a column's real and synthetic values.

    Returns:
        Of words: total variation distance and the share of rows that a listed word stands for. Of numbers and times:
        quantiles, the largest difference of the distribution functions, and the share of the heaviest real values.
    """
    if entry["kind"] == "categorical":
        words = pc.utf8_trim_whitespace(real.cast(pa.string()))
        ours = _shares(pc.if_else(pc.equal(words, "?"), None, words))
        theirs = _shares(synthetic.cast(pa.string()))
        distance = sum(abs(ours.get(word, 0) - theirs.get(word, 0)) for word in ours.keys() | theirs.keys())
        return {"total_variation": distance / 2, "words": len(ours), "synthetic_words": len(theirs)}
    x, y = _numbers(entry, real), _numbers(entry, synthetic)
    values, counts = np.unique(x, return_counts=True)
    heavy = values[np.argsort(-counts)[:HEAVIEST]]
    grid = np.unique(np.concatenate([x, y]))
    gap = np.abs(_below(x, grid) - _below(y, grid)).max()
    shares = [0.01, 0.25, 0.5, 0.75, 0.99]
    return {
        "quantiles": {"real": np.quantile(x, shares).tolist(), "synthetic": np.quantile(y, shares).tolist()},
        "largest_difference": float(gap),
        "heaviest": {"real": float(np.isin(x, heavy).mean()), "synthetic": float(np.isin(y, heavy).mean())},
    }


def _below(numbers: npt.NDArray[np.float64], grid: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    found: npt.NDArray[np.float64] = np.searchsorted(np.sort(numbers), grid, side="right") / len(numbers)
    return found


def _shares(words: pa.Array) -> dict[str, float]:
    counted = pc.value_counts(words).to_pylist()
    return {str(entry["values"]): entry["counts"] / len(words) for entry in counted}


def _numbers(entry: Entry, values: pa.Array) -> npt.NDArray[np.float64]:
    if entry["kind"] == "datetime":
        values = values.cast(pa.timestamp("s")).cast(pa.int64())
    elif pa.types.is_string(values.type):
        values = pc.utf8_trim_whitespace(values)
    found: npt.NDArray[np.float64] = (
        values.cast(pa.float64(), safe=False).drop_null().to_numpy(zero_copy_only=False)
    )
    return found


def run(name: str, *, epsilon: float) -> dict[str, Any]:
    """Train a table with both domains, and compare."""
    table = read_table(name).combine_chunks()
    made: dict[str, Any] = {"rows": table.num_rows, "epsilon": epsilon, "delta": DELTA}
    for kind in ("learnt", "too wide"):
        domain = domain_of(name, learnt=kind == "learnt")
        with tempfile.TemporaryDirectory() as folder:
            ledgers = Path(folder)
            set_cap(name, epsilon=2 * epsilon, delta=4 * DELTA, ledgers=ledgers)
            begun = time.process_time()
            size = int(float(f"{table.num_rows:.1g}"))
            fitted = fit(
                table,
                domain,
                (epsilon, DELTA),
                dataset=name,
                declared_size=size,
                ledgers=ledgers,
                max_refused=0.05,
            )
            seconds = time.process_time() - begun
        drawn = fitted.sample(50_000, form="arrow").combine_chunks()
        entries = [entry for entry in domain["columns"] if entry["kind"] != "unit"]
        made[kind] = {
            "processor_seconds": round(seconds, 1),
            "columns": {
                entry["name"]: compared(
                    entry, table.column(entry["name"]).chunk(0), drawn.column(entry["name"]).chunk(0)
                )
                for entry in entries
            },
        }
    return made


def main() -> None:
    """Run what the command line asks for, and merge it into the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--table", choices=[*TABLES], action="append")
    parser.add_argument("--out", type=Path, default=OUT)
    chosen = parser.parse_args()
    results = json.loads(chosen.out.read_text()) if chosen.out.exists() else {}
    results["machine"] = machine_facts()
    for name in chosen.table or TABLES:
        results.setdefault("tables", {})[name] = run(name, epsilon=chosen.epsilon)
        chosen.out.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
