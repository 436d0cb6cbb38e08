import json

import pytest

from benchmarks.resident import peak_growth
from benchmarks.steps import cost
from benchmarks.steps.cost import AXES, cases, in_turns, measure, ratio
from benchmarks.steps.cost_steps import Case
from docs.cost_figures import cost as page
from tests.cases import daily


def test_contenders_take_turns_and_all_have_equally_many_steps():
    made = []
    steps = {name: lambda number, name=name: made.append((name, number)) for name in ("a", "b", "c")}
    times = in_turns(steps, budget=0.0)
    assert made == [(name, number) for number in range(cost.FEWEST_ROUNDS + 1) for name in "abc"]
    assert {name: len(pairs) for name, pairs in times.items()} == dict.fromkeys("abc", cost.FEWEST_ROUNDS)


def test_a_ratio_is_that_of_the_rounds_and_not_of_the_sums():
    times = {"private": [(1.0, 2.0), (1.0, 30.0), (1.0, 4.0)], "ordinary": [(2.0, 1.0), (2.0, 10.0), (2.0, 1.0)]}  # fmt: skip
    found = ratio(times, "private", "ordinary")
    assert (found["lower_quartile"], found["over_ordinary"], found["upper_quartile"]) == (2.5, 3.0, 3.5)
    assert found["wall_over_ordinary"] == 0.5
    assert found["milliseconds"] == 4000.0


@pytest.mark.parametrize("network", daily(["linear", "convolution"], some=["linear"]))
def test_a_case_is_measured_with_every_strategy(network, monkeypatch):
    monkeypatch.setattr(cost, "FEWEST_ROUNDS", 2)
    case = Case(network=network, width=16, batch=8, grouping="rows", row_blocks=2)
    entry = measure(case, strategies=True, budget=0.0)
    layers = 3
    blocks = 2 * layers + 1 - (network == "linear")  # a linear critic has one output row
    assert entry["groups"] == entry["groups_in_use"]["acts"] == blocks
    assert entry["groups_in_use"]["acts+wc"] <= blocks
    names = ("private", "acts", "acts, refresh", "acts+wc", "acts+wc, refresh")
    assert all(entry[name]["over_ordinary"] > 0 for name in names)
    document = {"refresh_every": 25, "groups": [entry], "machine": {}}
    assert "rows, 2" in "\n".join(page(json.loads(json.dumps(document))))


@pytest.mark.parametrize("network", ["linear", "convolution"])
def test_the_axes_go_through_what_they_are_named_after(network):
    batches, widths, blocks = (
        {getattr(case, name) for case in cases(axis, network)}
        for axis, name in zip(AXES, ("batch", "width", "row_blocks"), strict=True)
    )
    assert batches == {64, 128, 256, 512, 1024, 2048}
    assert min(widths) <= 64 <= max(widths)
    assert blocks == {1, 2, 4, 8, 16, 32, 64}


def test_the_peak_counts_what_a_piece_of_work_holds_though_it_lets_go_of_it():
    megabytes = 2**20
    assert peak_growth(lambda: bytearray(b"x") * (64 * megabytes) and None) >= 60 * megabytes
    assert peak_growth(lambda: None) < 30 * megabytes
