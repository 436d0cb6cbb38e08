"""What can be wrong with a release.

UnderstudyError
  * InvalidInput
    x BundleInvalid        the ZIP is damaged, foreign or of an unknown version
    x TooManyForFormat     a format that holds only so many images
    x InvalidCertificate   the certificate is damaged, or promises less epsilon than its mechanism has
  * Conflict
    x FormatNotForRelease  rows are not written as images, nor images as rows
  * InternalError
    x ExecutionDiffers     a training released something else than its plan; nothing is published
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


class FormatNotForRelease(Conflict):
    """Rows are not written as images, nor images as rows."""

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


class InvalidCertificate(InvalidInput):
    """A certificate that is damaged, of an unknown schema, or that promises less epsilon than its mechanism has."""

    code = "invalid-certificate"
    title = "This certificate does not hold"


class ExecutionDiffers(InternalError):
    """A training released something else than its plan, so there is nothing that could be certified."""

    code = "execution-differs"
    title = "What ran is not what was planned"
