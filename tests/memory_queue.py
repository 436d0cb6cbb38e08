"""A queue without a broker."""

from uuid import UUID


class MemoryQueue:
    """A queue without a broker that keeps what was sent."""

    def __init__(self) -> None:
        self.sent: list[UUID] = []
        self.sent_to: list[tuple[UUID, str | None]] = []
        self.sent_measurings: list[UUID] = []
        self.sent_reports: list[UUID] = []

    def enqueue_training(self, job_id: UUID, *, device: str | None = None) -> None:
        """Remember the message."""
        self.sent.append(job_id)
        self.sent_to.append((job_id, device))

    def enqueue_measuring(self, job_id: UUID) -> None:
        """Remember the message."""
        self.sent.append(job_id)
        self.sent_measurings.append(job_id)

    def enqueue_report(self, report_id: UUID) -> None:
        """Remember the message."""
        self.sent_reports.append(report_id)
