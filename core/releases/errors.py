"""What can be wrong with a release.

UnderstudyError
  * InvalidInput
    x BundleInvalid        the ZIP is damaged, foreign or of an unknown version
    x InvalidCertificate   the certificate is damaged, or promises less epsilon than its mechanism has
  * InternalError
    x ExecutionDiffers     a training released something else than its plan; nothing is published
"""

from core.errors import InternalError, InvalidInput


class BundleInvalid(InvalidInput):
    """The ZIP is damaged, foreign or of an unknown version."""

    code = "bundle-invalid"
    title = "Not a valid generator bundle"

    def __init__(self, detail: str) -> None:
        super().__init__(
            detail, remedy="Download the bundle again, or use the version of understudy that made it."
        )


class InvalidCertificate(InvalidInput):
    """A certificate that is damaged, of an unknown schema, or that promises less epsilon than its mechanism has."""

    code = "invalid-certificate"
    title = "This certificate does not hold"


class ExecutionDiffers(InternalError):
    """A training released something else than its plan, so there is nothing that could be certified."""

    code = "execution-differs"
    title = "What ran is not what was planned"
