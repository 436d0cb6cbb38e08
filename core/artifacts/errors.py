"""Errors of releases.

UnderstudyError
  * InvalidInput
    x BundleInvalid        the ZIP is damaged, foreign or of an unknown version
    x TooManyForFormat     more images than the format can contain
    x InvalidCertificate   the certificate is damaged, or states less epsilon than its mechanism has
    x InvalidCondition     a fixed column does not exist, or cannot have this value
    x SpreadsheetSafeIsForCsv  spreadsheet_safe was requested for another format than CSV
  * Conflict
    x NothingToDraw        the release is a private model, which generates nothing
    x FormatNotForRelease  the format does not fit the kind of release
    x ConditionTooRare     hardly any synthetic row meets the condition
  * InternalError
    x ExecutionDiffers     a training's releases differ from its plan; nothing is published
"""

from core.errors import Conflict, InternalError, InvalidInput


class BundleInvalid(InvalidInput):
    """The ZIP is damaged, foreign or of an unknown version."""

    code = "bundle-invalid"
    title = "Not a valid generator bundle"

    def __init__(self, detail: str) -> None:
        super().__init__(
            detail, remedy="Download the bundle again, or use the version of understudy that made it."
        )


class NothingToDraw(Conflict):
    """The release is a private model: it predicts, and generates nothing."""

    code = "nothing-to-draw"
    title = "This release generates nothing"
    default_detail = "The release is a private model, which predicts a target and generates no records."
    default_remedy = "Download its bundle; predict.py in it answers your records."


class FormatNotForRelease(Conflict):
    """The format does not fit: rows are not written as images, nor images as rows."""

    code = "format-not-for-release"
    title = "This release has no such format"

    def __init__(self, *, possible: tuple[str, ...]) -> None:
        super().__init__(
            f"What this release generates is written as one of: {', '.join(possible)}.",
            remedy="Ask for one of these formats, or for none.",
            formats=list(possible),
        )


class TooManyForFormat(InvalidInput):
    """More images than a file of this format holds."""

    code = "too-many-for-format"
    title = "Too many images for this format"

    def __init__(self, *, most: int) -> None:
        super().__init__(
            f"A file of this format holds at most {most} images of this release.",
            remedy="Ask for fewer rows, or for the format npz, which holds any number.",
            most=most,
        )


class SpreadsheetSafeIsForCsv(InvalidInput):
    """Only CSV has a spreadsheet-safe form; the other formats mark text as such."""

    code = "spreadsheet-safe-is-for-csv"
    title = "Only CSV is made safe for spreadsheets"
    default_detail = "Only CSV is made safe for spreadsheets; the other formats hold text as text."
    default_remedy = "Ask for the format csv, or leave spreadsheet_safe out."


class InvalidCondition(InvalidInput):
    """A fixed column does not exist, or cannot have this value."""

    code = "invalid-condition"
    title = "This condition cannot be met"

    def __init__(self, detail: str) -> None:
        super().__init__(
            detail, remedy='Name modelled columns and values of their domain, such as {"sick": "yes"}.'
        )


class ConditionTooRare(Conflict):
    """Hardly any synthetic row meets the condition, so rows cannot be drawn by leaving out the others."""

    code = "condition-too-rare"
    title = "Too few synthetic rows meet the condition"

    def __init__(self, *, tried: int, fewest: int, is_compared: bool = False) -> None:
        wider = "Give a wider range in place of a value. " if is_compared else ""
        super().__init__(
            f"Fewer than {fewest} of {tried} synthetic rows meet the condition.",
            remedy=f"{wider}Fix fewer columns, or draw without a condition and choose among the rows yourself.",
            tried=tried,
            fewest=fewest,
        )


class InvalidCertificate(InvalidInput):
    """A certificate that is damaged, of an unknown schema, or that promises less epsilon than its mechanism has."""

    code = "invalid-certificate"
    title = "This certificate does not hold"


class ExecutionDiffers(InternalError):
    """A training's releases differ from its plan, so nothing can be certified."""

    code = "execution-differs"
    title = "The execution differs from the plan"
