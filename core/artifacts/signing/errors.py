"""Errors of signatures.

UnderstudyError
  * InvalidInput
    x SignatureInvalid      422  the document, the signature, the context or the key is another one
    x SignedFormUnknown     422  not a signed document of a form this software knows
"""

from core.errors import InvalidInput


class SignatureInvalid(InvalidInput):
    """The signature does not belong to this document, context and key."""

    code = "signature-invalid"
    title = "The signature does not verify"

    def __init__(self) -> None:
        super().__init__(
            "The signature does not verify.",
            remedy="The document was changed, or it was signed by another key or for another purpose.",
        )


class SignedFormUnknown(InvalidInput):
    """The document has not the form of a signed one."""

    code = "signed-form-unknown"
    title = "Not a signed document"

    def __init__(self) -> None:
        super().__init__(
            "This is not a signed document of a known form.",
            remedy="Give the JSON file as the service wrote it.",
        )
