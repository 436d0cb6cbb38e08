"""Why an upload was not taken in, kept in its row until somebody asks."""

from collections.abc import Mapping
from typing import Any, Final, NoReturn

from core.datasets.errors import DatasetDeleted
from core.domain.errors import DomainMismatch
from core.errors import InternalError, UnderstudyError
from core.quotas.errors import QuotaExceeded
from core.storage import errors as storage_errors
from core.uploads.errors import ChecksumDiffers
from service.datasets.errors import DatasetNotFound, RowsAlreadyStored

INTAKE_ERRORS: Final[tuple[type[UnderstudyError], ...]] = (
    storage_errors.EmptyUpload,
    storage_errors.WrongHeader,
    storage_errors.NotUtf8,
    storage_errors.NulByte,
    storage_errors.StrayQuote,
    storage_errors.BareCarriageReturn,
    storage_errors.RecordTooLong,
    storage_errors.DamagedUpload,
    storage_errors.NoAcceptableRows,
    storage_errors.TooManyUnits,
    storage_errors.WrongArchive,
    storage_errors.TooManyImages,
    storage_errors.DecoderUnavailable,
    DomainMismatch,
    storage_errors.UploadTooLarge,
    storage_errors.DecompressionBomb,
    storage_errors.UnsupportedUpload,
    storage_errors.ContentDisagrees,
)
_OTHERS: Final[tuple[type[UnderstudyError], ...]] = (
    QuotaExceeded,
    ChecksumDiffers,
    RowsAlreadyStored,
    DatasetNotFound,
    DatasetDeleted,
)
_BY_CODE: Final[Mapping[str, type[UnderstudyError]]] = {
    error.code: error for error in INTAKE_ERRORS + _OTHERS
}


def failure_of(error: UnderstudyError) -> dict[str, Any]:
    """What is kept of an error: no more than its owner would be told."""
    return {"code": error.code, "detail": error.detail, "remedy": error.remedy, "facts": error.facts}


def raise_failure(failure: Mapping[str, Any]) -> NoReturn:
    """Tell a kept failure again, as the error that it was.

    Raises:
        UnderstudyError: That error; an internal one where it was none of the known.
    """
    kind = _BY_CODE.get(str(failure.get("code")))
    if kind is None:
        raise InternalError
    # The class gives the code and the status; the words and facts are the kept ones.
    error = kind.__new__(kind)
    UnderstudyError.__init__(error, failure["detail"], remedy=failure["remedy"], **failure["facts"])
    raise error
