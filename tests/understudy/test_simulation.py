import csv
import json
from pathlib import Path

import numpy as np
import pytest

from core.plan.domain.table import TableDomain
from understudy import simulation
from understudy.simulation import best_auroc, domain_document, simulate, write_table


def test_the_same_seed_gives_the_same_files_and_another_seed_others(tmp_path: Path) -> None:
    first, _ = write_table(tmp_path / "a", rows=200, seed=1)
    second, _ = write_table(tmp_path / "b", rows=200, seed=1)
    third, _ = write_table(tmp_path / "c", rows=200, seed=2)
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes() != third.read_bytes()


def test_the_target_follows_its_distribution() -> None:
    table = simulate(50_000, seed=3)
    probability = 1 / (1 + np.exp(-table.log_odds))
    for low, high in [(0.0, 0.1), (0.1, 0.2), (0.2, 0.4), (0.4, 1.0)]:
        inside = (probability > low) & (probability <= high)
        spread = np.sqrt(np.sum(probability[inside] * (1 - probability[inside]))) / inside.sum()
        # Five standard deviations: a fixed seed, so this either always holds or never.
        assert abs(table.readmitted[inside].mean() - probability[inside].mean()) < 5 * spread
    assert 0.80 < best_auroc(table) < 0.85
    assert 0.1 < table.readmitted.mean() < 0.25


def test_best_auroc_is_the_share_of_ordered_pairs() -> None:
    table = simulate(60, seed=4)
    positive, negative = table.log_odds[table.readmitted], table.log_odds[~table.readmitted]
    pairs = np.mean(positive[:, None] > negative[None, :])
    assert best_auroc(table) == pytest.approx(pairs)


def test_the_promised_dependencies_are_there() -> None:
    table = simulate(50_000, seed=5)
    assert np.corrcoef(table.severity, table.stay)[0, 1] > 0.3
    assert np.corrcoef(table.age, table.severity)[0, 1] > 0.2
    assert 0.1 < np.isnan(table.creatinine).mean() < 0.3
    assert 0.02 < (table.cost == 0).mean() < 0.1
    assert set(table.sex[table.department == simulation.OBSTETRICS]) == {0}


def test_every_value_lies_in_the_declared_domain(tmp_path: Path) -> None:
    rows, domain_file = write_table(tmp_path, rows=5_000)
    document = json.loads(domain_file.read_text())
    assert document == domain_document(5_000)
    assert document.pop("declared_size") == 5_000
    assert TableDomain.from_json(document).target == "readmitted"
    with rows.open(newline="") as stream:
        table = list(csv.DictReader(stream))
    assert len(table) == 5_000
    for column in document["columns"]:
        values = {row[column["name"]] for row in table}
        allowed = column.get("categories") or column.get("levels")
        if column["kind"] == "boolean":
            allowed = [column["true"], column["false"]]
        if allowed:
            assert values == set(allowed), column["name"]
        elif column["kind"] == "date":
            assert column["lower"] <= min(values)
            assert max(values) <= column["upper"]
        else:
            numbers = [float(value) for value in values if value]
            assert column["lower"] <= min(numbers)
            assert max(numbers) <= column["upper"]
            assert ("" in values) == (column.get("null") == "category"), column["name"]


def test_the_command_says_loudly_that_nobody_is_real(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    simulation.main([str(tmp_path), "--rows", "100"])
    assert "no real people" in capsys.readouterr().out
