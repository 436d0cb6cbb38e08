"""docs/ablations.md and its plot, written from benchmarks/results/ablation.json."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.idpgan.ablation import FILE
from benchmarks.idpgan.ablation_effects import SCORES, effects, parts
from benchmarks.idpgan.ablation_rows import EFFECTS, ROWS
from benchmarks.idpgan.poker import PAPER
from benchmarks.images.intervals import interval
from benchmarks.images.plots import svg
from benchmarks.images.published import PAPER_ROWS
from benchmarks.results_file import RESULTS
from docs.ablation_plot import NAMES, SECOND, comparable, effects_plot, title_of
from docs.ablation_words import CONCLUSION, HOW, INTRODUCTION, JUDGEMENTS
from docs.tables import machine, table

PLOT = "ablation.svg"
Run = Mapping[str, Any]
_DIGITS = {"inception_score": 3, "frechet": 1}
_MAJORITY = "Always answering the commonest hand: accuracy 0.5010, balanced 0.1000."


def ablations_page() -> str:
    """Every part of the table, the effects, and what follows from them."""
    result = _result()
    runs = list(result.get("runs", {}).values())
    lines = ["# Ablations: does each strategy pay for its cost?\n", INTRODUCTION]
    if comparable(runs):
        lines += [*_verdicts(runs), f"![Effects with 95 % intervals](benchmarks/{PLOT})\n", "## The tables\n"]
    for (dataset, epsilon, anchor), group in parts(runs).items():
        lines += [f"### {title_of(dataset, epsilon, anchor=anchor)}\n", _budget(group)]
        lines += [*_rows(dataset, group), "", *_paper(dataset, epsilon), *_effects(dataset, group), ""]
    return "\n".join([*lines, HOW, *([machine(result)] if runs else [])])


def ablation_plots() -> dict[str, str]:
    """The plot beside the page, by file name; none without results."""
    runs = list(_result().get("runs", {}).values())
    return {PLOT: svg(effects_plot(runs))} if comparable(runs) else {}


def _result() -> dict[str, Any]:
    path = RESULTS / f"{FILE}.json"
    document: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return document


def _verdicts(runs: Sequence[Run]) -> list[str]:
    """What is said of each strategy, and under it what was measured: main score and a distance of every part."""
    lines = []
    for strategy, judgement in JUDGEMENTS.items():
        lines.append(f"**{strategy[0].upper()}{strategy[1:]}.** {judgement}\n")
        for (dataset, epsilon, anchor), group in comparable(runs).items():
            said = [_said(strategy, score, group) for score in (SCORES[dataset][0], SECOND[dataset])]
            if all(said):
                lines.append(f"* {title_of(dataset, epsilon, anchor=anchor)}: {'; '.join(said)}")
        lines.append("")
    return [*lines, CONCLUSION]


def _said(strategy: str, score: str, group: Sequence[Run]) -> str:
    for effect in effects(group, score):
        if effect.strategy == strategy:
            return f"{NAMES[score]} {effect.text(_DIGITS.get(score, 4))}"
    return ""


def _budget(group: Sequence[Run]) -> str:
    first = group[0]
    named = {name: value for name, value in first["options"].items() if name not in ROWS[first["row"]]}
    stated = ", ".join(f"{name} {value}" for name, value in sorted(named.items()))
    return f"Every row: {stated}; delta {first['delta']:g}; {first['made']:,} synthetic records scored.\n"


def _rows(dataset: str, group: Sequence[Run]) -> list[str]:
    lines = []
    for row in ROWS:
        runs = [run for run in group if run["row"] == row]
        if runs:
            scores = [interval([float(run[name]) for run in runs]).text(_DIGITS.get(name, 4)) for name in SCORES[dataset]]  # fmt: skip
            noise = f"{runs[0]['noise_first']:.2f} to {runs[0]['noise_last']:.2f}"
            busy = interval([run["processor_seconds"] for run in runs]).mean
            lines.append([row, str(len(runs)), *scores, noise, f"{busy:.0f}"])
    header = ["row", "seeds", *(NAMES[name] for name in SCORES[dataset]), "noise, first to last step", "processor s"]  # fmt: skip
    return table(header, lines)


def _effects(dataset: str, group: Sequence[Run]) -> list[str]:
    found = {name: effects(group, name) for name in SCORES[dataset]}
    lines = []
    for place, effect in enumerate(found[SCORES[dataset][0]]):
        cells = [found[name][place] for name in SCORES[dataset]]
        words = [cell.text(_DIGITS.get(cell.score, 4)) for cell in cells]
        pairs = ", ".join(f"{one} - {other}" for one, other in EFFECTS[effect.strategy])
        lines.append([effect.strategy, pairs, *words])
    return table(["effect of", "mean of", *(NAMES[name] for name in SCORES[dataset])], lines) if lines else []


def _paper(dataset: str, epsilon: float) -> list[str]:
    if dataset == "poker" and epsilon in PAPER:
        return [f"{_MAJORITY} The paper prints {PAPER[epsilon]:.4f} for IDPGAN at its epsilon {epsilon:g}.\n"]
    found = [row for row in PAPER_ROWS.get(dataset, []) if row[1] == f"{epsilon:g}"]
    if not found:
        return []
    said = "; ".join(f"{name} {share}, inception {score}" for name, _, share, score in found)
    return [f"The paper prints at its epsilon {epsilon:g}, which is not a guarantee: {said}.\n"]
