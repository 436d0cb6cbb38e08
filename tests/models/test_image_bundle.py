"""Image generators as bundles: networks of the kind a training leaves, untrained and tiny."""

import io
import zipfile
from functools import cache

import numpy as np
import onnxruntime
import pytest
import safetensors.torch
import torch

from core.artifacts.bundle import unpack
from core.artifacts.manifest import ImageManifest
from core.artifacts.sampling.image_sampler import ImageSampler
from core.artifacts.sampling.samples import open_samples
from models.bundle import write_bundle
from models.synthesizer import TrainedImageGenerator
from tests.core.artifacts.image_stand_in import CERTIFICATE
from tests.models.images.test_generator_onnx import random_generator, random_mixture

SIDE = 8


def trained(*, classes: int = 3, channels: int = 3) -> TrainedImageGenerator:
    network = random_generator(random_mixture((SIDE, SIDE, channels), classes))
    return TrainedImageGenerator(
        network=network,
        latent_dimension=network.latent_dimension,
        shape=(channels, SIDE, SIDE),
        label_probabilities=np.full(classes, 1 / classes) if classes else None,
    )


def domain(*, classes: int = 3, channels: int = 3) -> dict[str, object]:
    return {
        "schema": "understudy.images/1",
        "height": SIDE,
        "width": SIDE,
        "channels": channels,
        "labels": [f"kind {label}" for label in range(classes)],
        "privacy_unit": None,
    }


@cache
def packed(classes: int, channels: int) -> bytes:
    return write_bundle(
        generator=trained(classes=classes, channels=channels),
        domain=domain(classes=classes, channels=channels),
        certificate=CERTIFICATE,
    )


SHAPES = pytest.mark.parametrize(("classes", "channels"), [(3, 3), (0, 1)])


@SHAPES
def test_the_exported_network_gives_what_the_trained_one_does(classes, channels):
    generator = trained(classes=classes, channels=channels)
    network = unpack(packed(classes, channels)).network
    session = onnxruntime.InferenceSession(network, providers=["CPUExecutionProvider"])
    assert [put.name for put in session.get_inputs()] == ["latent", "label"]
    assert [put.name for put in session.get_outputs()] == ["images"]
    for rows in (1, 5):
        latent = np.random.default_rng(0).standard_normal(
            (rows, generator.latent_dimension), dtype=np.float32
        )
        label = np.eye(max(classes, 1), classes, dtype=np.float32)[np.arange(rows) % max(classes, 1)]
        (images,) = session.run(None, {"latent": latent, "label": label})
        with torch.no_grad():
            known = generator.network.eval()(torch.from_numpy(latent), torch.from_numpy(label)).numpy()
        assert images.shape == (rows, channels, SIDE, SIDE)
        np.testing.assert_allclose(images, known, atol=1e-5)


@SHAPES
def test_a_bundle_is_sampled_and_its_weights_are_read(classes, channels):
    generator = trained(classes=classes, channels=channels)
    bundle = unpack(packed(classes, channels))
    assert bundle.manifest == ImageManifest(
        latent_dimension=generator.latent_dimension,
        height=SIDE,
        width=SIDE,
        channels=channels,
        label_probabilities=(1 / classes,) * classes if classes else None,
    )
    (batch,) = ImageSampler(bundle).sample(9).batches()
    assert batch.pixels.shape == (9, SIDE, SIDE, channels)
    assert batch.pixels.std() > 0
    weights = safetensors.torch.load(bundle.weights)
    for name, tensor in generator.network.state_dict().items():
        assert torch.equal(weights[name], tensor)
    assert sum(map(len, open_samples(packed(classes, channels)).write(4, "png"))) > 100


def test_the_same_generator_gives_the_same_bytes_and_names_no_machine():
    first = packed(3, 3)
    assert write_bundle(generator=trained(), domain=domain(), certificate=CERTIFICATE) == first
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        for name in archive.namelist():
            content = archive.read(name)
            assert b"/home" not in content, name
            assert b"site-packages" not in content, name
            assert b".py" not in content or name in {"README.md", "sample.py"}, name
