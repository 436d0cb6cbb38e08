"""Findings of the check of a new generator, on tables and images of many kinds: `python -m benchmarks.idpgan.degenerate`.

Every entry is one small training and the look after it. The limits of `models/generator_check.py` lie between what sound
generators and collapsed ones show here. Tables are made from a fixed seed, so nothing real is needed.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.results_file import merge
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from core.plan.plan import make_plan
from core.plan.spec import SynthesisSpec
from models.encoding import PrivateImages, PrivateTable
from models.generator_check import check_generator
from models.randomness import KEY_BYTES, KeyedStreams
from models.registry import make_synthesizer
from models.synthesizer import NullHost

Codes = npt.NDArray[np.int64]
_SEED: Final = 0
_DELTA: Final = 1e-6
ANCHOR: Final = {"critic": False, "pretraining_steps": 400}
CRITIC: Final = {"anchor": False}
EVERY_STEP: Final = {"anchor": False, "critic_steps": 1}
SETTINGS: Final[Mapping[str, tuple[Mapping[str, Any], tuple[float, ...]]]] = {
    "anchor": (ANCHOR, (0.1, 1.0, 10.0)),
    "critic only": (CRITIC, (1.0,)),
    "critic only, critic_steps 1": (EVERY_STEP, (1.0,)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A made table.

    Args:
        codes: (rows, columns).
        cardinalities: codes of every column.
        target: a column, or None.
    """

    codes: Codes
    cardinalities: tuple[int, ...]
    target: int | None


def _tiny(rng: np.random.Generator) -> Made:
    codes = np.column_stack([rng.integers(0, size, 50) for size in (3, 4, 2)])
    return Made(codes=codes, cardinalities=(3, 4, 2), target=2)


def _constant(rng: np.random.Generator) -> Made:
    rare = (rng.random(5000) < 0.001).astype(np.int64)
    rest = [np.zeros(5000), rng.integers(0, 6, 5000), rng.integers(0, 2, 5000), np.full(5000, 3)]
    codes = np.column_stack([rare, *rest]).astype(np.int64)
    return Made(codes=codes, cardinalities=(2, 1, 6, 2, 8), target=3)


def _functions(rng: np.random.Generator) -> Made:
    key = rng.integers(0, 10, 20_000)
    codes = np.column_stack([key, *(rng.permutation(10)[key] for _ in range(3))])
    return Made(codes=codes, cardinalities=(10,) * 4, target=None)


def _binary(rng: np.random.Generator) -> Made:
    often = 0.05 + 0.2 * rng.random(5000)
    codes = (rng.random((5000, 12)) < often[:, None]).astype(np.int64)
    return Made(codes=codes, cardinalities=(2,) * 12, target=0)


def _mixed(rng: np.random.Generator) -> Made:
    label = rng.integers(0, 3, 5000)
    columns = (
        np.clip(rng.normal(8 + 4 * label, 3, 5000).astype(np.int64), 0, 31),
        np.clip(rng.exponential(5, 5000).astype(np.int64), 0, 31),
        rng.random(5000) < 0.3 + 0.2 * label,
        label,
        rng.integers(0, 10, 5000),
    )
    return Made(codes=np.column_stack(columns).astype(np.int64), cardinalities=(32, 32, 2, 3, 10), target=3)


def _widest(rng: np.random.Generator) -> Made:
    return Made(codes=rng.integers(0, 20, (2000, 204)), cardinalities=(20,) * 204, target=None)


TABLES: Final[Mapping[str, Callable[[np.random.Generator], Made]]] = {
    "50 records": _tiny,
    "constant columns": _constant,
    "columns that follow from one": _functions,
    "12 binary columns": _binary,
    "mixed columns": _mixed,
}


def _private(made: Made) -> PrivateTable:
    return PrivateTable(
        codes=made.codes.astype(np.int16),
        unit_of_record=np.arange(len(made.codes)),
        cardinalities=made.cardinalities,
        target_index=made.target,
    )


def _declared(made: Made) -> TableDomain:
    columns = [
        {"name": f"c{column}", "kind": "categorical", "categories": [str(code) for code in range(size)]}
        for column, size in enumerate(made.cardinalities)
    ]
    target = None if made.target is None else f"c{made.target}"
    head = {"schema": "understudy.domain/1", "target": target, "privacy_unit": None}
    return TableDomain.from_json(head | {"columns": columns})


def looked(
    private: PrivateTable | PrivateImages,
    domain: TableDomain | ImageDomain,
    options: Mapping[str, Any],
    epsilon: float,
) -> dict[str, Any]:
    """Train once and look."""
    plan = make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=dict(options)),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=_DELTA),
        declared_size=private.units,
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )
    generator = make_synthesizer("idpgan").fit(private, plan, KeyedStreams(bytes(KEY_BYTES)), NullHost())
    begun = time.process_time()
    found = check_generator(generator, domain)
    return found.to_json() | {"cpu_seconds": round(time.process_time() - begun, 2)}


def _bars(rng: np.random.Generator) -> PrivateImages:
    labels = rng.integers(0, 3, 2000)
    pixels = rng.integers(0, 60, (2000, 28, 28, 1))
    for index, label in enumerate(labels):
        pixels[index, :, 6 * label : 6 * label + rng.integers(2, 9)] += 150
    return PrivateImages(
        pixels=pixels.astype(np.uint8),
        labels=labels.astype(np.int16),
        unit_of_record=np.arange(2000),
        classes=3,
    )


def main() -> None:
    """Measure everything, and keep it."""
    torch.set_num_threads(1)
    for name, table in TABLES.items():
        made = table(np.random.default_rng(_SEED))
        private = _private(made)
        for setting, (options, epsilons) in SETTINGS.items():
            for epsilon in epsilons:
                found = looked(private, _declared(made), options, epsilon)
                _keep(name, setting, epsilon, found)
    wide = _widest(np.random.default_rng(_SEED))
    private = _private(wide)
    _keep(
        "4,080 codes", "anchor", 1.0, looked(private, _declared(wide), ANCHOR | {"pretraining_steps": 1}, 1.0)
    )
    pictures = _bars(np.random.default_rng(_SEED))
    declared = ImageDomain(height=28, width=28, channels=1, labels=("a", "b", "c"), privacy_unit=None)
    for epsilon in (0.3, 4.0):
        found = looked(pictures, declared, {"critic": False}, epsilon)
        _keep("28 x 28 images", "anchor", epsilon, found)


def _keep(records: str, setting: str, epsilon: float, found: Mapping[str, Any]) -> None:
    entry = {"records": records, "setting": setting, "epsilon": epsilon, **found}
    merge("degenerate", kind="looks", key=f"{records}, {setting}, epsilon {epsilon:g}", entry=entry)


if __name__ == "__main__":
    main()
