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
is distinguished from none for the better. Where a critic learns, the two data sets disagree: on Adult at epsilon 10 the rows with it are on average lower and spread more over seeds; on MNIST they are on average higher (by nine
points of a classifier's accuracy, in an interval of forty) and spread less. On Adult at epsilon 1 mean distances of counts came out worse in all three pairs of rows.""",
    "ACTS": """\
Costs about one per cent more noise (a histogram at every 25th step) and no time to speak of, so it is nearly free. What it can win is
little: Adam undoes the scale of a gradient, so a threshold matters only where many gradients are not clipped. Nothing is distinguished from none; on MNIST its means are
better by about as much as seeds differ. It is a cheap answer to a question that a tiny norm does not ask.""",
    "WC": """\
Costs blocks of rows and a clustering at every refresh, and no noise of its own, for the noise of all groups is one Gaussian whatever their number. No gain was found; on MNIST
classifiers were worse with it (by ten points, distinguished from none).""",
    "tiny norm": """\
A norm of 0.1 instead of 1, with Adam, changes next to nothing, as one expects where nearly all gradients are clipped at either and Adam undoes the factor of ten. So the
norm need not be chosen by looking at records, which is what ACTS is for.""",
    "all three, against the tiny norm": """\
The paper's whole method against what the public rule does anyway.""",
}
"""What is said of each effect, above its figures."""

CONCLUSION = """\
No strategy is distinguished from none for the better on the main score of any part, so the default rule stays with one tiny norm, constant noise and Adam (`core/plan/defaults.py`: constant schedule, no ACTS, no WC, norm 0.1), and the
strategies stay available as options. Two parts can show something, for the critic alone learns there: Adult at epsilon 10 (AUROC 0.70 to 0.78 in every row, the plain row among the best) and MNIST at epsilon 4 (accuracy 40 to 61 %, with
seeds that differ by more than strategies). On MNIST the best mean is that of DPBA with ACTS, so a run with more seeds and more steps could still find a gain of these two there; three seeds cannot. On faces the critic alone learns
little (accuracy 56 to 60 % where 52 % are of the commoner label), and the rows differ by less than their seeds. At epsilon 1 on Adult and
on Poker Hand nothing is learnt by any row (classifiers at chance, or below always answering the commonest hand), and a strategy cannot show where nothing is learnt: none of them rescues a critic that noise and few steps drown.
What is published rests on the moment anchor ([idpgan.md](idpgan.md)), and no row here has one unless its heading says so.
"""

HOW = """\
## How to run it

`make bench-ablation` makes every run that `benchmarks/results/ablation.json` lacks, at the budgets of `benchmarks/idpgan/ablation_rows.py`, and `make docs`
writes this page. `python -m benchmarks.idpgan.ablation adult --epsilon 1 --anchor` runs the same rows beside the moment anchor; with `--development` a
held-out part of the training file scores, other options can be set by `--set`, and nothing is written.

One seed gives all rows one key, so runs of a seed differ by the strategy and what follows from it. An effect is the score with the strategy less the score without,
the mean over the pairs of rows that differ by it, seed by seed; ± is half of Student's 95 % interval over the seeds. Three seeds
give the interval a factor of 4.3, so only effects well above the spread of seeds are distinguished from none, and with one interval in
twenty missing by chance, single findings in a table of many are no proof. *Noise* is the multiplier of the clipped sum at the first and at the last step. The keys
derive from seeds, so what is made is not private; the test file scores once per run, and no budget was chosen by it.
"""
