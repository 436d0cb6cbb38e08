"""The reason why an upload failed, stored in its row until it is requested."""

from collections.abc import Mapping
from typing import Any, Final, NoReturn

from core.data import errors as storage_errors
from core.data.uploads.errors import ChecksumDiffers
from core.errors import InternalError, UnderstudyError
from core.jobs.errors import DatasetDeleted
from core.plan.domain.errors import DomainMismatch
from core.platform.quotas.errors import QuotaExceeded
from service.datasets.errors import DatasetNotFound, RowsAlreadyStored

INTAKE_ERRORS: Final[tuple[type[UnderstudyError], ...]] = (
    storage_errors.EmptyUpload,
    storage_errors.WrongHeader,
    storage_errors.NotUtf8,
    storage_errors.WrongEncoding,
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
    """The stored form of an error: no more than the owner's error response."""
    return {"code": error.code, "detail": error.detail, "remedy": error.remedy, "facts": error.facts}


def raise_failure(failure: Mapping[str, Any]) -> NoReturn:
    """Raise a stored failure as its original error.

    Raises:
        UnderstudyError: The original error, or an internal error if its code is unknown.
    """
    kind = _BY_CODE.get(str(failure.get("code")))
    if kind is None:
        raise InternalError
    # Code and status come from the class; texts and facts are the stored ones.
    error = kind.__new__(kind)
    UnderstudyError.__init__(error, failure["detail"], remedy=failure["remedy"], **failure["facts"])
    raise error
