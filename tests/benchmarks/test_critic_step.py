import json
import sys
import threading
import time

import pytest
import torch

from benchmarks.results_file import RESULTS
from benchmarks.steps import critic_step
from benchmarks.steps.critic_step import (
    Table,
    batch_of,
    by_rules,
    critic_of,
    declared,
    seconds,
    tables,
    vmap_step,
)
from docs.figures import benchmarks_page
from models.dp.clipping import Layout, each_block_alone
from tests.models.critic.reference import Reference


def test_the_shapes_are_those_that_the_rules_choose():
    adult, plan = by_rules(declared("adult"), 32_561)
    assert (adult.cells, adult.width, adult.layers, adult.batch) == (216, 64, 1, 977)
    assert plan.expected_batch_size == adult.batch
    shapes = [by_rules(*columns)[0] for columns in tables()]
    assert adult in shapes
    assert {table.width for table in shapes} == {64, 128}
    assert (min(table.cells for table in shapes), max(table.cells for table in shapes)) == (16, 4000)
    assert {256, 977, 1024, 2048} <= {table.batch for table in shapes}
    result = json.loads((RESULTS / "critic_step.json").read_text())["shapes"]
    measured = [(shape["cells"], shape["width"], shape["hidden_layers"], shape["batch"]) for shape in result]
    assert measured == [(table.cells, table.width, table.layers, table.batch) for table in shapes]


def test_the_result_keeps_the_bars_and_the_page_has_it():
    shapes = json.loads((RESULTS / "critic_step.json").read_text())["shapes"]
    adult = [shape for shape in shapes if (shape["cells"], shape["batch"]) == (216, 977)]
    wide = [shape for shape in shapes if (shape["width"], shape["batch"]) == (128, 1024)]
    assert adult
    assert wide
    assert all(shape["cpu_ratio"] <= 1.3 for shape in adult)
    assert all(shape["cpu_ratio"] <= 1.1 for shape in wide)
    page = benchmarks_page()
    for shape in shapes:
        row = f"| {shape['cells']:,} | {shape['width']} | {shape['batch']:,} | {shape['cpu_ratio']:.2f} | {shape['wall_ratio']:.2f} |"
        assert row in page


def test_json_is_one_list_with_an_object_a_shape(monkeypatch, capsys):
    monkeypatch.setattr(critic_step, "tables", lambda: iter([((4,) * 4, 900), ((3, 5), 900)]))
    monkeypatch.setattr(critic_step, "FEWEST_ROUNDS", 3)
    monkeypatch.setattr(sys, "argv", ["critic_step", "--json", "--seconds", "0"])
    critic_step.main()
    shapes = json.loads(capsys.readouterr().out)
    assert [(shape["cells"], shape["width"], shape["batch"]) for shape in shapes] == [
        (16, 64, 256),
        (8, 64, 256),
    ]
    for shape in shapes:
        assert all(shape[name] > 0 for name in ("cpu_ratio", "wall_ratio", "vmap_cpu_ratio"))


def test_processor_seconds_are_those_of_all_threads():
    def spin() -> None:
        while time.thread_time() < 0.05:
            pass

    def step(_: int) -> None:
        other = threading.Thread(target=spin)
        other.start()
        other.join()

    assert seconds(step, 0)[0] >= 0.05


def test_the_plain_vmap_takes_the_clipped_mean_of_per_record_gradients(monkeypatch):
    table, plan = by_rules((4, 3, 5), 300)
    table = Table(table.cardinalities, width=8, batch=20)
    _, real, fake = batch_of(table)
    monkeypatch.setattr(torch, "randn", torch.zeros)
    monkeypatch.setattr(torch, "rand", lambda count: torch.full((count,), 0.3))
    monkeypatch.setattr(critic_step, "VMAP_NUMBERS", 700)  # several chunks
    critic, same = critic_of(table), critic_of(table)
    layout = Layout(
        shapes=tuple((each.out_features, each.in_features) for each in same.linear_layers()), grouping="flat"
    )
    reference = Reference(same, layout, gp_weight=critic_step.GP_WEIGHT, max_batch=20)
    partition = each_block_alone(layout.sizes, [plan.options.clipping_norm])
    expected = reference.clipped_sum(real, fake, torch.full((20,), 0.3), partition)
    vmap_step(plan, critic, real, fake)(0)
    layers = critic.linear_layers()
    parts = [layer.weight.grad for layer in layers] + [layer.bias.grad for layer in layers]
    made = torch.cat([part.flatten() for part in parts if part is not None]) * plan.expected_batch_size
    assert float(expected.norm()) > 0.5 * plan.options.clipping_norm
    torch.testing.assert_close(made.double(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("fakes", [True, False])
def test_records_have_one_code_of_every_column(fakes):
    table = Table((4, 3, 5), width=8, batch=50)
    cells, real, fake = batch_of(table)
    assert torch.equal(torch.zeros(50, 12).scatter_(1, cells, 1.0), real)
    for block in torch.split(fake if fakes else real, list(table.cardinalities), dim=1):
        assert torch.equal(block.sum(dim=1), torch.ones(50))
    assert not torch.equal(real, fake)
