"""Broken twins of the product: what an audit must catch. They live here alone and change no file of the product."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
from torch import Tensor

from core.plan.plan import Plan
from models.dp.noise import NoisePlan, NoisyMean
from models.encoding import PrivateTable
from models.idpgan.synthesizer import IdpganSynthesizer
from models.randomness import KeyedStreams, KeystreamReader, Purpose, Shape
from models.releases import ReleaseRecorder
from tests.audits.game import train
from tests.audits.jobs import release_counts

DEATHS = 8
"""How often the job of the averaging attack is killed in its last step."""


@contextmanager
def a_quarter_of_the_noise() -> Iterator[None]:
    """Every gradient gets a quarter of the noise that its plan claims."""
    sound = NoisyMean.draw

    def quarter(self: NoisyMean, noise: NoisePlan, reader: KeystreamReader) -> Tensor:
        return sound(self, noise, reader).mul_(0.25).round_()

    with patch.object(NoisyMean, "draw", quarter):
        yield


def train_with_a_quarter_of_the_noise(
    table: PrivateTable, plan: Plan, key: bytes, releases: ReleaseRecorder
) -> None:
    """The product's job with a quarter of its noise."""
    with a_quarter_of_the_noise():
        train(table, plan, key, releases)


def train_on_everybody(table: PrivateTable, plan: Plan, key: bytes, releases: ReleaseRecorder) -> None:
    """Samples every unit in every step, whatever rate the plan claims."""
    train(table, replace(plan, sampling_rate=1.0), key, releases)


class QuietStreams(KeyedStreams):
    """A quarter of the anchor's noise."""

    def normals(self, purpose: Purpose, step: int, shape: Shape) -> npt.NDArray[np.float64]:
        return super().normals(purpose, step, shape) * (0.25 if purpose == Purpose.ANCHOR_NOISE else 1.0)


def counts_with_a_quarter_of_the_noise(
    table: PrivateTable, plan: Plan, key: bytes, releases: ReleaseRecorder
) -> None:
    """The anchor with a quarter of its noise."""
    with patch("tests.audits.jobs.KeyedStreams", QuietStreams):
        release_counts(table, plan, key, releases)


def exact_label_counts(table: PrivateTable, plan: Plan, key: bytes, releases: ReleaseRecorder) -> None:
    """The label histogram without noise."""

    def none(*_: object, count: int, **__: object) -> npt.NDArray[np.int64]:
        return np.zeros(count, dtype=np.int64)

    with patch("models.labels.discrete_gaussians", none):
        release_counts(table, plan, key, releases)


class Killed(Exception):
    """The process was killed."""


class DyingHost:
    """Keeps every checkpoint but that of the last step, at which the process dies, again and again.

    Args:
        steps: of the plan.
        deaths: how often.
    """

    def __init__(self, *, steps: int, deaths: int) -> None:
        self._steps, self._left = steps, deaths
        self._saved = 0
        self._state: bytes | None = None

    def advance(self, *, stage: str, step: int, total: int) -> None:
        """Nothing is marked."""

    def load_checkpoint(self) -> bytes | None:
        return self._state

    def checkpoint_due(self) -> bool:
        return True

    def save_checkpoint(self, state: bytes) -> None:
        if self._saved + 1 == self._steps and self._left:
            self._left -= 1
            raise Killed
        self._saved += 1
        self._state = state


class ForgetfulStreams(KeyedStreams):
    """Fresh gradient noise at every attempt.

    Args:
        key: of the job.
        attempt: number of the attempt.
        releases: who listens.
    """

    def __init__(self, key: bytes, *, attempt: int, releases: ReleaseRecorder) -> None:
        super().__init__(key, releases=releases)
        self._noise = KeyedStreams(hashlib.sha256(key + bytes([attempt])).digest())

    def reader(self, purpose: Purpose, step: int) -> KeystreamReader:
        return (
            self._noise.reader(purpose, step)
            if purpose == Purpose.GRADIENT_NOISE
            else super().reader(purpose, step)
        )


def train_through_deaths(table: PrivateTable, plan: Plan, key: bytes, releases: ReleaseRecorder) -> None:
    """The product's job, killed in its last step again and again, and resumed each time."""
    host = DyingHost(steps=plan.steps, deaths=DEATHS)
    for _ in range(DEATHS):
        _die(table, plan, KeyedStreams(key, releases=releases), host)
    IdpganSynthesizer().fit(table, plan, KeyedStreams(key, releases=releases), host)


def train_with_fresh_noise_on_resume(
    table: PrivateTable, plan: Plan, key: bytes, releases: ReleaseRecorder
) -> None:
    """The same, with fresh noise at every attempt, which averages away."""
    host = DyingHost(steps=plan.steps, deaths=DEATHS)
    for attempt in range(DEATHS):
        _die(table, plan, ForgetfulStreams(key, attempt=attempt, releases=releases), host)
    IdpganSynthesizer().fit(table, plan, ForgetfulStreams(key, attempt=DEATHS, releases=releases), host)


def _die(table: PrivateTable, plan: Plan, streams: KeyedStreams, host: DyingHost) -> None:
    try:
        IdpganSynthesizer().fit(table, plan, streams, host)
    except Killed:
        return
    raise AssertionError("the host lets no attempt end")
