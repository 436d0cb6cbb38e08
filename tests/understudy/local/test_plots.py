"""Plots of a fitted generator: synthetic rows alone, beside the owner's real ones, and which columns."""

import sys
from operator import methodcaller
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.patches import StepPatch

from core.artifacts.reports.columns import columns_of
from core.artifacts.reports.owner_page import MARK
from core.plan.domain.table import TableDomain
from tests.understudy.local.test_synthesizer import ROWS, fitted_in, table
from understudy import InputUnusable, NotInstalled, Synthesizer
from understudy.local import plots
from understudy.local.reporting import owner_rows


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Synthesizer:
    return fitted_in(tmp_path_factory.mktemp("ledgers"))


def shown_share(axes: Any) -> float:
    """The share of the rows that a panel of synthetic rows alone shows: lying bars say it by length, standing ones by area."""
    if axes.yaxis_inverted():
        return sum(bar.get_width() for bar in axes.patches)
    widths = [bar.get_width() for bar in axes.patches]
    return sum(bar.get_width() * bar.get_height() for bar in axes.patches) / (sum(widths) / len(widths))


SPACED = TableDomain.from_json({
    "schema": "understudy.domain/1",
    "columns": [
        {"name": "income", "kind": "numeric", "type": "integer", "lower": 1, "upper": 100_000, "spacing": "log", "specials": [0]},
        {"name": "amount", "kind": "numeric", "type": "real", "lower": 0, "upper": 100,
         "edges": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 50, 100]},
        {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 110},
    ],
})  # fmt: skip


def panels_of(*, real: bool = False) -> list[Any]:
    """Rows that are even on each column's axis of values: 0 to 100 of amounts, all ages, incomes even by logarithm with a tenth of zeros."""
    rng = np.random.default_rng(3)
    incomes = np.expm1(rng.uniform(0, np.log1p(99_999), 20_000)).astype(int) + 1
    values = pa.table({
        "income": np.where(rng.random(20_000) < 0.1, 0, np.minimum(incomes, 100_000)),
        "amount": rng.uniform(0, 100, 20_000),
        "age": rng.integers(0, 111, 20_000),
    })  # fmt: skip
    codes = owner_rows(values, SPACED)[0]
    tables = ({"real": codes} if real else {}) | {"synthetic": codes}
    return plots.Plots(columns=columns_of(SPACED), tables=tables).marginals(None).axes


def test_bars_are_as_wide_as_their_bins_and_even_rows_look_even() -> None:
    amount, age = panels_of()[1:]
    for axes in (amount, age):
        heights = np.array([bar.get_height() for bar in axes.patches])
        assert np.ptp(heights) < 0.5 * heights.mean(), "of unequal bins none stands out"
        assert shown_share(axes) == pytest.approx(1)
    widths = [bar.get_width() for bar in amount.patches]
    assert widths == pytest.approx([0.01] * 10 + [0.4, 0.5])
    assert amount.get_ylabel() == "share per 8.33"
    assert age.get_ylabel() == "", "bins of three and of four years are nearly equal"
    assert amount.get_xticklabels()[-1].get_text() == "100", "the scale ends where the domain does"


def test_bins_by_logarithms_have_a_logarithmic_axis_and_special_values_stand_apart() -> None:
    axes = panels_of()[0]
    *bins, special = axes.patches
    assert axes.get_xlabel() == "logarithmic scale"
    assert max(bar.get_width() for bar in bins) < 3 * np.median([bar.get_width() for bar in bins])
    ends = max(bar.get_x() + bar.get_width() for bar in bins)
    assert special.get_x() > ends + 0.5 * special.get_width(), "after a gap"
    assert special.get_height() == pytest.approx(0.1, abs=0.01)
    assert axes.get_xticklabels()[-1].get_text() == "= 0"
    assert axes.get_xticks()[-1] == pytest.approx(special.get_x() + special.get_width() / 2)


def test_beside_real_rows_synthetic_ones_are_an_outline() -> None:
    axes = panels_of(real=True)[1]
    (outline,) = (patch for patch in axes.patches if isinstance(patch, StepPatch))
    filled = [patch for patch in axes.patches if not isinstance(patch, StepPatch)]
    assert outline.get_data().values == pytest.approx([bar.get_height() for bar in filled])


def test_plots_show_synthetic_rows_alone_unless_their_owner_gives_the_real_ones(fitted: Synthesizer) -> None:
    plot = fitted.plot_marginals()
    assert [axes.get_title("left") for axes in plot.axes[:5]] == table().column_names
    for axes in plot.axes[:5]:
        assert shown_share(axes) == pytest.approx(1, abs=0.01)
    assert plot.get_suptitle() == ""
    assert methodcaller("_repr_png_")(plot).startswith(b"\x89PNG"), "a notebook shows it"
    lying = [axes for axes in plot.axes[:5] if not axes.get_yticklabels()[0].get_text().endswith("%")]
    assert lying
    assert all(len(axes.get_xticks()) <= 6 for axes in lying), "labels of shares do not hide each other"
    real = fitted.plot_marginals(["died"], real=table())
    assert real.get_suptitle() == MARK
    assert [bars.get_label() for bars in real.axes[0].containers] == ["real", "synthetic"]
    died = dict(
        zip(
            [label.get_text() for label in real.axes[0].get_yticklabels()],
            real.axes[0].containers[0],
            strict=True,
        )
    )
    assert died["yes"].get_width() == pytest.approx(
        sum(word == "yes" for word in table()["died"].to_pylist()) / ROWS
    )


def test_pairs_and_associations_are_heat_maps(fitted: Synthesizer) -> None:
    (drawn,) = fitted.plot_pair("age", "ward").axes[0].images
    assert drawn.get_array().shape[0] == 3
    assert drawn.get_array().sum() == pytest.approx(1)
    plot = fitted.plot_associations(real=table())
    assert [axes.get_title("left") for axes in plot.axes[:2]] == ["real", "synthetic"]
    assert np.diag(plot.axes[1].images[0].get_array()).tolist() == [1] * 5
    assert plot.get_suptitle() == MARK


def test_a_plot_of_the_first_columns_says_so_and_others_can_be_chosen(
    fitted: Synthesizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fitted.plot_associations().get_supxlabel() == ""
    chosen = fitted.plot_associations(["died", "age"])
    assert [label.get_text() for label in chosen.axes[0].get_xticklabels()] == ["died", "age"]
    whole = np.asarray(fitted.plot_associations().axes[0].images[0].get_array())
    assert chosen.axes[0].images[0].get_array()[0, 1] == pytest.approx(whole[1, 4])
    for wrong in ([], ["age"], ["age", "age"]):
        with pytest.raises(InputUnusable, match="name 2 to 40 columns"):
            fitted.plot_associations(wrong)
    monkeypatch.setattr(plots, "MAPPED", 3)
    monkeypatch.setattr(plots, "MOST_PANELS", 4)
    assert (
        fitted.plot_associations().get_supxlabel() == "The first 3 of 5 columns; columns=[...] chooses others"
    )
    assert fitted.plot_marginals().get_supxlabel().startswith("The first 4 of 5 columns")
    assert fitted.plot_associations(["died", "age"]).get_supxlabel() == ""


def test_a_plot_that_cannot_be_made_says_why(fitted: Synthesizer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputUnusable, match="no modelled column 'wards'; did you mean 'ward'"):
        fitted.plot_pair("wards", "age")
    with pytest.raises(InputUnusable, match="at least one column"):
        fitted.plot_marginals([])
    monkeypatch.delitem(sys.modules, "understudy.local.plots")
    monkeypatch.delattr("understudy.local.plots")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(NotInstalled, match=r"plotting needs matplotlib.figure: "):
        fitted.plot_marginals()


def test_the_name_of_one_column_plots_that_column(fitted: Synthesizer) -> None:
    assert [axes.get_title("left") for axes in fitted.plot_marginals("age").axes] == ["age"]
