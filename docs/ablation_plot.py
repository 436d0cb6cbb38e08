"""The plot of effects beside docs/ablations.md: one panel per part of the table, the same bytes for the same results."""

from collections.abc import Iterable

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.idpgan.ablation_effects import LESS_IS_BETTER, SCORES, Effect, Run, effects, parts

TITLES = {"adult": "Adult", "poker": "Poker Hand", "mnist": "MNIST", "faces": "Faces"}
NAMES = {
    "auroc_trees": "AUROC, trees",
    "auroc_logistic": "AUROC, logistic",
    "accuracy_trees": "accuracy, trees",
    "balanced_accuracy_trees": "balanced, trees",
    "accuracy_logistic": "accuracy, logistic",
    "balanced_accuracy_logistic": "balanced, logistic",
    "two_way": "two-way",
    "one_way": "one-way",
    "accuracy_cnn": "accuracy, CNN",
    "inception_score": "inception",
    "frechet": "Frechet",
    "sliced_wasserstein": "sliced W1",
}
SECOND = {
    "adult": "two_way",
    "poker": "two_way",
    "mnist": "sliced_wasserstein",
    "faces": "sliced_wasserstein",
}
"""The distance beside the main score."""
COLOURS = {"better": "#2f855a", "worse": "#c05621", "not distinguished": "#4a5568", "one seed": "#a0aec0"}
_COLUMNS, _WIDTH, _HEIGHT = 2, 4.6, 2.3


def title_of(dataset: str, epsilon: float, *, anchor: bool) -> str:
    """As headings and panels name a part of the table."""
    return f"{TITLES[dataset]}, epsilon {epsilon:g}, {'with the anchor' if anchor else 'critic only'}"


def comparable(runs: Iterable[Run]) -> dict[tuple[str, float, bool], list[Run]]:
    """The parts of the table in which some strategy can be judged."""
    return {part: group for part, group in parts(runs).items() if effects(group, SCORES[part[0]][0])}


def effects_plot(runs: Iterable[Run]) -> Figure:
    """Each strategy's effect on the main score and on a distance, with its interval; one row of panels per part.

    Args:
        runs: with at least one part that is `comparable`.
    """
    groups = comparable(runs)
    figure = Figure(figsize=(_COLUMNS * _WIDTH, len(groups) * _HEIGHT))
    panels = figure.subplots(len(groups), _COLUMNS, squeeze=False)
    for row, ((dataset, epsilon, anchor), group) in zip(panels, groups.items(), strict=True):
        for axes, score in zip(row, (SCORES[dataset][0], SECOND[dataset]), strict=True):
            _panel(axes, effects(group, score))
            better = "left is better" if score in LESS_IS_BETTER else "right is better"
            axes.set_xlabel(f"change of {NAMES[score]} ({better})", fontsize=8)
        row[0].set_title(title_of(dataset, epsilon, anchor=anchor), fontsize=9, loc="left")
        row[1].set_yticklabels([])
    figure.tight_layout()
    return figure


def _panel(axes: Axes, found: list[Effect]) -> None:
    for place, effect in enumerate(found):
        axes.errorbar(
            effect.change.mean,
            -place,
            xerr=effect.change.half_width,
            marker="o" if effect.change.half_width is not None else "x",
            color=COLOURS[effect.verdict],
            markersize=4,
            capsize=3,
        )
    axes.axvline(0.0, color="black", linewidth=0.8)
    axes.set_yticks([-place for place in range(len(found))], [effect.strategy for effect in found])
    axes.set_ylim(-len(found) + 0.5, 0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.locator_params(axis="x", nbins=5)
    axes.tick_params(labelsize=7.5)
