"""Small private records with a label that is easy to learn, and plans of classifiers of them."""

from typing import Any
from uuid import UUID

import numpy as np
import torch
from torch import Tensor

from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from core.plan.private_models.plan import ModelPlan
from core.plan.private_models.planning import ModelSpec, make_model_plan
from core.plan.several_owners.owners import DataOwner
from models.classifier.features import Batch, StoredFeatures
from models.encoding import PrivateImages, PrivateTable

IMAGES = ImageDomain(height=12, width=12, channels=1, labels=("a", "b", "c"), privacy_unit=None)
TABLE = TableDomain.from_json({
    "schema": "understudy.domain/1",
    "target": "sick",
    "privacy_unit": None,
    "columns": [
        {"name": "ward", "kind": "categorical", "categories": ["A", "B", "C"], "null": "category", "unknown": "null"},
        {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 99},
        {"name": "sick", "kind": "categorical", "categories": ["yes", "no"]},
    ],
})  # fmt: skip


def images(count: int = 300, *, seed: int = 0) -> PrivateImages:
    """Images with a bright stripe, whose place is the label."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, count).astype(np.int16)
    pixels = np.clip(rng.normal(60, 30, (count, 12, 12, 1)), 0, 135).astype(np.uint8)
    for label in range(3):
        pixels[labels == label, 4 * label : 4 * label + 4] += 120
    return PrivateImages(pixels=pixels, labels=labels, unit_of_record=np.arange(count), classes=3)


def table(count: int = 300, *, seed: int = 0) -> PrivateTable:
    """Rows whose target mostly follows the ward."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, high, count) for high in TABLE.cardinalities], axis=1).astype(np.int16)
    codes[:, 2] = np.where(rng.random(count) < 0.9, codes[:, 0] > 0, codes[:, 2])
    return PrivateTable(
        codes=codes, unit_of_record=np.arange(count), cardinalities=TABLE.cardinalities, target_index=2
    )


def hints(codes: int = 8, columns: int = 12) -> TableDomain:
    """A domain of two classes and columns that each say a little of them."""
    listed = [str(code) for code in range(codes)]
    described = [
        {"name": f"c{place}", "kind": "categorical", "categories": listed} for place in range(columns)
    ]
    target = {"name": "sick", "kind": "categorical", "categories": ["no", "yes"]}
    head = {"schema": "understudy.domain/1", "target": "sick", "privacy_unit": None}
    return TableDomain.from_json(head | {"columns": [*described, target]})


def hinting_rows(domain: TableDomain, count: int, *, seed: int = 0) -> PrivateTable:
    """Rows of `hints`, a third of them of the second class."""
    rng, columns = np.random.default_rng(seed), len(domain.cardinalities) - 1
    sick = (rng.random(count) < 1 / 3).astype(np.int64)
    codes = np.clip(np.rint(rng.normal(2.5 + 2.0 * sick[:, None], 1.5, (count, columns))), 0, 7)
    return PrivateTable(
        codes=np.column_stack([codes, sick]).astype(np.int16),
        unit_of_record=np.arange(count),
        cardinalities=domain.cardinalities,
        target_index=columns,
    )


def plan_of(
    domain: TableDomain | ImageDomain = IMAGES,
    *,
    size: int = 300,
    epsilon: float = 8.0,
    owners: tuple[DataOwner, ...] | None = None,
    **options: Any,
) -> ModelPlan:
    """A plan of a few steps."""
    return make_model_plan(
        model=ModelSpec(options={"steps": 6} | options),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=1e-4),
        declared_size=size,
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
        owners=owners,
    )


def owners_of_sizes(*sizes: int) -> tuple[DataOwner, ...]:
    """Owners with declared sizes, in order."""
    return tuple(
        DataOwner(dataset_id=str(UUID(int=place)), population_id=str(UUID(int=place)), declared_size=size)
        for place, size in enumerate(sizes, start=1)
    )


def batch_of(rows: Tensor, labels: Tensor) -> Batch:
    """All of some rows."""
    return Batch(StoredFeatures(rows), labels, np.arange(len(rows)))


def bits(network: torch.nn.Module) -> bytes:
    """All weights and buffers of a network."""
    return b"".join(value.numpy().tobytes() for value in network.state_dict().values())


def without_last(records: PrivateImages | PrivateTable) -> PrivateImages | PrivateTable:
    """The neighbour that lacks the last unit."""
    kept = slice(None, -1)
    if isinstance(records, PrivateImages):
        return PrivateImages(
            pixels=records.pixels[kept],
            labels=records.labels[kept],
            unit_of_record=records.unit_of_record[kept],
            classes=records.classes,
        )
    return PrivateTable(
        codes=records.codes[kept],
        unit_of_record=records.unit_of_record[kept],
        cardinalities=records.cardinalities,
        target_index=records.target_index,
    )
