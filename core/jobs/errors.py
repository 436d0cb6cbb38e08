"""Errors of orders and claims."""

from core.errors import Conflict, InternalError, InvalidInput, NotFound


class JobNotFound(NotFound):
    """No job has this id."""

    code = "job-not-found"
    title = "No such job"


class DatasetNotReady(Conflict):
    """The dataset has no rows yet."""

    code = "dataset-not-ready"
    title = "The dataset has no rows yet"


class PlanDoesNotFit(InvalidInput):
    """The plan was made for another declared size, adjacency or privacy unit than the dataset's."""

    code = "plan-does-not-fit"
    title = "The plan was not made for this dataset"


class JobEnded(Conflict):
    """The job has ended; nothing about it changes any more."""

    code = "job-ended"
    title = "The job has already ended"


class LeaseLost(Conflict):
    """The claim is not the present one: its worker can neither write progress nor publish."""

    code = "lease-lost"
    title = "Another worker holds this job, or it has ended"
    default_detail = "This worker's claim on the job is no longer valid."


class NotCancelled(Conflict):
    """A worker tried to stop a job that nobody asked to cancel."""

    code = "not-cancelled"
    title = "Nobody asked to cancel this job"
    default_detail = "Nobody asked to cancel this job."


class IllegalMark(InternalError):
    """A progress mark names an unknown stage, or steps that the plan does not have."""

    code = "illegal-progress-mark"
    title = "A progress mark makes no sense"


class IllegalTransition(InternalError):
    """A job's state does not allow the transition."""

    code = "illegal-job-transition"
    title = "A job cannot go there from here"


class DatasetDeleted(Conflict):
    """The rows of the dataset were destroyed on request; its public facts and its ledger remain."""

    code = "dataset-deleted"
    title = "The dataset was deleted"
    default_detail = "The rows of this dataset were destroyed and cannot be restored."
    default_remedy = (
        "Declare a new dataset; as a version of this one (in the API: parent_dataset_id) it shares its budget, including"
        " what is already spent."
    )
