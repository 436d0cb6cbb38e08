"""A column of 40,000 codes, more than 16 bits hold: ordered, trained by a worker's own child, verified, asked, drawn from."""

import csv
import json
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from io import BytesIO

import numpy as np
import pyarrow.parquet as pq
import pytest

from core.artifacts.asking.answer import OpenedCounts
from core.artifacts.sampling.samples import open_samples
from core.clock import SystemClock
from core.data.private_rows import open_private_rows
from core.data.sealing import SealedWriter
from core.data.stored_rows import open_writer, rows_context
from core.db.tables import Dataset
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.codec import decode, encode
from core.plan.domain.table import TableDomain
from core.plan.plan import make_plan
from core.plan.spec import SynthesisSpec
from core.platform.settings import Settings
from tests.workers.support import Workshop

CODES, ROWS = 40_000, 4000
COMMON = 39_999
"""A code beyond 16 bits that a third of the rows have."""
DOMAIN = {
    "schema": "understudy.domain/1",
    "target": "sick",
    "privacy_unit": None,
    "columns": [
        {"name": "code", "kind": "categorical", "categories": [f"C{code:05}" for code in range(CODES)]},
        {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 9},
        {"name": "sick", "kind": "boolean"},
    ],
}


class WideWorkshop(Workshop):
    """A dataset with a wide column."""

    def dataset_row(self) -> Dataset:
        found = super().dataset_row()
        found.domain, found.declared_size = DOMAIN, ROWS
        return found

    def store_rows(self, rows_key: str, **_: object) -> None:
        domain, rng = TableDomain.from_json(DOMAIN), np.random.default_rng(5)
        common = rng.random(ROWS) < 1 / 3
        code = np.where(common, COMMON, rng.integers(0, CODES, ROWS))
        age = rng.integers(0, 10, ROWS)
        codes = np.column_stack([code, age, common ^ (rng.random(ROWS) < 0.1)]).astype(np.int32)
        path = self.settings.scratch_folder / "rows.sealed"
        with (
            path.open("wb") as raw,
            SealedWriter(raw, key=self.data_key, context=rows_context(rows_key)) as sealed,
            open_writer(sealed, domain) as writer,
        ):
            writer.write_batch(decode(domain, codes, rng))
        self.store.put_file(rows_key, path)


@pytest.fixture
def wide(settings: Settings) -> Iterator[WideWorkshop]:
    workshop = WideWorkshop(settings, clock=SystemClock())
    yield workshop
    workshop.close()


@pytest.mark.long
def test_a_column_of_forty_thousand_codes_becomes_a_release(wide, tmp_path, capfd):
    plan = make_plan(
        spec=SynthesisSpec(synthesizer="idpgan"),
        guarantee=PrivacyGuarantee(epsilon=20.0, delta=1e-6),
        declared_size=ROWS,
        domain=TableDomain.from_json(DOMAIN),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )
    job_id = wide.order(plan)
    wide.train(job_id)
    release = wide.release(job_id)
    assert release is not None, capfd.readouterr()
    packed = wide.store.get_bytes(release.bundle_key)
    bundle = tmp_path / "bundle.zip"
    wide.verified(packed, bundle)

    opened = OpenedCounts.open(packed)
    (row,) = opened.answer("count where code = C39999").rows
    assert row.low <= ROWS / 3 + 100
    assert row.high >= ROWS / 3 - 100
    (row,) = opened.answer("count where code = C39999 and sick = true").rows
    assert row.estimate == pytest.approx(ROWS * 0.3, rel=0.2)

    written = b"".join(open_samples(packed).write(2000, "parquet"))
    assert_is_like_the_rows(Counter(pq.read_table(BytesIO(written)).column("code").to_pylist()), 2000)
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(tmp_path)
    assert json.loads((tmp_path / "manifest.json").read_text())["schema"] == "understudy.wide-bundle/1"
    script = [sys.executable, "sample.py", "1500", "rows.csv"]
    subprocess.run(script, cwd=tmp_path, check=True, env={"PYTHONPATH": ""})
    with (tmp_path / "rows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert_is_like_the_rows(Counter(row["code"] for row in rows), 1500)
    sick = [row["sick"] == "true" for row in rows if row["code"] == "C39999"]
    assert np.mean(sick) > 0.7, "the pair was learnt"


def assert_is_like_the_rows(drawn: Counter[str], rows: int) -> None:
    """A third has the common code; the others are spread."""
    assert drawn.total() == rows
    assert drawn["C39999"] / rows == pytest.approx(1 / 3, abs=0.08)
    assert len(drawn) > rows / 4


def test_stored_rows_hold_codes_of_32_bits_where_a_column_needs_them(wide):
    domain, key = TableDomain.from_json(DOMAIN), f"datasets/{wide.dataset_id}/rows.sealed"
    stored = next(open_private_rows(wide.store, key, wide.data_key, domain))
    assert str(stored.schema.field("code").type.index_type) == "int32"
    codes = encode(domain, stored)
    assert codes.dtype == np.int32
    assert codes[:, 0].max() == COMMON
