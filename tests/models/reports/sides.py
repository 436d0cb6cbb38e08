"""Public sides and plans of utility reports, small enough that a test makes hundreds of tables."""

from uuid import UUID

import numpy as np

from core.dp.accountant import epsilons
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.calibration import gaussian_noise_multiplier
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Gaussian
from core.plan.utility_reports.plan import ReportPlan
from models.encoding import PrivateTable
from models.reports.public_side import PublicSide
from models.reports.records import Records

RELEASE = UUID("5a1c3b7e-52f0-4d0e-9f3c-0a54f1d6c2b8")
NAMES = ("first", "second", "label", "third")


def public_side_of(table: PrivateTable, *, rows: int = 600, seed: int = 3) -> PublicSide:
    """A release whose columns depend on each other otherwise than the table's."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack(
        [np.minimum(rng.geometric(0.4, rows) - 1, size - 1) for size in table.cardinalities]
    )
    if table.target_index is not None:
        codes[:, table.target_index] = codes[:, 0] % table.cardinalities[table.target_index]
    return PublicSide(
        drawn=Records(codes=codes.astype(np.int16)),
        cardinalities=table.cardinalities,
        measured=tuple(range(len(table.cardinalities))),
        target=table.target_index,
    )


def report_plan(
    *,
    columns: tuple[str, ...] = NAMES,
    target: str | None = "label",
    declared_size: int = 400,
    epsilon: float = 0.5,
    unit: str | None = None,
    synthetic_rows: int = 600,
    release_id: UUID = RELEASE,
    manifest_sha256: str = "0" * 64,
) -> ReportPlan:
    guarantee = PrivacyGuarantee(epsilon=epsilon, delta=1e-6)
    multiplier = gaussian_noise_multiplier(guarantee)
    return ReportPlan(
        guarantee=guarantee,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=unit),
        declared_size=declared_size,
        release_id=release_id,
        manifest_sha256=manifest_sha256,
        columns=columns,
        target=target,
        synthetic_rows=synthetic_rows,
        noise_multiplier=multiplier,
        epsilons=epsilons(Gaussian(noise_multiplier=multiplier), delta=1e-6),
    )
