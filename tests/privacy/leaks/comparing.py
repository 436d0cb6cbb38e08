"""What two stages told, field by field: what has no source, and what differs where it must not."""

from collections.abc import Iterator, Sequence

from tests.privacy.leaks.answers import Answer
from tests.privacy.leaks.sources import LENGTH, SAME_ON_NEIGHBOURS, source_of

PROBLEM_MEDIA = "application/problem+json"


def sourceless(answers: Sequence[Answer]) -> set[tuple[str, str]]:
    """Operation and path of every field without a line in the table."""
    return {
        (answer.operation, path)
        for answer in answers
        for path in answer.fields()
        if path != LENGTH and source_of(answer.operation, path, refused=is_refusal(answer)) is None
    }


def is_refusal(answer: Answer) -> bool:
    """Whether it is a problem document."""
    return answer.headers.get("content-type") == PROBLEM_MEDIA


def differences(first: Sequence[Answer], second: Sequence[Answer]) -> Iterator[str]:
    """Every field that must be the same on both stages and is not.

    Fields are compared as they were written, in the order of the answer: a number spelled otherwise is another one.
    """
    assert [_question(answer) for answer in first] == [_question(answer) for answer in second]
    for one, other in zip(first, second, strict=True):
        mine, theirs = one.fields(), other.fields()
        for path in sorted(mine.keys() | theirs.keys()):
            if path == LENGTH:
                continue
            source = source_of(one.operation, path, refused=is_refusal(one) and is_refusal(other))
            if path not in mine or path not in theirs:
                yield f"{_question(one)}: {path} is told on one stage only"
            elif len(mine[path]) != len(theirs[path]):
                yield f"{_question(one)}: {path} is told {len(mine[path])} and {len(theirs[path])} times"
            elif source in SAME_ON_NEIGHBOURS and repr(mine[path]) != repr(theirs[path]):
                yield f"{_question(one)}: {path}: {mine[path]} and {theirs[path]}"


def _question(answer: Answer) -> tuple[str, str, str]:
    return answer.caller, answer.operation, answer.about
