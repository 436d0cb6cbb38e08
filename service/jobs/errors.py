"""What goes wrong with jobs here; the errors of their life cycle are in core.jobs.errors.

Forbidden
  * JobOfAnother          403  only who ordered a job, or an admin, may cancel it
"""

from core.errors import Forbidden


class JobOfAnother(Forbidden):
    """The job was ordered by another analyst."""

    code = "job-of-another"

    def __init__(self) -> None:
        super().__init__(
            "This job was ordered by somebody else.", remedy="Ask them, or an admin, to cancel it."
        )
