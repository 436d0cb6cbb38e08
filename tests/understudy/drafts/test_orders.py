"""A draft says of numbers that they are never below others, where that is no matter of chance."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_breast_cancer

from tests.understudy.drafts.test_tables import column
from understudy.drafts.categories import NOTE
from understudy.drafts.tables import draft_frame

RNG = np.random.default_rng(9)
BOUGHT = np.round(RNG.gamma(2, 100, 500), 2)
PAID = np.round(BOUGHT * RNG.random(500), 2)


def note(of: str = "bought", **columns: np.ndarray) -> str:
    return str(column(draft_frame(pa.table(columns)), of)[NOTE])


def test_a_number_that_is_never_below_another_one_says_so() -> None:
    found = note(paid=PAID, bought=BOUGHT)
    assert "Never below paid in any row that was compared" in found
    assert "declare the rule 'at_most' of paid and bought" in found
    assert "Never below" not in note("paid", paid=PAID, bought=BOUGHT)


@pytest.mark.parametrize(
    "other",
    [np.where(np.arange(500) == 7, BOUGHT + 1, PAID), PAID / 1000, BOUGHT],
    ids=["one row", "another scale", "equal"],
)
def test_other_numbers_do_not(other: np.ndarray) -> None:
    assert "Never below" not in note(paid=other, bought=BOUGHT)


def test_few_rows_say_nothing() -> None:
    assert "Never below" not in note(paid=PAID[:150], bought=BOUGHT[:150])


def test_the_worst_of_several_measurements_is_never_below_their_mean() -> None:
    frame = load_breast_cancer(as_frame=True).frame
    draft = draft_frame(pa.Table.from_pandas(frame, preserve_index=False))
    for name in ("texture", "area"):
        assert f"Never below mean {name}" in column(draft, f"worst {name}")[NOTE]
    for name in ("radius", "perimeter"):
        assert column(draft, f"worst {name}")["difference"]["lower"] == 0
