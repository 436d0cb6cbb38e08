"""Rules for columns that are missing wherever another column has certain words, as questions that a questionnaire skips are."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from understudy.drafts.categories import NOTE
from understudy.drafts.dependencies import SKIPPED, has_words, may_be_skipped, words_of
from understudy.drafts.missing_together import missing_in
from understudy.drafts.row_sample import RowSample
from understudy.table_files import MARK

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Codes = NDArray[np.int64]

_FEWEST_ROWS: Final = 30
"""Minimum rows in which the question is skipped, and minimum rows with an answer."""
_FIRST_ROWS: Final = 2000
"""Rows that are looked at first: where each word has an answer among them, it is not skipped."""
_FEWEST_ANSWERED: Final = 200
"""Minimum rows of words with which the question is always answered, for a rule that says so: in fewer a missing answer may just be rare."""
_MOST_WORDS: Final = 20
"""Maximum words of a column that tells what is skipped."""
_LOG_CHANCE: Final = math.log(1e-6)
"""Logarithm of the chance that all rows of a word are missing, if they were like the others."""
_KNOWN: Final = {"not": None}

Column = dict[str, Any]


def propose_skips(
    columns: Sequence[Column],
    sample: RowSample,
    *,
    fixed: Collection[str | None],
    null_texts: Collection[str],
    most: int,
) -> list[Column]:
    """Draft a rule for each column that is missing wherever one other column has certain words, and note it.

    Of columns that are missing in the same rows the first has the rule. The columns `fixed` take part in none. `null_texts` mean "missing" in every column.
    """
    filters = [
        _Filter.of(column, sample, null_texts)
        for column in columns
        if column["name"] not in fixed and has_words(column) and len(words_of(column)) <= _MOST_WORDS
    ]
    seen: set[bytes] = set()
    rules: list[Column] = []
    for column in columns:
        if column["name"] in fixed or not may_be_skipped(column):
            continue
        missing = missing_in(column, sample, null_texts)
        if missing.tobytes() in seen or min(missing.sum(), (~missing).sum()) < _FEWEST_ROWS:
            continue
        seen.add(missing.tobytes())
        found = [
            skip
            for each in filters
            if each.name != column["name"] and (skip := each.skip(missing)) is not None
        ]
        if found and len(rules) < most:
            best = max(found, key=lambda skip: (skip.rows, len(skip.answered)))
            column[NOTE] += f" {_note(best)}"
            rules.append(best.rule(str(column["name"])))
    return rules


@dataclass(frozen=True)
class _Skip:
    """What one column says of another's missing values.

    Attributes:
        name: Of the column that tells.
        skipped: Its words with which the other column is always missing.
        answered: Its words with which the other column is never missing.
        rows: How many rows have the skipped words.
    """

    name: str
    skipped: tuple[str | None, ...]
    answered: tuple[str | None, ...]
    rows: int

    def rule(self, other: str) -> Column:
        """The rule that no record has an answer where there is no question, and none lacks one that is always given."""
        combinations = [[_set(self.skipped), _KNOWN]]
        if self.answered:
            combinations.append([_set(self.answered), None])
        return {
            "kind": SKIPPED,
            "columns": [self.name, other],
            "combinations": combinations,
            MARK: ["combinations"],
        }


@dataclass(frozen=True, eq=False)
class _Filter:
    """A column whose words may tell what is skipped.

    Attributes:
        name: Of the column.
        words: Its words, and None for a missing one.
        codes: (rows,) the place of each row's word; the number of words for a text that is none of them.
        rows: How many rows have each place.
    """

    name: str
    words: tuple[str | None, ...]
    codes: "Codes"
    rows: "Codes"

    @classmethod
    def of(cls, column: Column, sample: RowSample, null_texts: Collection[str]) -> "_Filter":
        """Read a column's rows."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        words = (*words_of(column), None)
        listed = pa.array(words[:-1], pa.string())
        found = pc.index_in(sample.words(str(column["name"])), value_set=listed)
        codes = np.asarray(pc.fill_null(found, len(words)), dtype=np.int64)
        missing = missing_in(column, sample, null_texts)
        codes = np.where(missing, len(words) - 1, codes)
        return cls(str(column["name"]), words, codes, np.bincount(codes, minlength=len(words) + 1))

    def skip(self, missing: "Flags") -> _Skip | None:
        """What the words say of another column's missing values, by the rows of all words; None if too little."""
        import numpy as np

        rows, first = self.rows, self.codes[:_FIRST_ROWS][~missing[:_FIRST_ROWS]]
        if (np.bincount(first, minlength=len(rows))[rows > 0] > 0).all():
            return None
        lost = np.bincount(self.codes[missing], minlength=len(rows))
        never = (rows > 0) & (lost == rows)
        others, lost_of_others = rows[~never].sum(), lost[~never].sum()
        log_share = math.log((lost_of_others + 1.0) / (others + 2.0))
        skipped = np.flatnonzero(never[:-1] & (rows[:-1] * log_share <= _LOG_CHANCE))
        answered = np.flatnonzero((lost[:-1] == 0) & (rows[:-1] >= _FEWEST_ANSWERED))
        if min(others - lost_of_others, rows[skipped].sum()) < _FEWEST_ROWS:
            return None
        named = tuple(self.words[code] for code in skipped.tolist())
        if named == (None,):
            return None
        return _Skip(
            self.name, named, tuple(self.words[code] for code in answered.tolist()), int(rows[skipped].sum())
        )


def _set(words: Sequence[str | None]) -> object:
    return words[0] if len(words) == 1 else {"one_of": list(words)}


def _note(skip: _Skip) -> str:
    said = f"Missing in every row that was compared in which {skip.name} is {_listed(skip.skipped)}"
    if skip.answered:
        said += f", and in none in which it is {_listed(skip.answered)}"
    return (
        f"{said}. A rule is drafted, so that synthetic rows keep this: drop it if other rows may exist."
        " A real row that breaks it is counted unchanged."
    )


def _listed(words: Sequence[str | None]) -> str:
    return " or ".join("missing" if word is None else f"'{word}'" for word in words)
