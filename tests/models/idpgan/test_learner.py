"""What a generator of images learns from: the critic, the anchor beside it to the end, and what is released of it is an average."""

import pytest
import torch
from torch import Tensor, nn

from models.idpgan.image_measurement import measure_images, ready
from models.idpgan.image_refinement import ImageRefinement
from models.idpgan.synthesizer import IdpganSynthesizer
from models.synthesizer import NullHost
from tests.models.coded_tables import streams
from tests.models.idpgan.image_jobs import CLASSES, image_plan, small_images
from tests.models.idpgan.jobs import generator_bytes

BRIGHT = 50.0


class Fond(nn.Module):
    """A critic that likes images for being bright, so much.

    Args:
        weight: 0 where it likes all alike.
    """

    def __init__(self, weight: float) -> None:
        super().__init__()
        self._weight = weight

    def forward(self, images: Tensor, labels: Tensor) -> Tensor:
        """Scores, (rows,)."""
        del labels
        return self._weight * images.flatten(1).mean(dim=1)


def learner(**options: float) -> ImageRefinement:
    plan, images = image_plan(epsilon=100.0, **options), small_images()
    start = ready(measure_images(images, plan, streams()), plan, shape=images.shape, classes=images.classes)
    start.generator.initialise(streams())
    return ImageRefinement(
        generator=start.generator,
        options=plan.options,
        streams=streams(),
        distribution=start.distribution,
        moment_loss=start.loss,
    )


def numbers(module: nn.Module) -> Tensor:
    return torch.cat([parameter.detach().flatten().clone() for parameter in module.parameters()])


def brightness(refinement: ImageRefinement) -> float:
    label = torch.eye(CLASSES).repeat(100, 1)
    latent = torch.randn(
        len(label), refinement.generator.latent_dimension, generator=torch.Generator().manual_seed(0)
    )
    with torch.no_grad():
        return float(refinement.generator(latent, label).mean())


def test_the_average_follows_the_generator_at_the_stated_decay():
    refinement = learner(ema_decay=0.8)
    expected = numbers(refinement.average)
    for step in range(60):
        refinement.refine(step, Fond(BRIGHT), progress=0.0)
        decay = min(0.8, (step + 1) / (step + 10))  # the first steps weigh more, or the start would stay
        expected = decay * expected + (1.0 - decay) * numbers(refinement.generator)
    assert torch.allclose(numbers(refinement.average), expected, rtol=1e-4, atol=1e-6)
    assert (numbers(refinement.average) - numbers(refinement.generator)).abs().max() > 1e-3


def test_what_is_released_is_the_average():
    """The average moves nothing in a training, so two that differ by its decay alone differ by what is released."""
    last, averaged = (
        generator_bytes(
            IdpganSynthesizer().fit(
                small_images(), image_plan(steps=12, critic_steps=1, ema_decay=decay), streams(), NullHost()
            )
        )
        for decay in (0.0, 0.9)
    )
    assert last != averaged


@pytest.mark.parametrize(("weight", "moves"), [(0.0, False), (1.0, True)])
def test_the_anchor_pulls_where_the_critic_does_not(weight: float, moves: bool):
    refinement = learner(anchor_weight=weight)
    before = numbers(refinement.generator)
    refinement.refine(0, Fond(0.0), progress=0.0)
    assert bool((numbers(refinement.generator) != before).any()) == moves


def test_the_anchor_holds_against_a_critic_that_leads_away():
    """The loss is there at every step: without it images become as bright as the critic likes them."""
    ends = {}
    for weight in (0.0, 100.0):
        refinement = learner(anchor_weight=weight)
        before = brightness(refinement)
        for step in range(60):
            refinement.refine(step, Fond(BRIGHT), progress=0.0)
        ends[weight] = brightness(refinement) - before
    assert ends[0.0] > 0.2
    assert abs(ends[100.0]) < 0.3 * ends[0.0]
