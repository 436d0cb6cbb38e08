"""What docs/ablations.md says around its tables."""

INTRODUCTION = """\
The paper adds three strategies to a private critic: budget that grows over the steps (DPBA), clipping thresholds chosen from noisy histograms (ACTS),
clusters of weights that are clipped apart (WC). Here all six of its combinations run under the same valid guarantee: in each row the accountant
sets the noise so that the whole job, histograms included, spends the stated epsilon, and a strategy that asks for more of it gets more noise elsewhere.
A seventh row, *plain*, is what the public rule does without being asked: one tiny clipping norm, constant noise, Adam. The rows without ACTS clip at 1,
which is also where ACTS starts; *plain* clips at 0.1. ACTS groups the critic by layers, WC by blocks of rows.
"""

VERDICTS = ""

HOW = """\
## How to run it

`make bench-ablation` makes every run that `benchmarks/results/ablation.json` lacks, at the budgets of `benchmarks/ablation_rows.py`, and `make docs`
writes this page. `python -m benchmarks.ablation adult --epsilon 1 --anchor` runs the same rows beside the moment anchor; with `--development` a
held-out part of the training file scores, other options can be set by `--set`, and nothing is written.

One seed gives all rows one key, so runs of a seed differ by the strategy and what follows from it. An effect is the score with the strategy less the score without,
the mean over the pairs of rows that differ by it, seed by seed; ± is half of Student's 95 % interval over the seeds. Three seeds
give the interval a factor of 4.3, so only effects well above the spread of seeds are told apart from none, and with one interval in
twenty missing by chance, single findings in a table of many are no proof. *Noise* is the multiplier of the clipped sum at the first and at the last step. The keys
derive from seeds, so what is made is not private; the test file scores once per run, and no budget was chosen by it.
"""
