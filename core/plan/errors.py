"""Errors of specs, options and plans."""

from core.errors import InvalidInput


class InvalidSpec(InvalidInput):
    """A synthesizer, option or declared size from which no plan can be made."""

    code = "invalid-spec"
    title = "These options do not make a plan"


class BoundNeedsAnchor(InvalidSpec):
    """The domain bounds the records of a unit, and the order does more than count them."""

    code = "bound-needs-anchor"
    title = "A bound on the records of a unit holds only for counts"
    default_detail = (
        "The domain bounds how many records of a unit count. A critic and a classifier use one record of a unit at a time, and "
        "so does the choice among candidates."
    )
    default_remedy = (
        'Order one training with an anchor and without a critic, or declare a version without "records".'
    )


class TooManyCodes(InvalidSpec):
    """The table has too many codes for an order that handles each code individually.

    Args:
        codes: Number of codes of the table, or of its target.
        most: The limit of such an order.
        part: The option or synthesizer with the limit.
    """

    code = "too-many-codes-for-order"
    title = "The table has too many codes for this order"

    def __init__(self, *, codes: int, most: int, part: str, remedy: str) -> None:
        super().__init__(
            f"{part} takes at most {most:,} codes, and there are {codes:,}.",
            remedy=remedy,
            codes=codes,
            most=most,
        )


class SynthesizerNotInstalled(InvalidSpec):
    """The workers do not have the libraries of the ordered synthesizer."""

    code = "synthesizer-not-installed"
    title = "This synthesizer is not installed"

    def __init__(self, *, synthesizer: str) -> None:
        super().__init__(
            f'The synthesizer "{synthesizer}" needs the extra `graphical` (mbi and JAX), which is not installed here.',
            remedy=(
                "Choose idpgan; or install the extra `graphical` from the clone or wheel that understudy came from. An operator "
                "installs it on every worker and sets UNDERSTUDY_GRAPHICAL_MODELS=on."
            ),
            synthesizer=synthesizer,
        )


class TooManyFreeSteps(InvalidInput):
    """An order asks for more cost-free steps than the service allows."""

    code = "too-many-free-steps"
    title = "More free steps than the service allows"

    def __init__(self, *, option: str, limit: int) -> None:
        super().__init__(
            f"{option} is above {limit}. These steps cost no privacy budget, so nothing else bounds how long"
            " they occupy a worker.",
            remedy=f"Ask for at most {limit}, or leave {option} out.",
            option=option,
            limit=limit,
        )


class InvalidPlan(InvalidInput):
    """A stored plan or certificate is inconsistent."""

    code = "invalid-plan"
    title = "This plan is inconsistent"


class InvalidSelection(InvalidInput):
    """These candidates cannot form a private selection."""

    code = "invalid-selection"
    title = "These candidates do not make a selection"


class InvalidReport(InvalidInput):
    """A utility report cannot be measured: it names columns that the release does not have, or too many."""

    code = "invalid-report"
    title = "This report cannot be measured"
