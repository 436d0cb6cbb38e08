"""Graphical models in the local library: charged, verified, drawn from and asked as any other generator."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from core.plan import installed
from tests.core.artifacts.stand_in import DOMAIN
from tests.understudy.local.test_fitting import GUARANTEE, capped, frame
from understudy import InvalidInput
from understudy.local import fit, read_account
from understudy.verifying.verification import Outcome, verify_bundle


def dependent(rows: int = 3000) -> pa.Table:
    """Whoever is in ward A is sick."""
    table = frame(rows)
    sick = pa.array(np.where(np.array(table["ward"]) == "A", "yes", "no"))
    return table.set_column(2, "sick", sick)


def test_a_graphical_model_is_fitted_verified_asked_and_drawn_from(tmp_path: Path) -> None:
    made = fit(
        dependent(), DOMAIN, GUARANTEE, dataset="wards", declared_size=3000, synthesizer="mst", ledgers=capped(tmp_path),
    )  # fmt: skip
    report = verify_bundle(made.save(tmp_path / "bundle.zip"), allow_unsigned=True)
    assert report.outcome is Outcome.VERIFIED, report.refusals
    drawn = made.sample(4000, form="arrow")
    ward, sick = (np.array(drawn[name].to_pylist(), dtype=object) for name in ("ward", "sick"))
    assert ((ward == "A") == (sick == "yes")).mean() > 0.9
    fixed = made.sample(500, form="arrow", where={"sick": "yes"})
    assert set(fixed["sick"].to_pylist()) == {"yes"}
    assert np.mean(np.array(fixed["ward"].to_pylist()) == "A") > 0.9
    (yes,) = [row for row in made.ask("count by sick").rows if row.values == ("yes",)]
    truth = (np.array(dependent()["sick"]) == "yes").sum()
    assert abs(yes.unbiased - truth) < 6 * yes.standard_error
    assert made.certificate["plan"]["synthesizer"] == "mst"
    assert made.certificate["generator_check"]["degenerate"] is False
    assert float(read_account("wards", ledgers=tmp_path).spent["epsilon"]) == pytest.approx(1.0, rel=1e-3)


def test_without_the_libraries_nothing_is_charged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "find_spec", lambda _name: None)
    with pytest.raises(InvalidInput, match="extra `graphical`") as refused:
        fit(
            frame(),
            DOMAIN,
            GUARANTEE,
            dataset="wards",
            declared_size=300,
            synthesizer="aim",
            ledgers=capped(tmp_path),
        )
    assert refused.value.code == "synthesizer-not-installed"
    assert float(read_account("wards", ledgers=tmp_path).spent["epsilon"]) == 0
