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
    default_detail = "A recorded head consists of a sequence and a hash; one of them is missing."
    default_remedy = "Send both or neither."
