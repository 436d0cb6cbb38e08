"""A table with rules, trained without a service: drawn rows keep them, the bundle verifies, the rows may break them."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import understudy
from tests.core.plan.domain.ruled import broken, document, number, words
from tests.understudy.local.test_fitting import GUARANTEE, SMALL, capped
from understudy.cli import main
from understudy.local import Fitted, RowsRefused
from understudy.verifying.bundle_file import open_bundle
from understudy.verifying.verification import Outcome, verify_bundle

RULED: dict[str, Any] = document(
    [number("low", 0, 50), number("high", 0, 80), words("ward", "A", "B"), words("sick", "yes", "no")],
    [
        {"kind": "at_most", "columns": ["low", "high"]},
        {"kind": "impossible", "columns": ["ward", "sick"], "combinations": [["A", "no"]]},
    ],
    target="sick",
)


def rows(count: int = 300) -> pa.Table:
    """Half of them break a rule."""
    rng = np.random.default_rng(5)
    return pa.table({
        "low": rng.integers(0, 51, count),
        "high": rng.integers(0, 81, count),
        "ward": rng.choice(["A", "B"], count),
        "sick": rng.choice(["yes", "no"], count),
    })  # fmt: skip


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Fitted:
    ledgers = capped(tmp_path_factory.mktemp("ledgers"))
    assert sum(bool(broken(RULED, row)) for row in rows().to_pylist()) > 100
    return understudy.fit(
        rows(), RULED, GUARANTEE, dataset="wards", declared_size=300, options=SMALL, ledgers=ledgers
    )


@pytest.mark.filterwarnings(f"error::{RowsRefused.__module__}.{RowsRefused.__name__}")
def test_rows_that_break_a_rule_are_not_refused(fitted: Fitted) -> None:
    assert fitted.rows_refused == 0
    assert fitted.refusals == {}


@pytest.mark.parametrize("where", [None, {"sick": "no"}])
def test_drawn_rows_keep_the_rules(fitted: Fitted, where: dict[str, Any] | None) -> None:
    drawn = fitted.sample(4000, form="arrow", where=where).to_pylist()
    assert len(drawn) == 4000
    assert [row for row in drawn if broken(RULED, row)] == []


def test_the_bundle_verifies_and_the_rules_stand_in_it(fitted: Fitted, tmp_path: Path) -> None:
    file = tmp_path / "bundle.zip"
    fitted.save(file)
    report = verify_bundle(file, allow_unsigned=True)
    assert report.outcome is Outcome.VERIFIED
    assert [rule["kind"] for rule in open_bundle(file).domain["rules"]] == ["at_most", "impossible"]


def test_the_command_draws_rows_that_keep_the_rules(
    fitted: Fitted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow.parquet as pq

    file, target = tmp_path / "bundle.zip", tmp_path / "rows.parquet"
    fitted.save(file)
    monkeypatch.setattr(
        "sys.argv", ["understudy", "sample", "--bundle", str(file), "--rows", "3000", "--out", str(target)]
    )
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    drawn = pq.read_table(target).to_pylist()
    assert len(drawn) == 3000
    assert [row for row in drawn if broken(RULED, row)] == []
