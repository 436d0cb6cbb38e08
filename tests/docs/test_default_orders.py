"""The page of default orders: plans of images are those of the commit before, and worse rows of tables are named."""

import dataclasses
import json

from benchmarks.default_orders import EPSILONS, MEASURES, digest_of, image_plan, table_rows
from benchmarks.results_file import RESULTS
from core.dp.calibration import gaussian_noise_multiplier
from core.dp.guarantee import PrivacyGuarantee
from core.plan import noise as noise_module
from core.plan import plan as plan_module
from core.plan.images.anchor import ImageAnchorPlan, image_anchor_plan, shape_of
from docs.default_orders_page import paired_rows, tables_section

BEFORE = json.loads((RESULTS / "default_orders.json").read_text())
NOW = json.loads((RESULTS / "tables.json").read_text())


def test_default_orders_of_images_have_the_plans_that_they_had_but_for_the_release_of_brightness(
    monkeypatch,
) -> None:
    plans = {
        f"{name} epsilon {epsilon:g}": (name, epsilon)
        for name, scored in EPSILONS.items()
        for epsilon in scored
    }
    now = {key: image_plan(*which).anchor for key, which in plans.items()}
    monkeypatch.setattr(noise_module, "image_anchor_plan", _without_brightness)
    monkeypatch.setattr(plan_module, "calibrated_stages", noise_module.calibrated_stages.__wrapped__)
    for key, which in plans.items():
        before, today = image_plan(*which), now[key]
        assert digest_of(before) == BEFORE["image_plans"][key]
        assert isinstance(before.anchor, ImageAnchorPlan)
        assert isinstance(today, ImageAnchorPlan)
        for (name, *_, had), (again, *_, has) in zip(before.anchor.releases, today.releases[1:], strict=True):
            assert name == again
            assert has / had <= 1.0026, f"the noise of {name} of {key}"


def _without_brightness(
    guarantee: PrivacyGuarantee,
    *,
    share: float,
    declared_size: int,
    classes: int,
    shape: tuple[int, int, int],
) -> ImageAnchorPlan:
    """The plan of that time: the other releases share what the release of brightness takes."""
    today = image_anchor_plan(
        guarantee, share=share, declared_size=declared_size, classes=classes, shape=shape
    )
    parts = shape_of(declared_size / (classes * gaussian_noise_multiplier(guarantee, share=share))).shares
    means, basis, cells, moments = (
        gaussian_noise_multiplier(guarantee, share=share * part) if part else 0.0 for part in parts
    )
    return dataclasses.replace(
        today,
        brightness_noise_multiplier=None,
        means_noise_multiplier=means,
        basis_noise_multiplier=basis,
        cells_noise_multiplier=cells,
        moments_noise_multiplier=moments,
    )


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
