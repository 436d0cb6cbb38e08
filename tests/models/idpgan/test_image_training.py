"""Training on images: the same bytes however often it is killed, and a generator of what was declared."""

import numpy as np
import pytest
import torch

from models.idpgan.synthesizer import IdpganSynthesizer
from models.randomness import KeyedStreams
from models.synthesizer import NullHost
from tests.models.coded_tables import streams
from tests.models.idpgan.image_jobs import CLASSES, SIDE, domain, image_plan, small_images
from tests.models.idpgan.jobs import Killed, StubbornHost, generator_bytes

VARIANTS = {
    "anchor and critic": {},
    "anchor and critic of labels": {"critic_asks": "labels", "pretraining_steps": 3},
    "anchor alone, pre-trained": {"critic": False, "pretraining_steps": 3},
    "critic alone": {"anchor": False},
    "every strategy": {
        "anchor": False,
        "acts": True,
        "acts_interval": 2,
        "weight_clusters": True,
        "row_blocks": 2,
    },
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_training_killed_at_any_checkpoint_resumes_to_the_same_bytes(variant: str):
    plan, images = image_plan(**VARIANTS[variant]), small_images()
    whole = generator_bytes(IdpganSynthesizer().fit(images, plan, streams(), NullHost()))
    state, kill_at, deaths = None, 0, 0
    while True:
        host = StubbornHost(state, kill_at=kill_at)
        try:
            made = IdpganSynthesizer().fit(images, plan, streams(), host)
            break
        except Killed:
            state, deaths = host.state, deaths + 1
            kill_at = 1
    assert deaths >= 2
    assert generator_bytes(made) == whole
    other = IdpganSynthesizer().fit(images, plan, KeyedStreams(bytes(32)), NullHost())
    assert generator_bytes(other) != whole


@pytest.mark.parametrize("labelled", [True, False])
def test_a_generator_makes_images_as_declared(labelled: bool):
    plan = image_plan(domain(labelled=labelled, channels=3))
    made = IdpganSynthesizer().fit(small_images(labelled=labelled, channels=3), plan, streams(), NullHost())
    classes = CLASSES if labelled else 0
    label = torch.eye(classes)[torch.arange(5) % classes] if labelled else torch.zeros(5, 0)
    images = made.network(torch.randn(5, made.latent_dimension), label)
    assert images.shape == (5, 3, SIDE, SIDE)
    assert made.shape == (3, SIDE, SIDE)
    assert 0.0 <= float(images.min()) <= float(images.max()) <= 1.0
    if labelled:
        assert made.label_probabilities is not None
        assert made.label_probabilities.sum() == pytest.approx(1.0)
    else:
        assert made.label_probabilities is None


def test_nobody_there_is_trained_on_like_somebody():
    """The same marks and the same sizes, whatever there is."""
    plan = image_plan()
    told = []
    for images in (small_images(), small_images(0)):
        host = StubbornHost()
        made = IdpganSynthesizer().fit(images, plan, streams(), host)
        assert host.state is not None
        told.append(
            (host.marks, len(host.state), [tuple(one.shape) for one in made.network.state_dict().values()])
        )
    assert told[0] == told[1]


def test_the_generator_learns_the_brightness_of_the_classes():
    plan = image_plan(epsilon=200.0, critic=False)
    made = IdpganSynthesizer().fit(small_images(), plan, streams(), NullHost())
    label = torch.eye(CLASSES).repeat_interleave(200, dim=0)
    with torch.no_grad():
        shades = made.network(torch.randn(600, made.latent_dimension), label).flatten(1).mean(dim=1)
    by_class = shades.view(CLASSES, 200).mean(dim=1).numpy()
    assert np.all(np.diff(by_class) > 0.1)
