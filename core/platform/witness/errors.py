"""Errors of witnesses.

UnderstudyError
  * InternalError
    x WitnessInvalid        500  a noted head is not signed by this service, or is not a head at all
    x PublishedOtherwise    500  a job has published something else than what it would publish now
"""

from core.errors import InternalError


class WitnessInvalid(InternalError):
    """A head noted outside the database is not signed by a key of this service: somebody changed it, or the keys."""

    code = "witness-invalid"
    title = "A noted head cannot be trusted"


class PublishedOtherwise(InternalError):
    """A job has published something else before, and the database was restored since: two results of one noise differ by rows alone."""

    code = "published-otherwise"
    title = "The job has published something else"
