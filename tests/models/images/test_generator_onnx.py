"""The ONNX form of every generator of images that a training makes computes what the modules compute."""

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import nn

from core.plan.domain.images import LARGEST_SIDE
from models.critic.label_network import LabelCritic
from models.idpgan.synthesizer import IdpganSynthesizer
from models.images.generator import ImageGenerator
from models.images.generator_onnx import enlarged, image_generator_onnx
from models.images.label_rejection import AnsweredImages
from models.images.likelihood_rejection import ChosenImages
from models.images.mixture import Mixture, plain_mixture
from models.images.moves import MOVES
from models.onnx_graph import OnnxGraph, rows_of
from models.synthesizer import NullHost
from tests.models.coded_tables import streams
from tests.models.critic.hard_tanh import HardTanh
from tests.models.idpgan.image_jobs import domain, image_plan, small_images

SMALLEST_SIDE = 4
SHAPES = ((4, 4, 1), (5, 7, 3), (9, 8, 1), (28, 28, 1), (32, 32, 3), (66, 50, 3))
ROWS = 11


def random_mixture(
    shape: tuple[int, int, int],
    classes: int,
    *,
    cells: int = 2,
    dimensions: int = 3,
    tail: int = 2,
    textured: bool = True,
) -> Mixture:
    """A distribution whose every number matters: images differ by class and cell, are moved, and have texture."""
    rng = np.random.default_rng(5)
    distributions, pixels = max(classes, 1), int(np.prod(shape))
    return Mixture(
        shape=shape,
        distribution=np.full(distributions, 1.0 / distributions),
        means=rng.uniform(0.2, 0.8, (distributions, pixels)),
        basis=rng.normal(0.0, 0.1, (pixels, dimensions + tail)),
        weights=rng.dirichlet(np.ones(cells), distributions),
        centres=rng.normal(0.0, 1.0, (distributions, cells, dimensions)),
        factors=np.tril(rng.normal(0.0, 1.0, (distributions, cells, dimensions, dimensions))),
        tail=rng.uniform(0.5, 1.0, tail),
        moves=np.tril(rng.normal(0.0, 0.1, (distributions, cells, MOVES, MOVES))),
        texture=rng.uniform(0.0, 0.05, shape[:2]) * textured,
    )


def random_generator(distribution: Mixture, *, width: int = 4, extra: int = 2) -> ImageGenerator:
    generator = ImageGenerator(distribution, width=width, extra=extra)
    generator.initialise(streams())
    nn.init.normal_(generator.leave.weight, std=0.2, generator=torch.Generator().manual_seed(3))
    return generator


def random_critic(
    shape: tuple[int, int, int], classes: int, *, step: int, widths: tuple[int, ...] = (16,)
) -> LabelCritic:
    height, width, channels = shape
    return LabelCritic(image=(channels, height, width), widths=widths, classes=classes).initialise(
        streams(), step=step
    )


def assert_same(network: nn.Module, classes: int, *, rows: int = ROWS) -> None:
    """Run the file and the modules on the same random inputs, several rows and one."""
    content = image_generator_onnx(network.eval(), classes=classes)
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    inputs = {put.name: (put.type, put.shape) for put in session.get_inputs()}
    assert inputs == {
        "latent": ("tensor(float)", ["rows", network.latent_dimension]),
        "label": ("tensor(float)", ["rows", classes]),
    }
    (output,) = session.get_outputs()
    assert (output.name, output.type) == ("images", "tensor(float)")
    latent = torch.randn(rows, network.latent_dimension, generator=torch.Generator().manual_seed(4))
    label = torch.eye(max(classes, 1), classes)[torch.arange(rows) % max(classes, 1)]
    for count in (rows, 1):
        (drawn,) = session.run(None, {"latent": latent[:count].numpy(), "label": label[:count].numpy()})
        with torch.no_grad():
            expected = network(latent[:count], label[:count]).numpy()
        assert output.shape == ["rows", *expected.shape[1:]]
        np.testing.assert_allclose(drawn, expected, atol=2e-5)
    assert np.ptp(drawn) > 0.05


@pytest.mark.parametrize("textured", [False, True])
@pytest.mark.parametrize("cells", [1, 3])
@pytest.mark.parametrize("classes", [0, 1, 3])
@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(shape, marks=() if shape in SHAPES[:4:2] + SHAPES[1:2] else pytest.mark.long)
        for shape in SHAPES
    ],
)
def test_a_generator_of_any_shape_labels_and_cells(shape, classes, cells, textured):
    assert_same(random_generator(random_mixture(shape, classes, cells=cells, textured=textured)), classes)


@pytest.mark.parametrize("extra", [0, 3])
@pytest.mark.parametrize("width", [1, 9])
@pytest.mark.parametrize("tail", [0, 4])
def test_a_generator_of_any_width_tail_and_latent_vector(tail, width, extra):
    distribution = random_mixture((9, 8, 3), 2, dimensions=1, tail=tail)
    assert_same(random_generator(distribution, width=width, extra=extra), 2)


@pytest.mark.parametrize("classes", [0, 2])
def test_a_generator_without_an_anchor(classes):
    assert_same(random_generator(plain_mixture((10, 6, 3), classes)), classes)


def test_images_of_every_side_are_enlarged_as_torch_does():
    """From a quarter of the side to a half and to the whole, rounded up; one graph of all of them."""
    graph, written, expected = OnnxGraph(), [], []
    line = torch.arange(1, LARGEST_SIDE + 1, dtype=torch.float32)
    first = graph.constant([0], np.int64)
    for side in range(SMALLEST_SIDE, LARGEST_SIDE + 1):
        quarter, half = math.ceil(side / 4), math.ceil(side / 2)
        for few, many in ((quarter, half), (half, side)):
            start = graph.apply(
                "Slice", "line", first, graph.constant([few], np.int64), graph.constant([1], np.int64)
            )
            down = enlarged(graph, graph.shaped(start, -1, 1, few, 1), many, 1)
            across = enlarged(graph, graph.shaped(start, -1, 1, 1, few), 1, many)
            written += [graph.shaped(down, -1, many), graph.shaped(across, -1, many)]
            expected += 2 * [
                nn.functional.interpolate(line[None, None, :few], size=many, mode="nearest")[0, 0]
            ]
    graph.apply("Concat", *written, axis=1)
    numbers = torch.cat(expected).numpy()
    content = graph.serialised(
        "sides", inputs=[rows_of("line", LARGEST_SIDE)], output="enlarged", shape=[len(numbers)]
    )
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    (made,) = session.run(None, {"line": line[None].numpy()})
    assert (made[0] == numbers).all()


@pytest.mark.parametrize("classes", [1, 2, 5])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_choice_by_likelihood_ratio(shape, classes):
    generator = random_generator(random_mixture(shape, classes))
    critics = (random_critic(shape, classes, step=step, widths=(16, 32)) for step in range(2))
    network = ChosenImages(generator, *critics, draw_dimension=generator.latent_dimension)
    assert_same(network, classes)


@pytest.mark.parametrize("classes", [1, 2])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_choice_by_answer(shape, classes):
    generator = random_generator(random_mixture(shape, classes))
    distribution = np.array([0.8, 0.2])[:classes]
    critic = random_critic(shape, classes, step=0)
    network = AnsweredImages(
        generator, critic, distribution=distribution, draw_dimension=generator.latent_dimension
    )
    assert_same(network, classes)


@pytest.mark.parametrize(
    ("labels", "asked"), [(0, "real"), (2, "real"), (3, "real"), (2, "labels"), (3, "labels")]
)
def test_what_a_training_makes(labels, asked):
    declared = replace(domain(channels=3), labels=("a", "b", "c")[:labels])
    images = small_images(channels=3)
    images = replace(images, labels=images.labels % max(labels, 1), classes=labels)
    plan = image_plan(declared, critic_asks=asked, pretraining_steps=3)
    made = IdpganSynthesizer().fit(images, plan, streams(), NullHost())
    assert_same(made.network, labels)


def test_the_same_weights_give_the_same_bytes_and_other_weights_others():
    def content(change: float) -> bytes:
        generator = random_generator(random_mixture((9, 8, 1), 3))
        with torch.no_grad():
            generator.enter.bias[0] += change
        return image_generator_onnx(generator, classes=3)

    assert content(0.0) == content(0.0) != content(1e-3)
    model = onnx.load_model_from_string(content(0.0))
    assert [(each.domain, each.version) for each in model.opset_import] == [("", 20)]
    assert model.ir_version == 10


class Grey(nn.Module):
    latent_dimension = 1

    def forward(self, latent: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        del label
        return latent[:, :, None, None].expand(-1, 1, 4, 4)


def test_a_module_that_is_not_known_is_refused():
    with pytest.raises(TypeError, match="no ONNX form of a generator of images by Grey"):
        image_generator_onnx(Grey(), classes=0)
    critics = (random_critic((8, 8, 1), 3, step=step) for step in range(2))
    with pytest.raises(TypeError, match="by Grey"):
        image_generator_onnx(ChosenImages(Grey(), *critics, draw_dimension=1), classes=3)
    bent = LabelCritic(image=(1, 8, 8), widths=(16,), classes=2, activation=HardTanh())
    generator = random_generator(random_mixture((8, 8, 1), 2))
    network = AnsweredImages(
        generator, bent, distribution=np.ones(2) / 2, draw_dimension=generator.latent_dimension
    )
    with pytest.raises(TypeError, match="a critic with HardTanh"):
        image_generator_onnx(network, classes=2)


@pytest.mark.long
def test_no_compiler_is_imported():
    """In a process of its own, for other tests load the exporter."""
    words = (
        "import sys, tests.models.images.test_generator_onnx as t\n"
        "t.assert_same(t.random_generator(t.random_mixture((8, 8, 1), 2)), 2)\n"
        "print([name for name in ('onnxscript', 'sympy', 'torch._dynamo') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
