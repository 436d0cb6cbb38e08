"""Small plans, hosts that interrupt, and the bytes of a trained generator."""

from typing import Any

import safetensors.torch

from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from models.encoding import PrivateTable
from models.synthesizer import TrainedGenerator, TrainedImageGenerator

SMALL: dict[str, Any] = {
    "critic_width": 16,
    "generator_width": 16,
    "generator_blocks": 1,
    "latent_dimension": 4,
    "generator_batch_size": 64,
    "expected_batch_size": 40,
}


def small_plan(table: PrivateTable, *, epsilon: float = 2.0, **options: Any) -> Plan:
    """A plan of a small job."""
    chosen = SMALL | options
    if chosen.get("critic", True):
        chosen = {"steps": 12} | chosen
    if chosen.get("anchor", True):
        chosen = {"pretraining_steps": 10} | chosen
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=chosen),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=1e-6),
        declared_size=400,
        domain=table,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


class Killed(Exception):
    """The process was killed."""


class StubbornHost:
    """Keeps every checkpoint, and kills the training when it saves the one with a given number.

    Args:
        state: checkpoint to start from.
        kill_at: number of the checkpoint after which the process dies, or None.
    """

    def __init__(self, state: bytes | None = None, *, kill_at: int | None = None) -> None:
        self.state = state
        self.kill_at = kill_at
        self.saved = 0
        self.marks: list[tuple[str, int, int]] = []

    def advance(self, *, stage: str, step: int, total: int) -> None:
        self.marks.append((stage, step, total))

    def load_checkpoint(self) -> bytes | None:
        return self.state

    def checkpoint_due(self) -> bool:
        return True

    def save_checkpoint(self, state: bytes) -> None:
        self.state = state
        if self.saved == self.kill_at:
            raise Killed
        self.saved += 1


def generator_bytes(trained: TrainedGenerator | TrainedImageGenerator) -> bytes:
    """The weights, the label distribution and, of a table, the counts, as bytes."""
    distribution = b"" if trained.label_probabilities is None else trained.label_probabilities.tobytes()
    counts = trained.counts if isinstance(trained, TrainedGenerator) else None
    counted = b"" if counts is None else counts.to_bytes()
    return safetensors.torch.save(dict(trained.network.state_dict())) + distribution + counted
