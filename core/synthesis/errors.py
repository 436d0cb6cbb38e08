"""Errors of specs, options and plans."""

from core.errors import InvalidInput


class InvalidSpec(InvalidInput):
    """A synthesizer, option or declared size that no plan can be made from."""

    code = "invalid-spec"
    title = "These options do not make a plan"


class TooWideForAnchor(InvalidSpec):
    """Declared columns with more codes together than the anchor takes, in an order that does not do without one.

    Args:
        codes: How many they have.
        limit: How many the anchor takes.
        widest: The columns with the most codes, by name, where the domain has names.
    """

    code = "too-wide-for-anchor"
    title = "The declared columns have too many codes for the anchor"

    def __init__(self, *, codes: int, limit: int, widest: tuple[tuple[str, int], ...] = ()) -> None:
        most = ", ".join(f"'{name}' ({count:,})" for name, count in widest)
        super().__init__(
            f"The declared columns have {codes:,} codes together; the anchor takes at most {limit:,}. Without it the critic "
            f"trains alone, under noise that leaves little of the records."
            + (most and f" Most codes: {most}."),
            remedy=(
                'Declare fewer bins, fewer categories with "other", or a column as "ignored", as a new version of the '
                'dataset; or order with the option "anchor": false to train the critic alone all the same.'
            ),
            codes=codes,
            limit=limit,
            widest_columns=[name for name, _count in widest],
        )


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
    """A charged report that cannot be measured: of columns that the release has not, or of too many."""

    code = "invalid-report"
    title = "This report cannot be measured"
