"""Errors of releases.

NotFound
  * ReleaseNotFound       404  no such release, or of someone else's dataset
"""

from core.errors import NotFound


class ReleaseNotFound(NotFound):
    """No such release, or of someone else's dataset."""

    code = "release-not-found"
    default_detail = "No such release."
    default_remedy = "List the releases with GET /v1/releases."
