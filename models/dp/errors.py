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
    default_detail = "A sampled batch exceeded the plan's public cap; the job's budget stays spent."
    default_remedy = "Check that the declared size of the dataset is not far below its real size."


class UnevenRounding(UnderstudyError):
    """This machine's matrix products round a record differently by its place in a microbatch.

    Then one record more or less could change what the others contribute, before clipping. Detected with public numbers
    when the critic is made.
    """

    code = "uneven-rounding"
    status = 500
    title = "The machine's matrix products are not even enough for private training"
    default_detail = (
        "The machine's matrix products round equal records differently; nothing was trained on it."
    )
    default_remedy = (
        "Run the worker on another kind of processor, or with torch built on another linear algebra library."
    )


class RecordsMixed(UnderstudyError):
    """The network's output for a record depends on other records of the batch, or the network keeps something of them.

    Then clipping bounds nothing. Detected with public records when the training begins; only a registered module can be the cause.
    """

    code = "records-mixed"
    status = 422
    title = "A network mixes the records of a batch"
    default_detail = (
        "What the network makes of a record depends on the other records of the batch, or its buffers may keep something of them; "
        "no step was made with it."
    )
    default_remedy = (
        "Register a module that reads each record by itself, for example with a group normalisation in place of a batch "
        "normalisation, and without buffers that change or belong to a layer with weights."
    )


class ModuleUnsuitable(UnderstudyError):
    """A registered module has no gradient of its own for every record and every parameter, or draws random numbers.

    Found on public records when the training begins, so no row has a part in it.
    """

    code = "module-unsuitable"
    status = 422
    title = "A registered module cannot be trained record by record"
    default_detail = "A parameter of the module has no gradient for each record; no step was made with it."
    default_remedy = (
        "Register a module whose parameters are all trained and used by their own layers alone, each once for a whole record, "
        "and without dropout."
    )


class StateRefused(UnderstudyError):
    """Another member of a federation handed in a state that is not one of this training, or the board answered something else.

    It depends on what others answer, never on own rows: the steps that have begun are charged, the rest is given back.

    Args:
        member: whose state it is, by its public name; omitted where unknown.
    """

    code = "federation-state-refused"
    status = 500
    title = "A state of another member was refused"
    default_detail = "A state that the board handed out as another member's is not one of this training."
    default_remedy = "Ask the members of the federation which software they run, and begin a new federation."


class CheckpointLost(UnderstudyError):
    """A training in a federation cannot be resumed, because the checkpoint of its last round is lost.

    Beginning an earlier round again would need the others' states of it again, and who hands them out could hand out other ones.
    """

    code = "federation-checkpoint-lost"
    status = 500
    title = "A training in a federation cannot be resumed"
    default_detail = "The checkpoint of the last round is lost, and a federation's round cannot be repeated."
    default_remedy = "Begin a new federation."
