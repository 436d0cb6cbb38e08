"""Errors of witnesses.

UnderstudyError
  * InternalError
    x WitnessInvalid        500  a noted head is not signed by this service, or is not a head at all
"""

from core.errors import InternalError


class WitnessInvalid(InternalError):
    """A head noted outside the database is not signed by a key of this service: somebody changed it, or the keys."""

    code = "witness-invalid"
    title = "A noted head cannot be trusted"
