"""A selection over images: planned from their declared domain, judged by their pixels."""

import numpy as np
import pytest
import torch
from torch import nn

from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.images import ImageDomain
from core.plan.plan import Plan
from core.plan.selections.plan import SelectionPlan, SelectionSpec
from core.plan.selections.planning import make_selection_plan
from core.plan.spec import SynthesisSpec
from models.encoding import PrivateImages
from models.randomness import KeyedStreams
from models.selection import scoring
from models.selection.selecting import Selection
from models.synthesizer import NullHost, TrainedImageGenerator, TrainingHost
from tests.models.coded_tables import streams
from tests.models.selection.jobs import recording

DOMAIN = ImageDomain(height=8, width=8, channels=1, labels=("dark", "bright"), privacy_unit=None)


class Shade(nn.Module):
    """Images as bright as their label says, or as the other one says."""

    def __init__(self, *, honest: bool) -> None:
        super().__init__()
        self.bright = torch.tensor([0.1, 0.9] if honest else [0.9, 0.1])

    def forward(self, latent: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        return (label @ self.bright + 0 * latent.sum(dim=1)).reshape(-1, 1, 1, 1).expand(-1, 1, 8, 8)


class Made:
    """A synthesizer whose generator is honest where the plan has most steps."""

    def __init__(self, _name: str) -> None:
        self.trained: list[int] = []

    def fit(
        self, records: PrivateImages, plan: Plan, _streams: KeyedStreams, _host: TrainingHost
    ) -> TrainedImageGenerator:
        assert isinstance(records, PrivateImages)
        return TrainedImageGenerator(
            network=Shade(honest=plan.steps == 7),
            latent_dimension=2,
            shape=(1, 8, 8),
            label_probabilities=np.asarray([0.5, 0.5]),
        )


def image_selection() -> SelectionPlan:
    return make_selection_plan(
        selection=SelectionSpec(
            candidates=tuple(
                SynthesisSpec(synthesizer="idpgan", options={"anchor": False, "steps": steps})
                for steps in (3, 7, 5)
            ),
            epsilon=2.0,
            choice_epsilon=2.0,
        ),
        guarantee=PrivacyGuarantee(epsilon=3.0, delta=1e-6),
        declared_size=2000,
        domain=DOMAIN,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def test_the_candidate_whose_images_look_like_their_labels_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "SAMPLE_ROWS", 100)
    monkeypatch.setattr(scoring, "TREES", 5)
    labels = np.random.default_rng(0).integers(0, 2, 200).astype(np.int16)
    pixels = np.where(labels == 1, 220, 30).astype(np.uint8)[:, None, None, None]
    images = PrivateImages(
        pixels=np.broadcast_to(pixels, (200, 8, 8, 1)).copy(),
        labels=labels,
        unit_of_record=np.arange(200),
        classes=2,
    )
    listener = recording()

    selected = Selection(
        images, image_selection(), streams(), NullHost(), listening=listener, make=Made
    ).run()  # type: ignore[arg-type]

    # Some fifty units are judged: exp(-2 * 30) is the chance of another winner, at most.
    assert selected.winner == 1
    assert listener.errors[1] == 0
    assert min(listener.errors[0], listener.errors[2]) > 30
