"""A bound on the records of a unit, in a training without a service: kept, stated on the certificate, and checked."""

import copy
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import understudy
from core.artifacts.statements import PREPROCESSING
from tests.core.artifacts.stand_in import DOMAIN
from tests.understudy.local.test_fitting import frame
from understudy.local import set_cap
from understudy.verifying.bundle_file import open_bundle
from understudy.verifying.verification import Outcome, verify_opened

PATIENTS: dict[str, Any] = DOMAIN | {
    "columns": [*DOMAIN["columns"], {"name": "patient", "kind": "unit", "records": 2}],
    "privacy_unit": "patient",
}


def test_a_bound_on_the_records_of_a_unit_is_kept_stated_and_checked(tmp_path: Path) -> None:
    set_cap("wards", epsilon=10.0, delta=2e-6, ledgers=tmp_path)
    patients = pa.array([f"p{number}" for number in np.sort(np.random.default_rng(1).integers(0, 60, 300))])
    kept = sum(min(2, count) for count in Counter(patients.to_pylist()).values())
    options = {
        "pretraining_steps": 2,
        "generator_width": 16,
        "generator_batch_size": 16,
        "latent_dimension": 4,
    }
    rows = frame().append_column("patient", patients)
    trained = understudy.fit(
        rows, PATIENTS, (10.0, 1e-6), dataset="wards", declared_size=60,
        options=options, ledgers=tmp_path,
    )  # fmt: skip
    trained.report(rows, tmp_path / "report.html")
    assert "300 real rows. A repeated" in (tmp_path / "report.html").read_text().replace("\n", " "), (
        "all, as in the service"
    )
    unit = trained.certificate["privacy_unit"]
    assert (unit["column"], unit["records"]) == ("patient", 2)
    answer = trained.ask("ward")
    assert sum(row.unbiased or 0.0 for row in answer.rows) == pytest.approx(kept, abs=0.3 * kept), (
        "not 60, not 300"
    )
    assert "of one 'patient' at most 2" in answer.counted
    said = trained.certificate["preprocessing"]
    assert "counts once" not in " ".join(said), "two records of a unit count"
    assert "so many count" in said[3]
    opened = open_bundle(trained.save(tmp_path / "bundle.zip"))
    report = verify_opened(opened, allow_unsigned=True)
    assert report.outcome is Outcome.VERIFIED, report.refusals
    other = verify_opened(
        replace(opened, certificate=opened.certificate | {"preprocessing": [*PREPROCESSING]}),
        allow_unsigned=True,
    )
    assert "preprocessing" in str(other.refusals)
    for forged in (1, 3, None):
        changed = copy.deepcopy(opened.certificate)
        changed["privacy_unit"]["records"] = forged
        if forged is None:
            del changed["privacy_unit"]["records"]
        other = verify_opened(replace(opened, certificate=changed), allow_unsigned=True)
        assert other.outcome is Outcome.REFUSED, "the bound is part of what is promised"
