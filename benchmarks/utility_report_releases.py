"""Releases of real data that utility reports are measured of: tables by few steps, images by the anchor alone.

Keys derive from seeds, so what is released is NOT PRIVATE.
"""

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from benchmarks import datasets as tables
from benchmarks.images import datasets as images
from benchmarks.images.idpgan import plan_of
from benchmarks.publishing import trained
from benchmarks.runs import DELTA
from core.artifacts.bundle import Bundle, unpack
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from models.bundle import write_bundle
from models.encoding import PrivateImages, PrivateTable
from models.randomness import KeyedStreams
from models.registry import make_synthesizer
from models.synthesizer import NullHost

TABLES: Final = ("adult", "poker")
NAMES: Final = (*TABLES, *images.NAMES)
EPSILON: Final = 1.0
FEW: Final = {"steps": 100, "pretraining_steps": 400}
ANCHOR: Final = {"critic": False}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Released:
    """A release and what it was made of.

    Args:
        name: of the data.
        private: what it was trained on.
        domain: declared.
        bundle: opened.
        facts: for the result's entry.
    """

    name: str
    private: PrivateTable | PrivateImages
    domain: TableDomain | ImageDomain
    bundle: Bundle
    facts: Mapping[str, Any]

    @property
    def size(self) -> int:
        """Private records, each its own unit; declared, too, for these are public sets."""
        return len(self.private.unit_of_record)


def release(name: str) -> Released:
    """Train a generator of a set of real data.

    Args:
        name: one of `NAMES`.
    """
    begun = time.perf_counter()
    if name in TABLES:
        table = tables.load(name)
        private, _plan, generator, _ = trained(
            table, epsilon=EPSILON, delta=DELTA, variant="both", seed=0, options=FEW
        )
        made = Released(
            name=name,
            private=private,
            domain=table.domain,
            bundle=unpack(write_bundle(generator=generator, domain=table.domain.to_json(), certificate={})),
            facts={"epsilon": EPSILON, "delta": DELTA, **FEW},
        )
    else:
        made = _of_images(images.load(name))
    return replace(made, facts={**made.facts, "seconds": round(time.perf_counter() - begun, 1)})


def _of_images(given: images.ImageSet) -> Released:
    plan = plan_of(given, epsilon=EPSILON, options=ANCHOR)
    key = hashlib.sha256(b"understudy benchmark, not private, charged images").digest()
    private = given.private()
    generator = make_synthesizer(plan.synthesizer).fit(private, plan, KeyedStreams(key), NullHost())
    domain = given.domain.to_json()
    return Released(
        name=given.name,
        private=private,
        domain=given.domain,
        bundle=unpack(write_bundle(generator=generator, domain=domain, certificate={})),
        facts={"epsilon": EPSILON, "delta": plan.guarantee.delta, **ANCHOR},
    )
