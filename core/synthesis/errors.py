"""Errors of specs, options and plans."""

from core.errors import InvalidInput


class InvalidSpec(InvalidInput):
    """A synthesizer, option or declared size that no plan can be made from."""

    code = "invalid-spec"
    title = "These options do not make a plan"


class BoundNeedsAnchor(InvalidSpec):
    """A declared bound on the records of a unit, in an order that does more than count them."""

    code = "bound-needs-anchor"
    title = "A bound on the records of a unit holds for counts alone"

    def __init__(self) -> None:
        super().__init__(
            "The domain declares how many records of a unit count. A critic looks at one record of a unit at a time, and so "
            "does the choice among candidates.",
            remedy='Order one training with an anchor and without a critic, or declare a version without "records".',
        )


class TooManyCodes(InvalidSpec):
    """An order that looks at every code by itself, of a table with very many.

    Args:
        codes: Of the table, or of its target.
        most: That such an order takes.
        part: What looks at them: an option or a synthesizer.
        remedy: What to order or declare instead.
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
    """An order of a synthesizer whose libraries the workers have not.

    Args:
        synthesizer: Its name.
    """

    code = "synthesizer-not-installed"
    title = "This synthesizer is not installed"

    def __init__(self, *, synthesizer: str) -> None:
        super().__init__(
            f'The synthesizer "{synthesizer}" needs the extra `graphical` (mbi and JAX), which is not installed here.',
            remedy=(
                "Choose idpgan; or install the extra: pip install 'understudy[graphical]'. An operator installs it on every "
                "worker and sets UNDERSTUDY_GRAPHICAL_MODELS=on."
            ),
            synthesizer=synthesizer,
        )


class TooManyFreeSteps(InvalidInput):
    """An order wants more steps that cost no budget than the service makes for anybody."""

    code = "too-many-free-steps"
    title = "More free steps than the service makes"

    def __init__(self, *, option: str, limit: int) -> None:
        super().__init__(
            f"{option} is above {limit}. These steps cost no budget, so no budget bounds how long they hold a worker.",
            remedy=f"Ask for at most {limit}, or leave {option} out.",
            option=option,
            limit=limit,
        )


class InvalidPlan(InvalidInput):
    """A stored plan or certificate that does not agree with itself."""

    code = "invalid-plan"
    title = "This plan does not agree with itself"


class InvalidSelection(InvalidInput):
    """Candidates that no private selection can choose from."""

    code = "invalid-selection"
    title = "These candidates do not make a selection"


class InvalidReport(InvalidInput):
    """A utility report that cannot be measured: of columns that the release has not, or of too many."""

    code = "invalid-report"
    title = "This report cannot be measured"
