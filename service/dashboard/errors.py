"""Errors of the pages themselves; all others come from the API operation behind a page.

InvalidInput
  * FormInvalid           422  a form field is missing or invalid
"""

from core.errors import InvalidInput


class FormInvalid(InvalidInput):
    """A form field is missing or invalid."""

    code = "form-invalid"
    title = "The form is not complete"
    default_remedy = "Go back, correct the form and submit it again."
