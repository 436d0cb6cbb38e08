"""Differential privacy by itself: mechanisms, what they cost, and whether one more fits. Pure functions of public facts.

In reading order, each part after those that it imports:

* `errors`: a value that cannot carry a guarantee is refused when it is built.
* `guarantee`: the pair (epsilon, delta).
* `adjacency`: which tables a guarantee makes indistinguishable.
* `mechanism`: what runs on private rows, as values.
* `renyi`: the first bound: Renyi divergences.
* `hockey_stick`: the second bound begins: exact delta(epsilon) of one run.
* `connected_dots`: one run's privacy loss on a grid.
* `composition`: the loss of many runs together.
* `gaussian`: Gaussian releases: exact, and several as one.
* `loss`: epsilon by the privacy loss distribution.
* `accountant`: the smaller of the two bounds.
* `group_privacy`: the loss of several units together.
* `calibration`: the smallest noise that keeps a guarantee.
* `charge`: the cost in integers, which the ledger adds.
* `filters`: whether one more job fits under a cap.
* `typical_job`: what is assumed of a job that is not planned yet.
* `remaining`: what a cap has left.
"""
