"""Real tables for the comparison: file, declared domain, and how a file's rows become rows of the domain.

Every fifth row of a table, by a permuted order that the seed gives, tests; the others train. A smaller size is the
beginning of the training rows in that order.
"""

import csv
import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.datasets import HERE, Codes, data_folder
from core.plan.domain.cleaning.column import clean_column
from core.plan.domain.codec import encode
from core.plan.domain.schema import sample_schema
from core.plan.domain.table import TableDomain

SIZES: Final = ("full", "500", "2000", "10000")
"""Of the grid."""
THOUSAND: Final = "1000"
"""A size outside the grid, run at epsilon 1 alone: what a small survey has."""
_HELD_OUT: Final = 5
Row = dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Source of a table.

    Args:
        file: below the folder of real data.
        domain: name of a document in benchmarks/domains.
        rows: of the table, training and test rows together.
        prepare: what is done to the rows of the file before the domain reads them, or None.
    """

    file: str
    domain: str
    rows: int
    prepare: Callable[[Iterable[Row]], list[Row]] | None = None

    @property
    def training_rows(self) -> int:
        """Rows that train at the full size."""
        return self.rows - self.rows // _HELD_OUT


@dataclass(frozen=True, kw_only=True)
class Split:
    """A table, split by a seed.

    Args:
        domain: declared, public.
        train: rows that are private to a method.
        test: rows that score; no method sees them.
    """

    domain: TableDomain
    train: pa.RecordBatch
    test: pa.RecordBatch

    @cached_property
    def train_codes(self) -> Codes:
        """(rows, columns) codes of the training rows."""
        return encode(self.domain, self.train)

    @property
    def target(self) -> int:
        """Position of the target among the columns."""
        assert self.domain.target_index is not None, "every table of the comparison has a target"
        return self.domain.target_index


def first_encounters(rows: Iterable[Row]) -> list[Row]:
    """One row a patient, the encounter of the smallest id.

    So the privacy unit is a patient for every method; the authors of the table took first encounters too.
    """
    kept: dict[str, Row] = {}
    for row in rows:
        known = kept.get(row["patient_nbr"])
        if known is None or int(row["encounter_id"]) < int(known["encounter_id"]):
            kept[row["patient_nbr"]] = row
    return list(kept.values())


def first_encounters_by_chapter(rows: Iterable[Row]) -> list[Row]:
    """First encounters with chapters of ICD-9 instead of the codes of diagnoses."""
    diagnoses = ("diag_1", "diag_2", "diag_3")
    return [
        row | {column: icd9_chapter(row[column]) for column in diagnoses} for row in first_encounters(rows)
    ]


_CHAPTER_ENDS: Final = (
    139, 239, 279, 289, 319, 389, 459, 519, 579, 629, 679, 709, 739, 759, 779, 799, 999,
)  # fmt: skip


def icd9_chapter(code: str) -> str:
    """The chapter of an ICD-9 code, such as "390-459", "V" or "E"; diabetes (250) stands alone; `?` stays."""
    if code[0] in "?VE":
        return code[0]
    number = int(code.split(".", maxsplit=1)[0])
    if number == 250:
        return "250"
    first = 1
    for last in _CHAPTER_ENDS:
        if number <= last:
            return f"{first:03}-{last}"
        first = last + 1
    raise ValueError("ICD-9 has no such chapter.")


SOURCES: Final[Mapping[str, Source]] = {
    "adult": Source(file="adult/adult.data.gz", domain="adult", rows=32561),
    "bank": Source(file="bank_marketing/bank-full.csv.gz", domain="bank", rows=45211),
    "nist-ma": Source(file="nist_acs/ma2018.csv.gz", domain="nist_ma", rows=7244),
    "nist-national": Source(file="nist_acs/national2018.csv.gz", domain="nist_national", rows=27111),
    "poker": Source(file="poker/poker-hand-training-true.data.gz", domain="poker", rows=25010),
    "diabetes": Source(
        file="diabetes130/diabetic_data.csv.gz",
        domain="diabetes",
        rows=71518,
        prepare=first_encounters_by_chapter,
    ),
    "diabetes-icd": Source(
        file="diabetes130/diabetic_data.csv.gz",
        domain="diabetes_icd",
        rows=71518,
        prepare=first_encounters,
    ),
    "taxi": Source(file="nyc_taxi/taxis.csv.gz", domain="taxi", rows=6433),
    "synthea": Source(file="synthea/encounters.csv.gz", domain="synthea", rows=7584),
}


def domain_of(name: str) -> TableDomain:
    """The declared domain of a table."""
    path = HERE / "domains" / f"{SOURCES[name].domain}.json"
    return TableDomain.from_json(json.loads(path.read_text()))


def read(name: str) -> tuple[TableDomain, pa.RecordBatch]:
    """All rows of a table, cleaned by the rules of its domain.

    Raises:
        ValueError: the domain refuses rows; how many, of which column and why, but no value.
    """
    source, domain = SOURCES[name], domain_of(name)
    rows: Iterable[Row] = _rows(data_folder() / source.file, domain)
    if source.prepare is not None:
        rows = source.prepare(rows)
    rows = list(rows)
    arrays = []
    for column in domain.modelled:
        cleaned = clean_column(column, pa.array([row[column.name] for row in rows], pa.string()), domain.csv)
        if cleaned.refused:
            reasons = {kind: int(refused.sum()) for kind, refused in cleaned.refused.items()}
            raise ValueError(f"The domain of {name} refuses rows for column '{column.name}': {reasons}.")
        arrays.append(cleaned.values.cast(sample_schema(domain).field(column.name).type))
    return domain, pa.RecordBatch.from_arrays(arrays, schema=sample_schema(domain))


def _rows(path: Path, domain: TableDomain) -> Iterable[Row]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        parsed = csv.reader(lines, delimiter=domain.csv.delimiter, skipinitialspace=domain.csv.strip_spaces)
        names = next(parsed) if domain.csv.header else [column.name for column in domain.columns]
        for fields in parsed:
            if fields:
                yield dict(zip(names, fields, strict=True))


def split(name: str, size: str, seed: int) -> Split:
    """Training and test rows of a table.

    Args:
        name: of the table.
        size: "full", or how many training rows; the test rows are the same at every size.
        seed: of the permutation.

    Raises:
        ValueError: fewer rows train than asked for.
    """
    domain, rows = read(name)
    train, test = positions(rows.num_rows, seed)
    if size != "full":
        if int(size) > len(train):
            raise ValueError(f"{name} has {len(train)} training rows, fewer than {size}.")
        train = train[: int(size)]
    return Split(domain=domain, train=rows.take(pa.array(train)), test=rows.take(pa.array(test)))


def positions(rows: int, seed: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Positions of the training rows and of the test rows, one in five, in permuted order."""
    order = np.random.default_rng(seed).permutation(rows)
    return order[rows // _HELD_OUT :], order[: rows // _HELD_OUT]
