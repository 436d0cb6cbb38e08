"""What goes wrong with jobs here; the errors of their life cycle are in core.jobs.errors.

Forbidden
  * JobOfAnother          403  only who ordered a job, or an admin, may cancel it
NotFound
  * FailureNoteMissing    404  the job has not failed, or its attempts left no note
"""

from core.errors import Forbidden, NotFound


class JobOfAnother(Forbidden):
    """The job was ordered by another analyst."""

    code = "job-of-another"

    def __init__(self) -> None:
        super().__init__(
            "This job was ordered by somebody else.", remedy="Ask them, or an admin, to cancel it."
        )


class FailureNoteMissing(NotFound):
    """The job has not failed among the rows, or nothing of its account is left."""

    code = "failure-note-missing"

    def __init__(self) -> None:
        super().__init__(
            "No attempt of this job has left a note.",
            remedy="Only a training that failed among the rows leaves one, until the dataset is deleted.",
        )
