"""Errors of the privacy core: a value that cannot carry a guarantee is refused when it is built."""

from core.errors import InvalidInput


class InvalidGuarantee(InvalidInput):
    """An (epsilon, delta) pair, or one number of it, that this service cannot promise or account for."""

    code = "invalid-guarantee"
    title = "This privacy guarantee cannot be given"


class InvalidMechanism(InvalidInput):
    """A mechanism whose parameters do not describe a private release."""

    code = "invalid-mechanism"
    title = "This mechanism is not well formed"


class UnknownMechanism(InvalidInput):
    """A mechanism of an unknown version or kind, which must not be accounted for."""

    code = "unknown-mechanism"
    title = "This mechanism is of an unknown version or kind"


class TargetOutOfReach(InvalidInput):
    """No noise within the public limits brings the requested plan under the requested guarantee."""

    code = "target-out-of-reach"
    title = "No amount of noise meets this guarantee with these options"
