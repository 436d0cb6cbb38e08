import pytest
import torch
from torch.func import grad, vmap
from torch.nn import functional

from benchmarks.images.classifiers import tensor_of
from benchmarks.images.clipped_network import ClippedNetwork
from benchmarks.images.datasets import ImageSet
from benchmarks.images.private_classifier import Settings, noise_multiplier, train_privately
from core.dp.accountant import epsilons
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Gaussian, PoissonSampled, Repeated
from core.plan.domain.images import ImageDomain
from models.randomness import KeyedStreams
from tests.benchmarks.images.pictures import squares

STREAMS = KeyedStreams(bytes(range(32)))
DOMAIN = ImageDomain(height=16, width=16, channels=1, labels=("a", "b", "c", "d"), privacy_unit=None)
SMALL = Settings(steps=8, expected_batch=60, clipping_norm=0.1, learning_rate=0.01)


def reference(parameters, image, label):
    w1, b1, w2, b2, w3, b3, w4, b4 = parameters
    a = functional.max_pool2d(
        torch.tanh(functional.conv2d(image[None], w1, b1, stride=2, padding=3)), 2, stride=1
    )
    a = functional.max_pool2d(torch.tanh(functional.conv2d(a, w2, b2, stride=2)), 2, stride=1)
    logits = functional.linear(torch.tanh(functional.linear(a.flatten(1), w3, b3)), w4, b4)
    return functional.cross_entropy(logits, label[None])


@pytest.mark.parametrize("clipping_norm", [0.05, 6.0, 1e6])
def test_the_clipped_sum_is_that_of_gradients_image_by_image(clipping_norm):
    pictures = squares(24)
    images, labels = tensor_of(pictures.pixels), torch.from_numpy(pictures.labels).long()
    network = ClippedNetwork((16, 16, 1), 4, STREAMS)
    each = vmap(grad(reference), in_dims=(None, 0, 0))(network.parameters, images, labels)
    norms = torch.sqrt(sum(part.flatten(1).square().sum(dim=1) for part in each))
    factors = (clipping_norm / norms).clamp(max=1.0)
    if clipping_norm == 6.0:
        assert 0 < (factors < 1).sum() < 24  # some are clipped and some are not
    found = network.clipped_sum(images, labels, clipping_norm=clipping_norm)
    for part, ours in zip(each, found, strict=True):
        expected = (factors.reshape(-1, *[1] * (part.ndim - 1)) * part).sum(dim=0)
        assert torch.allclose(ours, expected, rtol=1e-4, atol=1e-6 * min(1.0, clipping_norm))


def test_the_noise_keeps_all_steps_within_the_guarantee_and_is_the_least():
    settings = Settings(steps=100, expected_batch=600)
    scale = noise_multiplier(settings, guarantee=PrivacyGuarantee(epsilon=2.0, delta=1e-5), size=60_000)

    def spent(multiplier):
        step = PoissonSampled(sampling_rate=0.01, mechanism=Gaussian(noise_multiplier=multiplier))
        return epsilons(Repeated(mechanism=step, count=100), delta=1e-5).reported

    assert spent(scale) <= 2.0 < spent(scale * 0.999)


def test_with_little_noise_it_learns_and_with_much_it_does_not():
    images = ImageSet(
        name="squares", domain=DOMAIN, train=squares(200), test=squares(100, seed=1), development=False
    )
    learnt = train_privately(images, SMALL, noise_multiplier=0.1, streams=STREAMS)
    assert learnt.accuracy(images.test) > 0.9
    drowned = train_privately(images, SMALL, noise_multiplier=1e4, streams=STREAMS)
    assert drowned.accuracy(images.test) < 0.7
