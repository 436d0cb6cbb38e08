"""The page of default orders: plans of images are those of the commit before, and worse rows of tables are named."""

import dataclasses
import json

from benchmarks.default_orders import EPSILONS, MEASURES, image_plan, table_rows
from benchmarks.results_file import RESULTS
from core.dp.calibration import round_up
from core.plan.images.anchor import ImageAnchorPlan
from docs.default_orders_page import paired_rows, tables_section

BEFORE = json.loads((RESULTS / "default_orders.json").read_text())
NOW = json.loads((RESULTS / "tables.json").read_text())


def test_default_orders_of_images_have_the_plans_that_they_had_but_for_where_sums_begin() -> None:
    for name, scored in EPSILONS.items():
        for epsilon in scored:
            plan = image_plan(name, epsilon)
            assert isinstance(plan.anchor, ImageAnchorPlan)
            from_black = round_up(0.9 * plan.anchor.image_norm)
            anchor = dataclasses.replace(plan.anchor, about_grey=False, image_norm=from_black)
            digest = dataclasses.replace(plan, anchor=anchor).digest()
            assert digest == BEFORE["image_plans"][f"{name} epsilon {epsilon:g}"]


def test_every_row_from_before_is_measured_today() -> None:
    assert BEFORE["tables"].keys() <= table_rows(NOW).keys()
    assert all(set(row) == set(MEASURES) for row in BEFORE["tables"].values())


def test_a_row_that_got_worse_is_named() -> None:
    """One table of two rows: one better in all measures, one worse."""
    cell = {"table": "t", "method": "understudy", "rows": 500, "size": "500"}
    measured = dict.fromkeys(MEASURES, 0.5)
    cells = {
        "worse": cell | measured | {"epsilon": 1.0, "seed": 0, "two_way": 0.6, "auroc_trees": 0.4},
        "better": cell | measured | {"epsilon": 4.0, "seed": 0, "two_way": 0.4, "auroc_trees": 0.7},
    }
    rows = paired_rows({"worse": measured, "better": measured}, {"cells": cells})
    text = "\n".join(tables_section(rows))
    assert "* Two-way counts: t 500 at 1 (1.200)." in text
    assert "* AUROC of trees: t 500 at 1 (-0.100)." in text
    assert "| two-way counts | 2 | 0.980 | 1 | 1 | 1.200 | t 500 at 1 | 0 of 0 |" in text
    assert "| AUROC of trees | 2 | +0.050 | 1 | 1 | -0.100 | t 500 at 1 | 0 of 0 |" in text
    assert "1 of 2 are in all four measures of counts" in text
    assert "| 500 | 4 | 1 | 0.5000 / 0.5000 | 0.5000 / 0.4000 |" in text
