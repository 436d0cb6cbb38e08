"""Real tables of the benchmarks, read as the product reads them: by the declared domain."""

import csv
import gzip
import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from core.plan.domain.codec import encode
from core.plan.domain.columns.kinds import NumericColumn
from core.plan.domain.schema import sample_schema
from core.plan.domain.table import TableDomain

HERE = Path(__file__).parent
Codes = npt.NDArray[np.int16 | np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A real table, split into what is private and what scores.

    Args:
        domain: declared, public.
        train: rows that the synthesizer learns from.
        test: rows that score what was trained on synthetic rows; never seen before.
    """

    domain: TableDomain
    train: pa.RecordBatch
    test: pa.RecordBatch

    @property
    def train_codes(self) -> Codes:
        """Coded training rows."""
        return encode(self.domain, self.train)


def data_folder() -> Path:
    """Folder of the real tables: UNDERSTUDY_DATA, or ../shared/data beside the repository."""
    return Path(os.environ.get("UNDERSTUDY_DATA", HERE.parent.parent / "shared" / "data"))


def load(name: str, *, development: bool = False) -> Table:
    """Load "adult" or "poker".

    Args:
        name: of the table.
        development: split the training file instead (keyed by a fixed permutation), and leave the test file alone:
            every fifth row scores. All choices of the recipe were made on this split.
    """
    domain = TableDomain.from_json(json.loads((HERE / "domains" / f"{name}.json").read_text()))
    train, test = {"adult": _adult, "poker": _poker}[name]()
    rows = _batch(domain, train)
    if not development:
        return Table(domain=domain, train=rows, test=_batch(domain, test))
    order = np.random.default_rng(0).permutation(rows.num_rows)
    held_out = rows.num_rows // 6
    return Table(domain=domain, train=rows.take(order[held_out:]), test=rows.take(order[:held_out]))


def _adult() -> tuple[list[list[str]], list[list[str]]]:
    folder = data_folder() / "adult"
    test = _lines(folder / "adult.test.gz")[1:]
    return _lines(folder / "adult.data.gz"), [[*row[:-1], row[-1].rstrip(".")] for row in test]


def _poker() -> tuple[list[list[str]], list[list[str]]]:
    folder = data_folder() / "poker"
    return (
        _lines(folder / "poker-hand-training-true.data.gz"),
        _lines(folder / "poker-hand-testing-first100000.data.gz"),
    )


def _lines(path: Path) -> list[list[str]]:
    with gzip.open(path, "rt", encoding="ascii") as lines:
        return [row for row in csv.reader(lines, skipinitialspace=True) if row]


def _batch(domain: TableDomain, rows: list[list[str]]) -> pa.RecordBatch:
    arrays = []
    for column, values in zip(domain.modelled, zip(*rows, strict=True), strict=True):
        kept = [None if value in domain.csv.null_values else value for value in values]
        if isinstance(column, NumericColumn):
            arrays.append(pa.array([None if value is None else int(value) for value in kept], pa.int64()))
        else:
            arrays.append(
                pa.array(kept, pa.string())
                .dictionary_encode()
                .cast(sample_schema(domain).field(column.name).type)
            )
    return pa.RecordBatch.from_arrays(arrays, schema=sample_schema(domain))
