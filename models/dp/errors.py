"""Errors of a private step. Their messages are constants and depend on no private row."""

from core.errors import UnderstudyError


class BatchOverCap(UnderstudyError):
    """A Poisson batch came out larger than the plan's public cap.

    If the declared size is right, the probability is below 1e-12 a step. The event depends on the data, so the job fails,
    its reservation stays spent in full, and the message does not say how large the batch was.
    """

    code = "batch-over-cap"
    status = 500
    title = "A sampled batch exceeded the plan's public cap"

    def __init__(self) -> None:
        super().__init__(
            "A sampled batch exceeded the plan's public cap; the job's budget stays spent.",
            remedy="Check that the declared size of the dataset is not far below its real size.",
        )


class UnevenRounding(UnderstudyError):
    """This machine's matrix products round a record differently by its place in a microbatch.

    Then one record more or less could change what the others contribute, before clipping. Detected with public numbers
    when the critic is made.
    """

    code = "uneven-rounding"
    status = 500
    title = "The machine's matrix products are not even enough for private training"

    def __init__(self) -> None:
        super().__init__(
            "The machine's matrix products round equal records differently; nothing was trained on it.",
            remedy="Run the worker on another kind of processor, or with torch built on another linear algebra library.",
        )
