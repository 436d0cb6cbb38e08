"""Plots of a fitted generator: synthetic rows alone, beside the owner's real ones, and which columns."""

import sys
from operator import methodcaller

import numpy as np
import pytest

from core.artifacts.reports.owner_page import MARK
from tests.understudy.local.test_synthesizer import ROWS, fitted_in, table
from understudy import InputUnusable, NotInstalled, Synthesizer
from understudy.local import plots


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Synthesizer:
    return fitted_in(tmp_path_factory.mktemp("ledgers"))


def test_plots_show_synthetic_rows_alone_unless_their_owner_gives_the_real_ones(fitted: Synthesizer) -> None:
    plot = fitted.plot_marginals()
    assert [axes.get_title("left") for axes in plot.axes[:5]] == table().column_names
    for axes in plot.axes[:5]:
        assert sum(max(bar.get_width(), bar.get_height()) for bar in axes.patches) > 0.99
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
    with pytest.raises(NotInstalled, match=r"plotting needs matplotlib.figure, of the extra `all`"):
        fitted.plot_marginals()


def test_the_name_of_one_column_plots_that_column(fitted: Synthesizer) -> None:
    assert [axes.get_title("left") for axes in fitted.plot_marginals("age").axes] == ["age"]
