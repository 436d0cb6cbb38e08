"""What docs/ablations.md says around its tables."""

INTRODUCTION = """\
The paper adds three strategies to a private critic: budget that grows over the steps (DPBA), clipping thresholds chosen from noisy histograms (ACTS),
clusters of weights that are clipped apart (WC). Here all six of its combinations run under the same valid guarantee: in each row the accountant
sets the noise so that the whole job, histograms included, spends the stated epsilon, and a strategy that asks for more of it gets more noise elsewhere.
A seventh row, *plain*, is what the public rule does without being asked: one tiny clipping norm, constant noise, Adam. The rows without ACTS clip at 1,
which is also where ACTS starts; *plain* clips at 0.1. ACTS groups the critic by layers, WC by blocks of rows.
"""

JUDGEMENTS = {
    "DPBA": """\
Costs no budget and no time, but the noise of the first steps is about twice that of a constant schedule, for last steps with about a fifth less. No score here
is told apart from none for the better; on Adult at epsilon 1 mean distances of counts came out worse in all three pairs of rows. No gain was found.""",
    "ACTS": """\
Costs about one per cent more noise (a histogram at every 25th step) and no time to speak of, so it is nearly free. What it can win is
little: Adam undoes the scale of a gradient, so a threshold matters only where many gradients are not clipped. Nothing is told apart from none, and where the mean
of one distance is better (sliced W1 on MNIST) another is worse (Frechet). It is a cheap answer to a question that a tiny norm does not ask.""",
    "WC": """\
Costs blocks of rows and a clustering at every refresh, and no noise of its own, for the noise of all groups is one Gaussian whatever their number. No gain was found.""",
    "tiny norm": """\
A norm of 0.1 instead of 1, with Adam, changes next to nothing, as one expects where nearly all gradients are clipped at either and Adam undoes the factor of ten. So the
norm need not be chosen by looking at records, which is what ACTS is for.""",
    "all three, against the tiny norm": """\
The paper's whole method against what the public rule does anyway.""",
}
"""What is said of each effect, above its figures."""

CONCLUSION = """\
At these budgets no strategy beats one tiny norm, constant noise and Adam, so the default rule stays that (`core/synthesis/rules.py`: constant schedule, no ACTS, no WC, norm 0.1), and the
strategies stay available as options. What this table cannot say: its budgets are small, the critic alone learns little of any use in them (on Adult at epsilon 1, and in mean over seeds at the added epsilon 10, classifiers are at chance or below,
on Poker below always answering the commonest hand, on MNIST near one in ten), and a strategy cannot show where nothing is learnt. With three seeds it is no proof of no effect either: the intervals
of AUROC on Adult are wider than any gain one could hope for. It says that none of the strategies rescues a critic that noise and few steps drown; whether one helps a critic that learns, as at larger epsilon with thousands of steps, needs longer runs than this machine had
room for. That a critic can learn more, a development run shows: 1,000 steps of 814 on Adult at epsilon 10, one seed, on the held-out part, gave an AUROC (trees) of 0.769 with norm 1 and 0.780
with norm 0.1. Where the tables hold one seed, three were not reached. In what is published the moment anchor carries the result ([idpgan.md](idpgan.md)), and no row here has one unless its heading says so.
"""

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
