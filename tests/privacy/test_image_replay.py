"""A whole training on images, recorded and replayed on neighbours: what one unit more may change, and what it may not."""

from dataclasses import replace

import numpy as np
import pytest

from models.idpgan.synthesizer import IdpganSynthesizer
from models.images.label_rejection import AnsweredImages
from models.randomness import KeyedStreams
from tests.models.idpgan.image_jobs import SIDE, domain, image_plan, small_images, with_one_more
from tests.models.idpgan.jobs import StubbornHost, generator_bytes
from tests.privacy.seam import Recorder, Replayer, require_stated, require_within

OPTIONS = {
    "anchor and critic": {},
    "anchor and critic of labels": {"critic_asks": "labels", "pretraining_steps": 2},
    "every strategy": {
        "acts": True,
        "acts_interval": 2,
        "weight_clusters": True,
        "row_blocks": 2,
        "schedule": "step",
    },
    "labels and critic": {"anchor": False},
}
CHECKS = np.indices((SIDE, SIDE)).sum(axis=0) % 2 * 255
UNITS = {
    "all white": (np.full((1, SIDE, SIDE, 1), 255), 0),
    "all black": (np.zeros((1, SIDE, SIDE, 1)), 1),
    "a duplicate": (small_images().pixels[:1], 0),
    "of the wrong class": (small_images().pixels[:1], 2),
    "a person with many images": (np.repeat(CHECKS[None, :, :, None], 9, axis=0), 2),
}


@pytest.mark.parametrize("options", OPTIONS)
def test_a_unit_more_moves_every_release_by_no_more_than_is_paid_and_nothing_else(options: str):
    plan = image_plan(**OPTIONS[options])
    images, recorder, host = small_images(), Recorder(), StubbornHost()
    made = IdpganSynthesizer().fit(images, plan, KeyedStreams(bytes(32), releases=recorder), host)
    require_stated(recorder, plan)
    moved = 0.0
    for pixels, label in UNITS.values():
        neighbour = with_one_more(images, pixels, label)
        replayer, other = Replayer(recorder), StubbornHost()
        again = IdpganSynthesizer().fit(neighbour, plan, KeyedStreams(bytes(32), releases=replayer), other)
        assert replayer.calls == recorder.calls
        require_within(replayer, recorder, plan)
        assert generator_bytes(again) == generator_bytes(made)
        assert (other.marks, len(other.state or b"")) == (host.marks, len(host.state or b""))
        moved = max(moved, *replayer.distances.values())
    assert moved > 0.0


def test_with_two_labels_a_unit_more_changes_nothing_but_the_releases():
    """The pictures are then chosen by the critic's answer, and its distribution of the labels is the noisy one."""
    declared = replace(domain(), labels=("a", "b"))
    plan = image_plan(declared, **OPTIONS["anchor and critic of labels"])
    images = replace(small_images(), labels=small_images().labels % 2, classes=2)
    recorder = Recorder()
    made = IdpganSynthesizer().fit(images, plan, KeyedStreams(bytes(32), releases=recorder), StubbornHost())
    require_stated(recorder, plan)
    assert isinstance(made.network, AnsweredImages)
    pixels, label = UNITS["all white"]
    replayer = Replayer(recorder)
    again = IdpganSynthesizer().fit(
        with_one_more(images, pixels, label), plan, KeyedStreams(bytes(32), releases=replayer), StubbornHost()
    )
    require_within(replayer, recorder, plan)
    assert generator_bytes(again) == generator_bytes(made)


def test_a_release_that_forgets_its_clipping_is_noticed(monkeypatch: pytest.MonkeyPatch):
    plan = image_plan(critic=False)
    recorder = Recorder()
    IdpganSynthesizer().fit(small_images(), plan, KeyedStreams(bytes(32), releases=recorder), StubbornHost())
    replayer = Replayer(recorder)
    many = np.repeat(np.full((1, SIDE, SIDE, 1), 255), 2, axis=0)
    neighbour = with_one_more(small_images(), many, 0)
    # Two units where one was promised.
    neighbour.unit_of_record[-1] += 1
    neighbour = with_one_more(neighbour, many, 0)
    IdpganSynthesizer().fit(neighbour, plan, KeyedStreams(bytes(32), releases=replayer), StubbornHost())
    with pytest.raises(AssertionError):
        require_within(replayer, recorder, plan)
