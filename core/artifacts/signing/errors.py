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
    default_detail = "The signature does not verify."
    default_remedy = "The document was changed, or it was signed by another key or for another purpose."


class SignedFormUnknown(InvalidInput):
    """The document has not the form of a signed one."""

    code = "signed-form-unknown"
    title = "Not a signed document"
    default_detail = "This is not a signed document of a known form."
    default_remedy = "Give the JSON file as the service wrote it."
