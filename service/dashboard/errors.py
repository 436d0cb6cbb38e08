"""What goes wrong with pages alone; all else is what goes wrong with the operation behind them.

InvalidInput
  * FormInvalid           422  a field of a form is missing or not what it should be
"""

from core.errors import InvalidInput


class FormInvalid(InvalidInput):
    """A field of a form is missing or not what it should be."""

    code = "form-invalid"
    title = "The form is not complete"
    standing_remedy = "Go back, correct the form, and send it again."
