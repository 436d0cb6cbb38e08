"""The critic without an anchor, trained without privacy: the plan's settings, repeatable, and it learns."""

import numpy as np
import pyarrow as pa
import pytest
import torch

from benchmarks.datasets import Table
from benchmarks.idpgan.poker_without_privacy import plan_of, train_without_privacy
from benchmarks.publishing import sample
from core.plan.domain.schema import sample_schema
from core.plan.domain.table import TableDomain

DOMAIN = TableDomain.from_json({
    "schema": "understudy.domain/1",
    "target": "sign",
    "privacy_unit": None,
    "columns": [
        {"name": "left", "kind": "categorical", "categories": ["a", "b", "c"]},
        {"name": "right", "kind": "categorical", "categories": ["a", "b", "c"]},
        {"name": "sign", "kind": "categorical", "categories": ["no", "yes"]},
    ],
})  # fmt: skip
SMALL = {
    "expected_batch_size": 64,
    "generator_batch_size": 64,
    "critic_width": 16,
    "generator_width": 16,
    "latent_dimension": 4,
}


def twins(count: int = 400) -> Table:
    """Rows whose second column repeats the first."""
    rng = np.random.default_rng(0)
    left = rng.choice(["a", "b", "c"], count, p=[0.6, 0.3, 0.1])
    sign = rng.choice(["no", "yes"], count, p=[0.8, 0.2])
    schema = sample_schema(DOMAIN)
    columns = [
        pa.array(values).dictionary_encode().cast(field.type)
        for values, field in zip((left, left, sign), schema, strict=True)
    ]
    rows = pa.RecordBatch.from_arrays(columns, schema=schema)
    return Table(domain=DOMAIN, train=rows, test=rows)


def drawn(steps: int, seed: int = 0) -> np.ndarray:
    table = twins()
    plan = plan_of(table, SMALL | {"steps": steps})
    return sample(train_without_privacy(table, plan, seed=seed), 1_000, seed)


def test_the_settings_are_those_of_a_critic_alone() -> None:
    options = plan_of(twins(), {}).idpgan_options
    assert (options.anchor, options.critic, options.critic_steps) == (False, True, 5)
    assert plan_of(twins(), {}).steps == 4_000


def test_the_same_seed_gives_the_same_rows() -> None:
    first, again, other = drawn(6), drawn(6), drawn(6, seed=1)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_classes_have_the_shares_of_the_real_rows() -> None:
    assert drawn(5)[:, 2].mean() == pytest.approx(0.2, abs=0.05)


@pytest.mark.long
def test_it_learns_that_columns_depend_on_each_other() -> None:
    torch.set_num_threads(1)
    made = drawn(1_500)
    assert (made[:, 0] == made[:, 1]).mean() > 0.65, "of independent columns less than half"
