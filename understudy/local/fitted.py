"""The result of a training on this machine: a generator, and facts about the rows for the owner alone."""

from dataclasses import dataclass
from typing import NoReturn

from understudy.documents import Json
from understudy.errors import InputUnusable
from understudy.local.generator import Generator


@dataclass(frozen=True, kw_only=True, repr=False)
class Fitted(Generator):
    """A trained generator. Drawing from it, saving it and sharing the bundle cost no more budget.

    Attributes:
        bundle: the generator with its certificate, like a service's bundle; the only part to share.
        certificate: the budget spent and the mechanism; unsigned.
        rows_refused: rows refused by the declared rules. For the owner only: not differentially private.
        refusals: the reasons, with counts. For the owner only.
        expected_error: the quote's expected errors of columns, pairs and triples, as shares; None if unknown in advance.
    """

    rows_refused: int
    refusals: Json
    expected_error: Json | None = None

    def __getstate__(self) -> NoReturn:
        """Refuse to be pickled: a pickle would hold the private report on refused rows.

        Raises:
            InputUnusable: always.
        """
        raise InputUnusable(
            "save() writes the bundle, which may be shared; this object also holds facts for the owner alone"
        )
