"""Committed values, each with its source; the file is read, never written, by tests."""

import json
from pathlib import Path

import numpy as np
import pytest

from core.dp.accountant import epsilons
from core.dp.mechanism import from_json, leaves
from core.dp.renyi import FINE_ORDERS, rdp_of_leaf
from tests.core.dp.builders import sampled, training

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text())


@pytest.mark.parametrize(
    "row", GOLDEN, ids=[f"{number}-{row['epsilon']}" for number, row in enumerate(GOLDEN)]
)
def test_golden_values(row: dict):
    ours = epsilons(from_json(row["mechanism"]), delta=row["delta"]).pld

    # Never below by more than the digits that were written down; above by what the grid and the source's grid allow.
    assert row["epsilon"] * (1 - 2e-6) <= ours <= row["epsilon"] * (1 + row["relative_tolerance"]) or (
        "nearest" in row["source"] and ours == pytest.approx(row["epsilon"], rel=row["relative_tolerance"])
    )
    assert leaves(from_json(row["mechanism"]))
    assert row["source"]


@pytest.mark.parametrize(
    ("rate", "sigma", "steps"), [(0.02, 8.0, 1000), (0.001, 1.0, 5000), (0.2, 5.0, 30), (1e-6, 1.0, 10**6)]
)
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_the_loss_distribution_is_below_the_renyi_bound_of_opacus(
    rate: float, sigma: float, steps: int, delta: float
):
    from opacus.accountants.analysis import rdp as opacus_rdp

    orders = [order for order in FINE_ORDERS if order == int(order) and order >= 2]
    theirs = opacus_rdp.compute_rdp(q=rate, noise_multiplier=sigma, steps=steps, orders=orders)
    known = [
        (order, value)
        for order, value in zip(orders, theirs, strict=True)
        if np.isfinite(value) and value > 0
    ]
    bound, _order = opacus_rdp.get_privacy_spent(
        orders=[order for order, _ in known], rdp=[value for _, value in known], delta=delta
    )

    both = epsilons(training(rate, sigma, steps), delta=delta)

    assert both.pld <= bound * (1 + 1e-9)
    assert both.rdp <= bound * (1 + 1e-9)  # ours has orders between the integers besides
    # Where their sums keep their digits the divergences agree to a billionth.
    if rate > 1e-5:
        ours = rdp_of_leaf(sampled(rate, sigma), np.asarray([order for order, _ in known])) * steps
        assert ours == pytest.approx([value for _, value in known], rel=1e-9)
