"""Errors about a declared domain.

InvalidInput
  x DomainInvalid       422  the domain document breaks a rule; ``pointer`` says where
  x DomainUnconfirmed   422  a draft still marks values that were taken from the data
  x DomainMismatch      422  a batch of values does not have the columns of the domain

A domain document is public by declaration, so these messages may name its columns and keys.
"""

from core.errors import InvalidInput


class DomainInvalid(InvalidInput):
    """The domain document breaks a rule.

    Args:
        pointer: JSON pointer (RFC 6901) of the offending place in the document.
        problem: Stable kebab-case word for the broken rule, for example ``bounds-reversed``.
    """

    code = "domain-invalid"
    title = "The domain document is not valid"
    default_remedy = "Correct this place; docs/domain.md explains each key, docs/images.md those of images."

    def __init__(self, detail: str, *, pointer: str, problem: str, remedy: str = "") -> None:
        super().__init__(detail, remedy=remedy, pointer=pointer, problem=problem)
        self.pointer = pointer
        self.problem = problem


class DomainUnconfirmed(InvalidInput):
    """A draft still has ``_from_data`` marks: the owner has not confirmed that these values may be public."""

    code = "domain-unconfirmed"
    title = "The domain is an unconfirmed draft"

    def __init__(self, pointers: tuple[str, ...]) -> None:
        super().__init__(
            f"{len(pointers)} place(s) of this domain were taken from the data and are still marked.",
            remedy="Check each marked value, edit what would reveal something about a person, then delete the "
            "'_from_data' keys.",
            pointers=list(pointers),
        )
        self.pointers = pointers


class DomainMismatch(InvalidInput):
    """A batch does not have the columns or types that the domain declares."""

    code = "domain-mismatch"
    title = "The values do not have the shape of the domain"
