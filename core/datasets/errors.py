"""Errors of deleted datasets.

UnderstudyError
  * Conflict
    x DatasetDeleted        409  the dataset's rows were destroyed; only its public facts and its ledger are left
"""

from core.errors import Conflict


class DatasetDeleted(Conflict):
    """The rows of the dataset were destroyed on request; its public facts and its ledger remain."""

    code = "dataset-deleted"
    title = "The dataset was deleted"

    def __init__(self) -> None:
        super().__init__(
            "The rows of this dataset were destroyed and cannot be restored.",
            remedy="Declare a new dataset; with parent_dataset_id it shares this one's budget, including"
            " what is already spent.",
        )
