"""Judging: samples are drawn as the generator's distribution says, classifiers are repeatable, and a unit counts once."""

import numpy as np
import pytest
import torch
from torch import nn

from models.encoding import PrivateImages
from models.selection import scoring
from models.selection.scoring import Labelled, errors, judged_by, sample
from models.synthesizer import TrainedGenerator, TrainedImageGenerator
from tests.models.coded_tables import small_table, streams

SIZES = (scoring.SAMPLE_ROWS, scoring.TREES)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(scoring, "SAMPLE_ROWS", 200)
    monkeypatch.setattr(scoring, "TREES", 5)


class Echo(nn.Module):
    """Logits of a table of three columns: the first repeats the label, the last is even."""

    def forward(self, latent: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        certain = label * 60 - 30
        return torch.cat([certain, certain, torch.zeros(len(latent), 2)], dim=1)


class Shade(nn.Module):
    """Images whose brightness is their label's."""

    def forward(self, latent: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        bright = label @ torch.tensor([0.1, 0.9]) + 0 * latent.sum(dim=1)
        return bright.reshape(-1, 1, 1, 1).expand(-1, 1, 4, 4)


def echoing(*, distribution: tuple[float, float] = (0.3, 0.7)) -> TrainedGenerator:
    return TrainedGenerator(
        network=Echo(),
        latent_dimension=2,
        label_index=1,
        label_probabilities=np.asarray(distribution),
        cardinalities=(2, 2, 2),
    )


def shading() -> TrainedImageGenerator:
    return TrainedImageGenerator(
        network=Shade(), latent_dimension=2, shape=(1, 4, 4), label_probabilities=np.asarray([0.5, 0.5])
    )


def test_a_sample_of_a_table_is_drawn_by_its_shares_and_repeats_for_its_key():
    drawn = sample(echoing(), streams(), rows=3000)

    assert drawn.features.shape == (3000, 2)
    assert (drawn.features[:, 0] == drawn.labels).all()
    # Five deviations of a share: 0.042 and 0.046.
    assert drawn.labels.mean() == pytest.approx(0.7, abs=0.045)
    assert drawn.features[:, 1].mean() == pytest.approx(0.5, abs=0.05)
    again = sample(echoing(), streams(), rows=3000)
    assert (again.features == drawn.features).all()
    assert (sample(echoing(), streams(1), rows=3000).labels != drawn.labels).any()


def test_errors_are_counted_on_the_judged_records():
    codes = np.asarray([[0, 0], [1, 1], [1, 0], [0, 1]], dtype=np.float32)
    right, wrong = codes[:, 0].astype(np.int64), 1 - codes[:, 0].astype(np.int64)

    assert errors(echoing(), Labelled(features=codes, labels=right), streams()) == 0
    assert errors(echoing(), Labelled(features=codes, labels=wrong), streams()) == 4
    assert errors(echoing(distribution=(1.0, 0.0)), Labelled(features=codes, labels=right), streams()) == 2
    nobody = Labelled(features=codes[:0], labels=right[:0])
    assert errors(echoing(), nobody, streams()) == 0


def test_adding_a_judged_record_adds_none_or_one_error_whatever_the_others_are():
    rng = np.random.default_rng(3)
    features = rng.integers(0, 2, (24, 2)).astype(np.float32)
    labels = rng.integers(0, 2, 24)
    counts = [
        errors(echoing(), Labelled(features=features[:n], labels=labels[:n]), streams())
        for n in range(0, 25, 6)
    ]

    alone = [
        errors(echoing(), Labelled(features=features[n : n + 1], labels=labels[n : n + 1]), streams())
        for n in range(24)
    ]
    assert counts == [sum(alone[:n]) for n in range(0, 25, 6)]
    assert set(alone) == {0, 1}


def test_images_are_judged_by_their_pixels():
    pixels = np.repeat(np.asarray([25, 230, 40, 210], dtype=np.uint8), 16).reshape(4, 4, 4, 1)
    images = PrivateImages(
        pixels=pixels,
        labels=np.asarray([0, 1, 1, 1], dtype=np.int16),
        unit_of_record=np.asarray([0, 1, 2, 2]),
        classes=2,
    )

    judged = judged_by(images)

    assert judged.features.shape == (3, 16)
    assert judged.features.dtype == np.float32
    assert judged.features.max() == pytest.approx(230 / 255)
    assert errors(shading(), judged, streams()) == 1


def test_colours_are_judged_in_the_generators_order():
    pixels = np.zeros((1, 2, 2, 3), dtype=np.uint8)
    pixels[0, 0, 1] = (51, 102, 153)
    images = PrivateImages(
        pixels=pixels, labels=np.zeros(1, np.int16), unit_of_record=np.zeros(1, np.int64), classes=2
    )

    features = judged_by(images).features.reshape(3, 2, 2)

    assert features[:, 0, 1].tolist() == pytest.approx([0.2, 0.4, 0.6])


def test_a_unit_of_many_records_counts_by_its_first():
    table = small_table(records=300, units=70)

    judged = judged_by(table)

    assert len(judged.labels) == table.units
    assert judged.features.shape == (table.units, 3)
    first = np.unique(table.unit_of_record, return_index=True)[1]
    assert (judged.labels == table.codes[first, 2]).all()


def test_the_classifier_is_public_and_of_a_fixed_size():
    assert SIZES == (5000, 50)
