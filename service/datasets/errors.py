"""Errors of datasets.

NotFound
  * DatasetNotFound       404  no such dataset, or someone else's
  * IntakeReportMissing   404  no rows uploaded yet
Conflict
  * RowsAlreadyStored     409  rows are immutable; new rows need a new dataset of the same population
  * NoRowsWaiting            409  no rows await the owner's decision
  * UnitDiffers           409  a new version must have the same privacy unit as its parent
"""

from core.errors import Conflict, NotFound


class DatasetNotFound(NotFound):
    """No such dataset, or someone else's."""

    code = "dataset-not-found"
    default_detail = "No such dataset."
    default_remedy = "List the datasets with GET /v1/datasets."


class IntakeReportMissing(NotFound):
    """No rows were uploaded yet, so there is no report."""

    code = "intake-report-missing"
    default_detail = "No rows were uploaded to this dataset yet."
    default_remedy = "Send them to POST /v1/datasets/{id}/rows."


class RowsAlreadyStored(Conflict):
    """The dataset already has rows, which cannot be replaced."""

    code = "rows-already-stored"
    default_detail = "This dataset already has rows, which cannot be replaced."
    default_remedy = "Declare a new dataset as a version of this one (in the API: parent_dataset_id); it shares this dataset's budget."


class NoRowsWaiting(Conflict):
    """No rows of this dataset await their owner's decision."""

    code = "no-rows-waiting"
    default_detail = "No rows of this dataset await your decision."
    default_remedy = (
        "Send rows to POST /v1/datasets/{id}/rows; the intake report says whether they are waiting."
    )


class UnitDiffers(Conflict):
    """The new version has another privacy unit than its parent."""

    code = "unit-differs"
    default_detail = "The privacy unit or the adjacency differs from the parent dataset's."
    default_remedy = "Declare the same unit and adjacency: versions share one budget."
