"""Turn clean blocks of records into training data, within the limits of the service."""

import secrets
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from core.artifacts.asking.crowded_bins import CROWDED, REMEDY, crowded_bins
from core.data.errors import TooManyUnits
from core.data.intake.clean_rows import CleanBlock
from core.data.intake.intake_report import MAX_REFUSED, too_many_refused
from core.data.intake.unit_limit import UnitLimit
from core.plan.domain.declared import Domain
from core.plan.domain.images import ImageDomain
from models.coding import coded_images, coded_table
from models.counting.units import UNIT_KEY_BYTES
from models.encoding import PrivateImages, PrivateTable
from understudy.errors import InputUnusable
from understudy.local.warned import warn


class RowsRefused(UserWarning):
    """The declared rules refused some records. Counts and reasons, never values; for the owner alone."""


class ValuesClamped(UserWarning):
    """Many values of a column lie outside its declared bounds and are clamped to the bound. Shares, never values; for the owner alone."""


class BoundsTooWide(UserWarning):
    """Nearly all values of a column lie in one or two bins of its declared bounds. Columns, never values; for the owner alone."""


@dataclass(frozen=True, kw_only=True)
class Intake:
    """Accepted records, and a report on the refused ones.

    Attributes:
        batches: the clean records; private.
        rows_accepted: number of accepted records. For the owner alone.
        rows_refused: number of refused records. For the owner alone.
        refusals: number of refusals, by column and kind. For the owner alone.
        clamped: number of clamped values of the accepted records, by column. For the owner alone.
    """

    batches: Sequence[pa.RecordBatch] = field(repr=False)
    domain: Domain = field(repr=False)
    rows_accepted: int = field(repr=False)
    rows_refused: int = field(repr=False)
    refusals: Mapping[str, int] = field(repr=False)
    clamped: Mapping[str, int] = field(repr=False)

    @cached_property
    def records(self) -> PrivateTable | PrivateImages:
        """The records in the form of a synthesizer, by the declared domain; private."""
        if isinstance(self.domain, ImageDomain):
            return coded_images(self.batches, self.domain)
        return coded_table(
            self.batches,
            self.domain,
            bound=self.domain.records_per_unit,
            key=secrets.token_bytes(UNIT_KEY_BYTES),
        )

    def refused(self) -> str:
        """The number of refused records, and the reasons, in words."""
        reasons = ", ".join(f"{reason} {count}" for reason, count in self.refusals.items())
        total = self.rows_accepted + self.rows_refused
        return f"the declared domain refused {self.rows_refused} of {total} records ({reasons})"

    def warn(self, *, checked: Collection[int] = ()) -> None:
        """Warn of refused records, and of columns whose declared bounds are too narrow or far too wide.

        Args:
            checked: the columns whose bounds the training checks, which are no matter if they are too wide.

        Warns:
            RowsRefused: records were refused.
            ValuesClamped: more than `MAX_REFUSED` of a column's values lie outside its bounds.
            BoundsTooWide: at least `CROWDED` of a column's values lie in one or two of its bins.
        """
        if self.rows_refused:
            warn(self.refused(), RowsRefused)
        shares = {column: count / self.rows_accepted for column, count in self.clamped.items()}
        far = [f"{column} {share:.3g}" for column, share in shares.items() if share > MAX_REFUSED]
        if far:
            message = (
                f"values outside the declared bounds are clamped to the bound; their share of the records is {', '.join(far)}. Compare units and "
                "bounds: a training on them is charged all the same"
            )
            warn(message, ValuesClamped)
        if crowded := self._crowded(checked):
            message = (
                f"at least {CROWDED:.0%} of the values lie in one or two bins of far wider bounds, over which synthetic values are spread evenly: "
                f"{', '.join(crowded)}. {REMEDY} A training on them is charged all the same"
            )
            warn(message, BoundsTooWide)

    def _crowded(self, checked: Collection[int]) -> list[str]:
        """The columns of a declared table whose values lie in one or two of their bins."""
        if isinstance(self.domain, ImageDomain) or self.domain.learnt:
            return []
        assert isinstance(self.records, PrivateTable), "the records of a table's domain are a table"
        return [
            column.name
            for place, column in enumerate(self.domain.coded_columns)
            if place not in checked
            and crowded_bins(
                column, np.bincount(self.records.codes[:, place], minlength=column.cardinality).astype(float)
            )
        ]

    def require_few_refused(self, max_refused: float) -> None:
        """Refuse to train if a larger share of the records was refused than `max_refused`.

        Raises:
            InputUnusable: the share is larger.
        """
        if too_many_refused(accepted=self.rows_accepted, refused=self.rows_refused, max_refused=max_refused):
            message = (
                f"{self.refused()}, more than max_refused={max_refused:g}; nothing was charged. Correct the domain "
                'or the records (csv.null_values lists the texts that mean "missing"), or give a larger max_refused to '
                "train on the other records"
            )
            raise InputUnusable(message)


def taken_in(blocks: Iterable[CleanBlock], domain: Domain, *, declared_size: int | None) -> Intake:
    """Code the accepted records: of at most twice as many units as declared, or without a training of any number.

    Raises:
        InputUnusable: no record is acceptable.
        TooManyUnits: there are far more units than declared.
    """
    batches: list[pa.RecordBatch] = []
    refused, refusals, changes = 0, Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for block in blocks:
        batches.append(block.batch)
        refused += block.rows_refused
        refusals += block.refusals
        changes += block.changes
    if not any(batch.num_rows for batch in batches):
        reasons = ", ".join(sorted({f"{column}: {kind}" for column, kind in refusals}) or ["there are none"])
        message = f"no record is acceptable ({reasons}); compare them with the declared domain"
        raise InputUnusable(message)
    if declared_size is not None:
        _require_as_declared(batches, domain, declared_size)
    return Intake(
        batches=batches,
        domain=domain,
        rows_accepted=sum(batch.num_rows for batch in batches),
        rows_refused=refused,
        refusals={f"{column}: {kind}": count for (column, kind), count in sorted(refusals.items())},
        clamped={column: count for (column, kind), count in sorted(changes.items()) if kind == "clamped"},
    )


def _require_as_declared(batches: Iterable[pa.RecordBatch], domain: Domain, declared_size: int) -> None:
    """Refuse records that violate the plan's assumptions; see `core.data.intake.unit_limit`."""
    limit = UnitLimit(declared_size=declared_size, unit_column=domain.privacy_unit)
    try:
        for batch in batches:
            limit.see(batch)
        limit.finish()
    except TooManyUnits:
        raise TooManyUnits(
            "There are more than twice as many privacy units as declared.",
            remedy="Give a round declared_size near the truth. The dataset keeps its name: another name would have another budget.",
        ) from None
