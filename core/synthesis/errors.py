"""Errors of specs, options and plans."""

from core.errors import InvalidInput


class InvalidSpec(InvalidInput):
    """A synthesizer, option or declared size that no plan can be made from."""

    code = "invalid-spec"
    title = "These options do not make a plan"


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
