import numpy as np
import pytest
import torch

from core.plan.stages import LabelPlan
from models.labels import drawn_labels, noisy_label_distribution, stratified_batch
from tests.models.coded_tables import small_table, streams


def test_a_stratified_batch_holds_every_class_and_weighs_it_by_its_share():
    distribution = np.array([0.9, 0.0999, 0.0001])
    batch = stratified_batch(distribution, 1000)
    counts = batch.one_hot.sum(dim=0)
    assert counts.tolist() == [900.0, 100.0, 32.0]
    assert batch.bounds == (0, 900, 1000, 1032)
    assert torch.allclose(batch.one_hot.T @ batch.weights, torch.from_numpy(distribution).float())


def test_without_a_target_all_rows_weigh_the_same():
    batch = stratified_batch(None, 8)
    assert batch.one_hot.shape == (8, 0)
    assert batch.weights.sum() == pytest.approx(1.0)


def test_drawn_labels_follow_the_distribution():
    labels = drawn_labels(np.array([0.25, 0.75]), np.array([0.0, 0.2, 0.25, 0.99]))
    assert labels.argmax(dim=1).tolist() == [0, 0, 1, 1]
    assert drawn_labels(None, np.zeros(3)).shape == (3, 0)


def test_a_unit_moves_one_count_of_the_label_distribution_whatever_its_number_of_records():
    # With hardly any noise the distribution is the distribution of units, not of records.
    table = small_table(records=400, units=40)
    _, first = np.unique(table.unit_of_record, return_index=True)
    expected = np.bincount(table.codes[first, 2], minlength=2) / table.units
    distribution = noisy_label_distribution(table, LabelPlan(noise_multiplier=0.05), streams())
    assert np.allclose(distribution, expected)


def test_the_distribution_of_nothing_is_still_a_distribution():
    table = small_table(records=1)
    for key in range(20):
        distribution = noisy_label_distribution(table, LabelPlan(noise_multiplier=30.0), streams(key))
        assert (distribution > 0).all()
        assert distribution.sum() == pytest.approx(1.0)
