"""Errors of job requests; the errors of the job life cycle are in core.jobs.errors.

Forbidden
  * JobOfAnother          403  only the analyst who ordered a job, or an admin, may cancel it
NotFound
  * FailureNoteMissing    404  the job has not failed, or no attempt left a note
"""

from core.errors import Forbidden, NotFound


class JobOfAnother(Forbidden):
    """Another analyst ordered the job."""

    code = "job-of-another"
    default_detail = "This job was ordered by someone else."
    default_remedy = "Ask that person or an admin to cancel it."


class FailureNoteMissing(NotFound):
    """The job did not fail while processing rows, or its note no longer exists."""

    code = "failure-note-missing"
    default_detail = "No attempt of this job left a failure note."
    default_remedy = (
        "Only a training that fails while processing rows leaves a note. Deleting the dataset removes it."
    )
