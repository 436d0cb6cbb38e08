"""Errors of questions.

UnderstudyError
  * InvalidInput
    x QuestionInvalid   it cannot be parsed, or names a column or value that is not declared
    x AnswerTooLong     the answer would have more rows than one answer holds
  * Conflict
    x NoCounts          the release holds no counts
    x NotCounted        the columns were not counted together, and no assumption gives an answer
"""

from core.errors import Conflict, InvalidInput


class QuestionInvalid(InvalidInput):
    """A question that cannot be parsed, or that names a column or value that is not declared."""

    code = "question-invalid"
    title = "This question cannot be read"
    default_remedy = (
        'Ask like "age by sex where region = north", "mean of age by sex" or "share of sick = yes by ward"; put names with '
        "spaces, and names that are keywords, in double quotes."
    )


class AnswerTooLong(InvalidInput):
    """The answer would have more rows than one answer holds."""

    code = "answer-too-long"
    title = "The answer has too many rows"

    def __init__(self, *, most: int) -> None:
        super().__init__(
            f"The answer would have more than {most} rows.",
            remedy="Ask for fewer columns, or restrict them with where.",
            most=most,
        )


class NoCounts(Conflict):
    """The release holds no counts."""

    code = "no-counts"
    title = "This release holds no counts"

    def __init__(self, why: str) -> None:
        super().__init__(why, remedy="Draw rows with `understudy sample`, and count those.")


class NotCounted(Conflict):
    """The columns were not counted together, and no assumption gives an answer: there are more than three, or too many combinations."""

    code = "not-counted"
    title = "These columns were not counted together"
