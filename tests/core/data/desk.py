"""Takes uploads in, in tests."""

import io
from pathlib import Path

import pyarrow as pa
import pytest

from core.data.intake.intake import CSV, store_rows
from core.data.intake.intake_report import IntakeReport
from core.data.intake.unpacking import IntakeLimits
from core.data.objects import ObjectStore, open_store
from core.data.private_rows import open_private_rows
from core.errors import UnderstudyError
from core.plan.domain.declared import Domain
from core.plan.domain.table import TableDomain
from tests.core.plan.domain.examples import table

KEY = bytes(range(32))
CANARY = "canary7391"

AGE = {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 99}
WORK = {"name": "work", "kind": "categorical", "categories": ["P", "Q"]}
NOTE = {"name": "note", "kind": "ignored"}


def people(**csv: object) -> TableDomain:
    return table(AGE, WORK, NOTE, csv=csv)


class Desk:
    """Takes uploads in and reads back what was stored."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scratch = folder / "scratch"
        self.store: ObjectStore = open_store("memory://")

    def take(
        self,
        data: bytes | list[bytes],
        domain: Domain,
        kind: str = CSV,
        limits: IntakeLimits | None = None,
    ) -> IntakeReport:
        stream = io.BytesIO(data) if isinstance(data, bytes) else data
        try:
            return store_rows(
                stream, content_type=kind, domain=domain, store=self.store, key="rows", data_key=KEY,
                scratch_folder=self.scratch, limits=limits,
            )  # fmt: skip
        finally:
            assert list(self.scratch.iterdir()) == []

    def rows(self, domain: Domain) -> list[dict[str, object]]:
        found = pa.Table.from_batches(open_private_rows(self.store, "rows", KEY, domain))
        return found.to_pylist()  # type: ignore[no-any-return]

    def refuse(self, data: bytes, domain: Domain, kind: str = CSV, **more: object) -> UnderstudyError:
        with pytest.raises(UnderstudyError) as caught:
            self.take(data, domain, kind, **more)  # type: ignore[arg-type]
        assert not self.store.exists("rows")
        assert (
            CANARY not in f"{caught.value.detail} {caught.value.remedy} {caught.value.facts} {caught.value!r}"
        )
        return caught.value
