import dataclasses
import io
import zipfile

import numpy as np
import onnxruntime
import pytest
import safetensors.torch
import torch

from core.artifacts.bundle import unpack
from core.artifacts.sampling.sampler import Sampler
from models.bundle import export_onnx, write_bundle
from models.idpgan.generator import Generator
from models.randomness import KeyedStreams
from models.synthesizer import TrainedGenerator
from tests.core.artifacts.stand_in import DOMAIN, LABEL_DISTRIBUTION, cardinalities

CERTIFICATE = {"guarantee": {"epsilon": 1.0, "delta": 1e-6}, "privacy_unit": {"column": None}}


def _trained(*, target: int | None = 2) -> TrainedGenerator:
    rng = np.random.default_rng(1)
    # Half of the columns have groups of codes, the target has none.
    groups = [
        np.arange(codes) if column == target or column % 2 else np.unique(rng.integers(0, 2, codes), return_inverse=True)[1]
        for column, codes in enumerate(cardinalities())
    ]  # fmt: skip
    network = Generator(groups=groups, target_index=target, latent_dimension=4, width=16, blocks=1)
    distributions = [rng.dirichlet(np.ones(codes)) for codes in cardinalities()]
    network.initialise(KeyedStreams(bytes(range(32))), columns=distributions)
    return TrainedGenerator(
        network=network,
        latent_dimension=4,
        label_index=target,
        label_probabilities=None if target is None else np.array(LABEL_DISTRIBUTION),
        cardinalities=cardinalities(),
    )


@pytest.mark.parametrize("target", [0, 2, len(cardinalities()) - 1, None])
def test_the_exported_network_computes_what_the_trained_one_does(target):
    trained = _trained(target=target)
    latent = torch.from_numpy(np.random.default_rng(0).standard_normal((7, 4), dtype=np.float32))
    classes = 0 if target is None else cardinalities()[target]
    label = torch.eye(classes)[torch.arange(7) % classes] if classes else torch.zeros(7, 0)
    session = onnxruntime.InferenceSession(export_onnx(trained), providers=["CPUExecutionProvider"])
    (logits,) = session.run(None, {"latent": latent.numpy(), "label": label.numpy()})
    with torch.no_grad():
        np.testing.assert_allclose(logits, trained.network(latent, label).numpy(), rtol=1e-5, atol=1e-5)


def test_the_same_generator_gives_the_same_bytes():
    first, second = (
        write_bundle(generator=_trained(), domain=DOMAIN, certificate=CERTIFICATE) for _ in range(2)
    )
    assert first == second


def test_a_bundle_can_be_sampled_and_its_weights_read():
    packed = write_bundle(generator=_trained(), domain=DOMAIN, certificate=CERTIFICATE)
    bundle = unpack(packed)
    assert next(Sampler(bundle).batches(10)).num_rows == 10
    weights = safetensors.torch.load(bundle.weights)
    for name, tensor in _trained().network.state_dict().items():
        assert torch.equal(weights[name], tensor)
    assert bundle.certificate == CERTIFICATE


def test_no_file_of_a_bundle_names_the_machine_it_was_made_on():
    packed = write_bundle(generator=_trained(), domain=DOMAIN, certificate=CERTIFICATE)
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        for name in archive.namelist():
            content = archive.read(name)
            assert b".py" not in content or name in {"README.md", "sample.py"}, name
            assert b"/home" not in content, name
            assert b"site-packages" not in content, name


def test_one_changed_weight_changes_the_bundle():
    trained = _trained()
    before = write_bundle(generator=trained, domain=DOMAIN, certificate=CERTIFICATE)
    with torch.no_grad():
        next(trained.network.parameters()).flatten()[0].add_(1e-3)
    assert (
        write_bundle(generator=dataclasses.replace(trained), domain=DOMAIN, certificate=CERTIFICATE) != before
    )
