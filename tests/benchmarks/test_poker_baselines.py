"""The private networks of the paper's comparison on Poker Hand: what is private, what is spent, what is kept."""

import json

import numpy as np
import pytest

from benchmarks.idpgan import poker_baselines
from benchmarks.idpgan.poker_baselines import METHODS, SETTINGS, split, train
from benchmarks.publishing import sample
from core.plan.errors import InvalidSpec
from docs.figures import poker
from tests.benchmarks.test_poker_without_privacy import DOMAIN, SMALL, twins


def test_public_rows_leave_the_private_ones():
    codes = twins().train_codes
    private, public = split(codes, 20)
    assert np.array_equal(private, codes[:380])
    assert np.array_equal(public.codes, codes[380:])
    assert split(codes, 0)[1] is None
    assert [name for name, method in METHODS.items() if method.public_rows] == ["ganobfuscator"]
    assert METHODS["ganobfuscator"].title.endswith("200 rows declared public")


@pytest.mark.parametrize("name", METHODS)
def test_a_run_makes_rows_and_spends_its_epsilon_on_the_private_ones(name):
    options = SMALL | {"steps": 3, "critic_steps": 1}
    generator, plan = train(
        twins().train_codes, DOMAIN, METHODS[name], epsilon=10.0, seed=0, options=options
    )  # fmt: skip
    made = sample(generator, 50, 0)
    assert made.shape == (50, 3)
    assert (made.max(axis=0) < np.array(DOMAIN.cardinalities)).all()
    assert plan.declared_size == (200 if name == "ganobfuscator" else 400)
    assert 9.9 < plan.epsilons.pld <= 10.0
    options = plan.idpgan_options
    assert (plan.steps, options.anchor, options.acts, options.generator) == (3, False, False, "network")


def test_all_have_the_same_two_thousand_steps():
    assert SETTINGS == {"ablation": "dpgan", "steps": 2_000}
    codes = twins().train_codes
    with pytest.raises(InvalidSpec):
        train(codes, DOMAIN, METHODS["dpgan"], epsilon=1.0, seed=0, options={"no_such": 1})


def test_the_page_has_a_row_for_every_method(monkeypatch):
    class Judged:
        def of_codes(self, table, codes, rows):
            assert len(codes) == rows.num_rows == 60
            return {"accuracy_trees": 0.4, "accuracy_logistic": 0.41, "balanced_accuracy_trees": 0.1,
                    "balanced_accuracy_logistic": 0.11, "inception_score": 1.25}  # fmt: skip

    monkeypatch.setattr(poker_baselines, "SAMPLED_ROWS", 60)
    monkeypatch.setattr(poker_baselines, "SETTINGS", SETTINGS | SMALL | {"steps": 2})
    made = [
        poker_baselines.run(twins(), Judged(), name, epsilon=epsilon, seed=0)
        for name in ("dpgan", "dpacgan")
        for epsilon in (10.0, 15.0)
    ]
    assert all(json.loads(json.dumps(entry)) == entry for entry in made)
    both = {"variant": "both", "epsilon": 10.0, "seed": 0, "seconds": 1.0, "paper_accuracy": 0.4756}
    entries = {str(index): entry for index, entry in enumerate([*made, both])}
    real = {"real": {"inception_ceiling": 2.7}}
    lines = [line for line in poker({"runs": entries, "baselines": real, "machine": {}}) if "| 1 |" in line]
    assert [tuple(cell.strip() for cell in line.split("|")[1:3]) for line in lines][:5] == [
        ("anchor and critic", "10"), ("DPACGAN", "10"), ("DPACGAN", "15"), ("DPGAN", "10"), ("DPGAN", "15"),
    ]  # fmt: skip
    assert "0.4000 | 0.1000 | 0.4100 | 0.1100 | 1.2500 |  |" in lines[3]
    assert "0.4843" in lines[4]
