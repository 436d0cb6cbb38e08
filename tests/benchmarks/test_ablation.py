import dataclasses
import json

import pytest

from benchmarks.datasets import HERE
from benchmarks.idpgan.ablation import kept, key_of, missing
from benchmarks.idpgan.ablation_effects import LESS_IS_BETTER, SCORES, effects, parts
from benchmarks.idpgan.ablation_rows import BUDGETS, EFFECTS, PLAIN, ROWS
from benchmarks.results_file import merge
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.defaults import CLIPPING_NORM
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from core.plan.options import ABLATIONS
from core.plan.plan import make_plan
from core.plan.spec import SynthesisSpec
from docs import ablation_page

BUDGET = BUDGETS[0]


def planned(budget, row):
    document = json.loads((HERE / "domains" / f"{budget.dataset}.json").read_text())
    domain = (ImageDomain if budget.is_images else TableDomain).from_json(document)
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=budget.options_of(row)),
        guarantee=PrivacyGuarantee(epsilon=budget.epsilon, delta=budget.delta),
        declared_size=30_000,
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


@pytest.mark.long
@pytest.mark.parametrize("budget", [BUDGETS[0], BUDGETS[2]], ids=lambda budget: budget.dataset)
def test_every_row_is_a_plan_that_spends_the_same_guarantee_in_equally_many_steps(budget):
    plans = {row: planned(budget, row) for row in ROWS}
    assert set(ABLATIONS) | {PLAIN} == set(plans)
    for row, plan in plans.items():
        assert plan.steps == budget.options["steps"]
        assert plan.expected_batch_size == budget.options["expected_batch_size"]
        assert 0.98 * budget.epsilon < plan.epsilons.pld <= budget.epsilon
        assert plan.anchor is None
        assert (plan.acts is not None) == ("acts" in row)
        assert plan.options.weight_clusters == ("wc" in row)
        assert (plan.noise_multiplier_at(0) > plan.noise_multiplier_at(plan.steps - 1)) == ("dpba" in row)
    assert plans[PLAIN].options.clipping_norm == CLIPPING_NORM < plans["dpgan"].options.clipping_norm
    assert plans["acts"].options.clipping_norm == plans["dpgan"].options.clipping_norm
    assert plans["acts"].noise_multiplier_at(0) > plans["dpgan"].noise_multiplier_at(0)


def test_the_same_rows_run_beside_an_anchor_within_the_same_guarantee():
    plan = planned(dataclasses.replace(BUDGET, anchor=True), "dpba+acts+wc")
    assert plan.anchor is not None
    assert plan.steps == BUDGET.options["steps"]
    assert plan.epsilons.pld <= BUDGET.epsilon


def entry_of(budget, row, seed, **scores):
    return {
        "dataset": budget.dataset, "epsilon": budget.epsilon, "delta": budget.delta, "anchor": budget.anchor, "row": row, "seed": seed,
        "options": budget.options_of(row), "made": budget.made, "noise_first": 2.0, "noise_last": 1.0, "processor_seconds": 3.0,
        **dict.fromkeys(SCORES[budget.dataset], 0.5), **scores,
    }  # fmt: skip


def test_a_run_is_made_again_only_where_its_budget_changed(tmp_path):
    rows, seeds = ("dpgan", "acts"), range(2)
    assert kept(tmp_path) == {}
    assert missing(BUDGET, rows, seeds, {}) == [("dpgan", 0), ("acts", 0), ("dpgan", 1), ("acts", 1)]
    merge("ablation", kind="runs", key=key_of(BUDGET, "acts", 0), entry=entry_of(BUDGET, "acts", 0), folder=tmp_path)  # fmt: skip
    runs = kept(tmp_path)
    assert missing(BUDGET, rows, seeds, runs) == [("dpgan", 0), ("dpgan", 1), ("acts", 1)]
    for change in (
        {"options": {"steps": 7}},
        {"made": 7},
        {"delta": 0.5},
        {"anchor": True},
        {"epsilon": 7.0},
    ):
        assert len(missing(dataclasses.replace(BUDGET, **change), rows, seeds, runs)) == 4


def test_an_effect_is_the_mean_over_its_pairs_seed_by_seed():
    base = {"dpgan": 0.5, "dpba": 0.6, "acts": 0.5, "dpba+acts": 0.8, "acts+wc": 0.7, "dpba+acts+wc": 0.7}
    runs = [
        entry_of(BUDGET, row, seed, auroc_trees=value + 0.1 * seed + (0.02 * seed if row == "dpba" else 0.0))
        for row, value in base.items()
        for seed in range(3)
    ]
    found = {effect.strategy: effect for effect in effects(runs, "auroc_trees")}
    assert list(found) == ["DPBA", "ACTS", "WC", "all three"]  # the plain row was not run
    dpba = found["DPBA"]
    # By hand: pairs 0.10 to 0.14, 0.3 and 0.0; their means 0.40/3, 0.42/3, 0.44/3; Student's quantile with two degrees 4.3027.
    assert dpba.change.mean == pytest.approx(0.14)
    assert dpba.change.half_width == pytest.approx(4.3027 * (0.02 / 3) / 3**0.5, rel=1e-4)
    assert dpba.verdict == "better"
    assert dpba.text(3) == "+0.140 ± 0.017, better"
    assert (found["WC"].change.mean, found["WC"].verdict) == (pytest.approx(0.05), "better")
    worse = [entry | {"two_way": entry["auroc_trees"]} for entry in runs]
    assert effects(worse, "two_way")[0].verdict == "worse"
    alone = effects([run for run in runs if run["seed"] == 0], "auroc_trees")
    assert {(effect.verdict, effect.change.half_width) for effect in alone} == {("one seed", None)}


def test_a_seed_that_lacks_a_row_counts_for_no_effect_that_needs_it():
    runs = [
        entry_of(BUDGET, row, seed) for row in ("dpgan", "dpba", "acts", "dpba+acts") for seed in range(3)
    ]
    del runs[-1]
    assert [(effect.strategy, effect.change.seeds) for effect in effects(runs, "auroc_trees")] == [
        ("ACTS", 2)
    ]


@pytest.mark.long
def test_the_page_and_its_plot_are_written_from_the_results_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(ablation_page, "RESULTS", tmp_path)
    assert "| row |" not in ablation_page.ablations_page()
    assert ablation_page.ablation_plots() == {}
    for budget in BUDGETS:
        for row in ROWS:
            for seed in range(2):
                scores = {SCORES[budget.dataset][0]: 0.5 + 0.1 * seed}
                merge("ablation", kind="runs", key=key_of(budget, row, seed), entry=entry_of(budget, row, seed, **scores), folder=tmp_path)  # fmt: skip
    page, plots = ablation_page.ablations_page(), ablation_page.ablation_plots()
    for row in ROWS:
        assert page.count(f"| {row} | 2 | 0.5500 ± 0.6353 |") == len(BUDGETS)
    for strategy in EFFECTS:
        assert page.count(f"| {strategy} | ") == len(BUDGETS)
    assert "The paper prints 0.5125" in page
    assert "accuracy 0.5010" in page
    assert "DPGAN 94.2 %, inception 8.64" in page
    assert list(plots) == ["ablation.svg"]
    assert plots == ablation_page.ablation_plots()
    assert plots["ablation.svg"].startswith("<?xml")


def test_every_score_of_a_part_has_a_name_and_a_direction():
    for budget in BUDGETS:
        assert set(SCORES[budget.dataset]) <= set(ablation_page.NAMES)
    assert {score for scores in SCORES.values() for score in scores} >= LESS_IS_BETTER
    entry = entry_of(BUDGET, "dpgan", 0)
    assert list(parts([entry, entry])) == [("adult", 1.0, False)]
