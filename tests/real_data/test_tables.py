"""Real tables through the declared domain, the intake and the door to private rows."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from benchmarks.datasets import load
from core.data.intake.intake import GZIP, store_rows
from core.data.objects import open_store
from core.data.private_rows import open_private_rows
from core.data.sealing import new_data_key
from core.plan.domain.codec import encode
from core.plan.domain.table import TableDomain
from understudy.drafts.tables import draft_domain

pytestmark = pytest.mark.real_data
DOMAINS = Path(__file__).parents[2] / "benchmarks" / "domains"


def _stored(path: Path, domain: TableDomain, scratch: Path):
    store, key = open_store("memory://"), new_data_key()
    with path.open("rb") as file:
        report = store_rows(
            file,
            content_type=GZIP,
            domain=domain,
            store=store,
            key="rows",
            data_key=key,
            scratch_folder=scratch,
        )
    return report, list(open_private_rows(store, "rows", key, domain))


@pytest.mark.parametrize(
    ("name", "file", "rows"),
    [("adult", "adult/adult.data.gz", 32_561), ("poker", "poker/poker-hand-training-true.data.gz", 25_010)],
)
def test_every_row_of_a_declared_table_is_taken_in_as_it_is(real_data_folder, tmp_path, name, file, rows):
    domain = TableDomain.from_json(json.loads((DOMAINS / f"{name}.json").read_text()))
    report, batches = _stored(real_data_folder / file, domain, tmp_path)
    assert (report.rows_accepted, report.rows_refused) == (rows, 0)
    # Two readers agree: the intake's parser, and Python's csv module in the benchmarks.
    codes = np.concatenate([encode(domain, batch) for batch in batches])
    assert np.array_equal(codes, load(name).train_codes)


def _confirmed(value):
    """What the owner does by hand after reading: take the marks away."""
    if isinstance(value, dict):
        return {key: _confirmed(item) for key, item in value.items() if key != "_from_data"}
    return [_confirmed(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("file", "rows", "unit"),
    [
        pytest.param("diabetes130/diabetic_data.csv.gz", 101_766, "patient_nbr", marks=pytest.mark.long),
        pytest.param("bank_marketing/bank-full.csv.gz", 45_211, None, marks=pytest.mark.long),
        ("nyc_taxi/taxis.csv.gz", 6_433, None),
        ("synthea/encounters.csv.gz", 7_584, "PATIENT"),
    ],
    ids=lambda value: str(value).split("/")[0],
)
def test_a_confirmed_draft_takes_in_the_table_it_was_drafted_from(
    real_data_folder, tmp_path, file, rows, unit
):
    # The draft knows files by their ending.
    path = Path(shutil.copy(real_data_folder / file, tmp_path / "rows.csv.gz"))
    document = _confirmed(draft_domain(path))
    document.pop("declared_size", None)
    assert document["privacy_unit"] == unit, "the draft finds whose record it is"
    domain = TableDomain.from_json(document)
    report, batches = _stored(path, domain, tmp_path)
    assert report.rows_accepted == rows, report.to_json()
    codes = np.concatenate([encode(domain, batch) for batch in batches])
    assert codes.min() >= 0
    assert (codes.max(axis=0) < np.array(domain.cardinalities)).all()
