"""Errors of verifications.

UnderstudyError
  * InvalidInput
    x HalfAWitness          422  a sequence without a hash, or a hash without a sequence
"""

from core.errors import InvalidInput


class HalfAWitness(InvalidInput):
    """A recorded head consists of a sequence and a hash; one of them is missing."""

    code = "half-a-witness"
    title = "Incomplete recorded head"

    def __init__(self) -> None:
        super().__init__(
            "A recorded head consists of a sequence and a hash; one of them is missing.",
            remedy="Send both or neither.",
        )
