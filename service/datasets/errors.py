"""What goes wrong with datasets.

NotFound
  * DatasetNotFound       404  no such dataset, or it belongs to somebody else
  * IntakeReportMissing   404  no rows were uploaded yet
Conflict
  * RowsAlreadyStored     409  rows are immutable; new rows are a new dataset of the same population
  * NoRowsWaiting            409  no rows wait for the owner's decision
  * UnitDiffers           409  a new version must protect the same unit as its parent
"""

from core.errors import Conflict, NotFound


class DatasetNotFound(NotFound):
    """There is no such dataset, or it belongs to somebody else."""

    code = "dataset-not-found"

    def __init__(self) -> None:
        super().__init__("There is no such dataset.", remedy="List the datasets with GET /v1/datasets.")


class IntakeReportMissing(NotFound):
    """No rows were uploaded yet, so there is no report on them."""

    code = "intake-report-missing"

    def __init__(self) -> None:
        super().__init__(
            "No rows of this dataset were uploaded yet.",
            remedy="Send them to POST /v1/datasets/{id}/rows.",
        )


class RowsAlreadyStored(Conflict):
    """The dataset has its rows; they cannot be replaced."""

    code = "rows-already-stored"

    def __init__(self) -> None:
        super().__init__(
            "The rows of this dataset are stored and cannot be replaced.",
            remedy="Declare a new dataset with parent_dataset_id; it shares this one's budget.",
        )


class NoRowsWaiting(Conflict):
    """No rows of this dataset wait for their owner's decision."""

    code = "no-rows-waiting"

    def __init__(self) -> None:
        super().__init__(
            "No rows of this dataset wait for your decision.",
            remedy="Send rows to POST /v1/datasets/{id}/rows; the intake report says whether they wait.",
        )


class UnitDiffers(Conflict):
    """The new version protects another privacy unit than its parent."""

    code = "unit-differs"

    def __init__(self) -> None:
        super().__init__(
            "The privacy unit or the adjacency differs from the parent dataset's.",
            remedy="Versions share one budget, so they must protect the same unit.",
        )
