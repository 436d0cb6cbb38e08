"""How many records of a unit count, learnt in a training without a service: kept, stated, and checked."""

import copy
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import understudy
from core.plan.learning import RECORDS
from tests.core.artifacts.stand_in import DOMAIN
from tests.understudy.local.test_fitting import frame
from understudy.local import set_cap
from understudy.verifying.bundle_file import open_bundle
from understudy.verifying.verification import Outcome, verify_opened

PATIENTS: dict[str, Any] = DOMAIN | {
    "columns": [*DOMAIN["columns"], {"name": "patient", "kind": "unit", "records": "learn"}],
    "privacy_unit": "patient",
}
SMALL = {"pretraining_steps": 2, "generator_width": 16, "generator_batch_size": 16, "latent_dimension": 4}


def test_a_learnt_bound_on_the_records_of_a_unit_stands_in_the_release_and_is_checked(tmp_path: Path) -> None:
    set_cap("wards", epsilon=60.0, delta=2e-6, ledgers=tmp_path)
    patients = pa.array([f"p{number}" for number in np.sort(np.random.default_rng(1).integers(0, 60, 300))])
    trained = understudy.fit(
        frame().append_column("patient", patients), PATIENTS, (50.0, 1e-6), dataset="wards", declared_size=60,
        options=SMALL, ledgers=tmp_path,
    )  # fmt: skip
    opened = open_bundle(trained.save(tmp_path / "bundle.zip"))
    (bound,) = [column["records"] for column in opened.domain["columns"] if column["kind"] == "unit"]
    assert bound in RECORDS
    assert bound > 1, "sixty patients have five records each, and there is little noise"
    assert "records" not in trained.certificate["privacy_unit"]
    assert "learning-records" in [row["name"] for row in trained.certificate["mechanisms"]]
    assert f"of one 'patient' at most {bound}" in trained.ask("ward").counted
    with zipfile.ZipFile(tmp_path / "bundle.zip") as archive:
        readme = archive.read("README.md").decode()
    assert (
        f"> At most {bound} records of each 'patient' count: counts and rows cover only these records"
        in readme
    )
    assert re.search(r"(\d+) of \1 pairs of columns .* were counted together", readme), (
        "so few are all counted"
    )
    said = trained.certificate["preprocessing"]
    assert "counts once: by its first record, or by their average" in said[3], "while the domain is learnt"
    assert "so many count" in said[3]
    report = verify_opened(opened, allow_unsigned=True)
    assert report.outcome is Outcome.VERIFIED, report.refusals

    promised = copy.deepcopy(opened.certificate)
    promised["privacy_unit"]["records"] = bound
    other = verify_opened(replace(opened, certificate=promised), allow_unsigned=True)
    assert other.outcome is Outcome.REFUSED, "a learnt bound was not declared"
    for forged in (bound - 1 or 5, 5, None, "learn"):
        domain = copy.deepcopy(opened.domain)
        for column in domain["columns"]:
            if column["kind"] == "unit":
                column["records"] = forged
        other = verify_opened(replace(opened, domain=domain), allow_unsigned=True)
        assert other.outcome is Outcome.REFUSED, "the noise of the counts is that of the bound"


def test_a_draft_shows_that_the_rows_of_a_unit_that_count_are_learnt() -> None:
    patients = pa.array([f"p{number}" for number in np.random.default_rng(1).integers(0, 60, 300)])
    found = understudy.Synthesizer(epsilon=1.0)
    shown = str(found.draft(frame().append_column("patient", patients)))
    assert "patient | unit | records learnt\n      Says whose row it is" in shown
    found.accept_draft(patient={"kind": "unit", "records": 3})
