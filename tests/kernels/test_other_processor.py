"""What a training does that is resumed on a host with another processor (docs/decisions/replay-safe-randomness.md).

The processor is played by the variables that choose the kernels of the numerical libraries.
"""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from tests.kernels import training
from tests.kernels.settings import NATIVE, SETTINGS, can_run, environment

KILLED_AT = 9
RARE = 1e-3
"""Share of noise that may fall on the neighbouring point of the grid."""
CLOSE = 1e-2
"""Rounding of float32 over a dozen steps of Adam, whose moves near a zero gradient are as large as any other."""


def resume(folder, *, on):
    """What is left of the training, as on a host of that kind."""
    command = [sys.executable, "-m", "tests.kernels.training", str(folder)]
    finished = subprocess.run(
        command, check=False, capture_output=True, text=True, env=os.environ | environment(on)
    )
    assert finished.returncode == 0, finished.stderr


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What the training leaves that nothing disturbs, in this process."""
    folder = tmp_path_factory.mktemp("undisturbed")
    training.main(folder, None)
    return folder


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """What it leaves when it is killed, in this process."""
    folder = tmp_path_factory.mktemp("killed")
    training.main(folder, KILLED_AT)
    assert not (folder / "generator").exists()
    return folder


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name == "zen" else pytest.mark.long) for name in (NATIVE, *SETTINGS)],
)
def test_a_training_resumed_on_another_processor_repeats_its_coins_and_noise(
    undisturbed, killed, name, tmp_path
):
    if not can_run(name):
        pytest.skip("this processor has no AVX-512: those kernels cannot be tried on it")
    shutil.copy(killed / "checkpoint", tmp_path)
    resume(tmp_path, on=name)
    assert np.array_equal(np.load(tmp_path / "coins.npy"), np.load(undisturbed / "coins.npy"))
    drawn, expected = np.load(tmp_path / "noise.npy"), np.load(undisturbed / "noise.npy")
    assert np.abs(drawn - expected).max() <= 1.0, "one step of the grid"
    assert (drawn != expected).mean() < RARE
    weights, same = np.load(tmp_path / "weights.npy"), np.load(undisturbed / "weights.npy")
    assert np.abs(weights - same).max() < CLOSE
    if name == NATIVE:
        assert (tmp_path / "generator").read_bytes() == (undisturbed / "generator").read_bytes()
