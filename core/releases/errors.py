"""What can be wrong with a release.

InvalidInput
  * BundleInvalid        the ZIP is damaged, foreign or of an unknown version
  * InvalidCertificate   the certificate is damaged, or promises less epsilon than its mechanism has
"""

from core.errors import InvalidInput


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
