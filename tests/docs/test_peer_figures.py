import json
from pathlib import Path

from docs.half_hour import RESULTS as HALF_HOUR
from docs.half_hour import half_hour, versions
from docs.peer_figures import RESULTS, comparison, summary

MACHINE = {"processor": "a processor", "cores": 2, "python": "3.11.7", "date": "2026-11-23"}
SCORES = {
    "one_way": 0.01, "two_way": 0.02, "three_way": 0.03, "target_pairs": 0.04, "k_marginal": 970.0, "auroc_trees": 0.9,
    "auroc_logistic": 0.8, "balanced_accuracy_trees": 0.7, "balanced_accuracy_logistic": 0.6, "cpu_seconds": 12.0,
}  # fmt: skip


def cell(method: str, rows: int, seed: int = 0, facts: dict | None = None, **scores: float) -> dict:
    head = {
        "table": "taxi",
        "size": "full" if rows == 5147 else str(rows),
        "columns": 12,
        "codes": 168,
        "epsilon": 1.0,
        "machine": MACHINE,
    }
    return head | SCORES | scores | {"method": method, "rows": rows, "seed": seed, "facts": facts or {}}


def page(*cells: dict) -> list[str]:
    return list(comparison(cells))


def test_methods_stand_in_one_order_and_seeds_are_averaged():
    lines = page(
        cell("real", 500),
        cell("mst", 500, seed=1, two_way=0.04),
        cell("mst", 500),
        cell("real", 5147),
        cell("understudy", 500),
    )
    rows = [line for line in lines if line.startswith("| 5")]
    assert [row.split(" | ")[:3] for row in rows] == [
        ["| 500", "understudy", "1"],
        ["| 500", "mst", "2"],
        ["| 500", "real", "1"],
        ["| 5,147", "real", "1"],
    ]
    assert rows[1].split(" | ")[3:6] == ["0.0100", "0.0300", "0.0300"]


def test_the_limit_of_aim_s_models_is_reported():
    lines = page(
        cell("aim", 500, facts={"most_megabytes": 80.0, "megabytes": 0.2}),
        cell("aim", 5147, facts={"most_megabytes": 10.0, "megabytes": 3.14}),
    )
    assert "AIM's models were allowed 10, 80 MB and grew to at most 3.1 MB.\n" in lines


def test_ratios_are_to_the_better_peer_where_both_ran():
    cells = [
        cell("understudy", 500, two_way=0.03, auroc_trees=0.8), cell("independent", 500, two_way=0.06, auroc_trees=0.5),
        cell("aim", 500, two_way=0.05, auroc_trees=0.85), cell("mst", 500, two_way=0.04, auroc_trees=0.7),
        cell("understudy", 5147, two_way=0.08), cell("mst", 5147, two_way=0.04),
        cell("understudy", 500, seed=1, two_way=0.05), cell("swift", 500, two_way=0.045),
    ]  # fmt: skip
    lines = list(summary(cells))
    assert "| Two-way counts | SWIFT | 1 | 0.667 | 0.667 | taxi, 500, epsilon 1 | 1 |" in lines
    assert "| Two-way counts | better peer | 1 | 0.750 | 0.750 | taxi, 500, epsilon 1 | 1 |" in lines
    assert "| Two-way counts | MST | 2 | 1.225 | 2.000 | taxi, full, epsilon 1 | 1 |" in lines
    assert "| Two-way counts | independent columns | 1 | 0.500 | 0.500 | taxi, 500, epsilon 1 | 1 |" in lines
    assert "| AUROC of trees | better peer | 1 | -0.050 | -0.050 | taxi, 500, epsilon 1 | 0 |" in lines
    assert "| taxi | 500 | 0.0400 / 0.0500 / 0.0400 / 0.0450 / 0.0600 |" in lines
    assert "| taxi | 5,147 | 0.0800 / - / 0.0400 / - / - |" in lines


def test_adult_stands_beside_its_bars_and_absent_peers_are_counted():
    cells = [
        cell(method, 26049, two_way=0.0299, three_way=0.0733, auroc_trees=0.903, auroc_logistic=0.902)
        | {"table": "adult", "size": "full"}
        for method in ("understudy", "mst")
    ]
    lines = list(summary(cells))
    assert "| Two-way counts | 0.0299 | 0.0300 | reached |" in lines
    assert "| Three-way counts | 0.0733 | 0.0700 | missed by 0.0033 |" in lines
    assert "| AUROC of trees | 0.903 | 0.908 | missed by 0.005 |" in lines
    assert "| AUROC of logistic regression | 0.902 | 0.898 | reached |" in lines
    assert any(line.startswith("Of 1 cells AIM in 0 and MST in 1 were run.") for line in lines)


def test_cells_of_three_seeds_have_an_interval():
    ours, theirs = (0.80, 0.82, 0.84), (0.84, 0.85, 0.86)
    cells = [
        cell(method, 500, seed=seed, auroc_trees=area)
        for method, areas in (("understudy", ours), ("mst", theirs))
        for seed, area in enumerate(areas)
    ]
    lines = "\n".join(summary(cells))
    # Differences of -.04, -.03 and -.02: a mean of -.03, give or take 4.303 * .01 / sqrt(3).
    assert (
        "1 of 1 miss (in 1 of them the interval reaches the bar): taxi 500 at 1 (-0.030 ± 0.025). Behind at all: 1."
        in lines
    )


def test_the_comparison_repeats_the_standing_of_the_results():
    cells = list(json.loads(RESULTS.read_text())["cells"].values())
    lines = "\n".join(summary(cells)).splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith("| measure |"))
    standing = lines[begin : next(at for at in range(begin, len(lines)) if not lines[at].startswith("|"))]
    assert len(standing) > 10
    assert "\n".join(standing) in (Path(__file__).parents[2] / "docs" / "comparison.md").read_text()


def test_the_comparison_repeats_the_first_half_hour():
    result = json.loads(HALF_HOUR.read_text())
    page = (Path(__file__).parents[2] / "docs" / "comparison.md").read_text()
    assert "\n".join(half_hour(result)) in page
    assert versions(result) in " ".join(page.split())


def test_a_thousand_rows_stand_outside_the_grid():
    cells = [
        cell("understudy", 500), cell("mst", 500),
        *(cell("understudy", 1000, seed=seed, two_way=0.03, auroc_trees=0.8 + seed / 100) for seed in (0, 1, 2)),
        *(cell("mst", 1000, seed=seed, two_way=0.01, auroc_trees=0.79) for seed in (0, 1, 2)),
        *(cell("aim", 1000, seed=seed, auroc_trees=0.7) for seed in (0, 1, 2)),
        *(cell("independent", 1000, seed=seed, two_way=0.06, auroc_trees=0.99) for seed in (0, 1, 2)),
    ]  # fmt: skip
    lines = list(summary(cells))
    assert "| taxi | 3 | AIM, MST | 0.500 | 1.000 | +0.020 ± 0.025 | +0.000 ± 0.000 |" in lines
    assert (
        "Of 1 cells AIM in 0 and MST in 1 were run. Where one is absent, the bar is the other's alone.\n"
        in lines
    )
