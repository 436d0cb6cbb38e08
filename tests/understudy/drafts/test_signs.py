"""Words that tell the sign of a number are drafted with a rule, and the bins of the number begin at zero."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from core.plan.domain.table import TableDomain
from tests.understudy.drafts.test_tables import column, confirmed
from understudy import Synthesizer
from understudy.drafts.categories import NOTE
from understudy.drafts.tables import draft_frame
from understudy.table_files import MARK

ROWS = 3000
RNG = np.random.default_rng(8)
SIGN = RNG.choice([1, -1], ROWS, p=[0.9, 0.1])
AMOUNT = np.round(RNG.gamma(3, 20, ROWS) * SIGN, 2)


def drafted(**columns: Any) -> dict[str, Any]:
    return draft_frame(pa.table({**columns, "x": RNG.integers(0, 3, ROWS)}))


def edges_at_zero(draft: dict[str, Any], name: str) -> bool:
    domain = TableDomain.from_json(confirmed(draft))
    (found,) = (one for one in domain.modelled if one.name == name)
    return 0.0 in found.bins.starts.tolist()


@pytest.mark.parametrize("is_written", [True, False])
def test_a_word_that_tells_the_sign_is_a_rule_and_a_bin_begins_at_zero(is_written: bool) -> None:
    refund = np.where(AMOUNT < 0, "refund", "sale") if is_written else AMOUNT < 0
    draft = drafted(amount=AMOUNT, kind=refund)
    amount, kind = column(draft, "amount"), column(draft, "kind")
    (rule,) = draft["rules"]
    assert (rule["kind"], rule["columns"], rule[MARK]) == ("determines", ["amount", "kind"], ["pairs"])
    assert rule["pairs"] == [
        [{"from": amount["lower"], "to": -0.01}, "refund" if is_written else "true"],
        [{"from": 0, "to": amount["upper"]}, "sale" if is_written else "false"],
    ]
    assert "exactly where amount is below 0, in every row that was compared" in kind[NOTE]
    assert "A bin begins at 0" in amount[NOTE]
    assert edges_at_zero(draft, "amount")


def test_zeros_go_with_the_side_on_which_their_rows_are() -> None:
    net = RNG.integers(-400, 900, ROWS)
    net[:50] = 0
    draft = drafted(net=net, kind=np.where(net > 0, "credit", "debit"))
    (rule,) = draft["rules"]
    assert rule["pairs"][0][0]["to"] == 0
    assert rule["pairs"][1][0]["from"] == 1
    assert "debit exactly where net is 0 or below" in column(draft, "kind")[NOTE]
    assert edges_at_zero(draft, "net")


def test_one_row_that_disagrees_and_words_of_few_rows_make_no_rule() -> None:
    refund = AMOUNT < 0
    refund[0] = ~refund[0]
    draft = drafted(amount=AMOUNT, refund=refund)
    assert "rules" not in draft
    assert "begins at 0" not in column(draft, "amount")[NOTE]
    rare = np.abs(AMOUNT)
    rare[:5] *= -1
    assert "rules" not in drafted(amount=rare, refund=rare < 0)


def test_of_a_number_whose_bins_are_learnt_the_note_alone_tells() -> None:
    skewed = np.round(RNG.lognormal(3, 1, ROWS) * SIGN, 2)
    draft = drafted(amount=skewed, refund=skewed < 0)
    assert column(draft, "amount")["bins"] == "learn"
    assert "rules" not in draft
    assert "No rule can declare this while bins of amount are learnt" in column(draft, "refund")[NOTE]


def test_no_rule_computes_the_target() -> None:
    draft = drafted(amount=AMOUNT, churned=np.where(AMOUNT < 0, "yes", "no"))
    assert (draft["target"], "rules" in draft) == ("churned", False)
    assert "WARNING: yes exactly where amount is below 0" in column(draft, "churned")[NOTE]


def test_synthetic_refunds_are_negative_and_about_as_many(tmp_path: Path) -> None:
    frame = pd.DataFrame({"amount": AMOUNT, "refund": AMOUNT < 0, "x": RNG.integers(0, 3, ROWS)})
    made = Synthesizer(
        4.0,
        dataset="sales",
        cap=(4.0, 1e-5),
        options={"profile": "anchor"},
        ledgers=tmp_path,
        progress=False,
    )
    made.draft(frame)
    rows = made.accept_draft().fit(frame).sample(3000)
    assert ((rows["amount"] < 0) == rows["refund"]).all()
    assert abs(rows["refund"].mean() - frame["refund"].mean()) < 0.03
