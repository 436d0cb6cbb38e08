"""What goes wrong with releases.

NotFound
  * ReleaseNotFound       404  no such release, or it belongs to somebody else's dataset
"""

from core.errors import NotFound


class ReleaseNotFound(NotFound):
    """There is no such release, or it belongs to somebody else's dataset."""

    code = "release-not-found"

    def __init__(self) -> None:
        super().__init__("There is no such release.", remedy="List the releases with GET /v1/releases.")
