"""A short training in this process, over any table of codes, and all that it tells on its way."""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.table import TableDomain
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from models.encoding import PrivateTable
from models.randomness import KeyedStreams
from models.registry import make_synthesizer
from models.releases import ReleaseRecorder
from models.synthesizer import TrainedGenerator
from tests.privacy.leaks.table import DOMAIN

DECLARED_SIZE = 200
KEY = bytes(range(32))
OPTIONS: dict[str, Any] = {
    "steps": 12, "pretraining_steps": 4, "critic_width": 12, "generator_width": 12, "generator_blocks": 1,
    "latent_dimension": 3, "generator_batch_size": 32, "expected_batch_size": 40,
}  # fmt: skip


@dataclass
class Told:
    """What a host hears: marks and states, in their order."""

    heard: list[tuple[str, int, int]] = field(default_factory=list)
    states: list[bytes] = field(default_factory=list)

    def advance(self, *, stage: str, step: int, total: int) -> None:
        self.heard.append((stage, step, total))

    def load_checkpoint(self) -> bytes | None:
        return None

    def checkpoint_due(self) -> bool:
        return True

    def save_checkpoint(self, state: bytes) -> None:
        self.heard.append(("state", len(self.states), 0))
        self.states.append(state)


@cache
def plan() -> Plan:
    """From declared facts."""
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=OPTIONS),
        guarantee=PrivacyGuarantee(epsilon=3.0, delta=1e-6),
        declared_size=DECLARED_SIZE,
        domain=TableDomain.from_json(DOMAIN),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column="person"),
    )


def random_codes(rows: int, *, seed: int = 1) -> npt.NDArray[np.int16]:
    """Codes of a table, of the shape (rows, columns)."""
    cells = TableDomain.from_json(DOMAIN).cardinalities
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, count, rows) for count in cells], axis=1).astype(np.int16)


def train(
    codes: npt.NDArray[np.int16], *, releases: ReleaseRecorder | None = None
) -> tuple[Told, TrainedGenerator]:
    """Train on a table in which every record is a person.

    Args:
        codes: of the table.
        releases: who listens at the seam of noisy releases.
    """
    domain = TableDomain.from_json(DOMAIN)
    table = PrivateTable(
        codes=codes,
        unit_of_record=np.arange(len(codes)),
        cardinalities=domain.cardinalities,
        target_index=domain.target_index,
    )
    told = Told()
    streams = KeyedStreams(KEY) if releases is None else KeyedStreams(KEY, releases=releases)
    return told, make_synthesizer("idpgan").fit(table, plan(), streams, told)
