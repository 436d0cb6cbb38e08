"""Differential privacy by itself: mechanisms, what they cost, and whether one more fits. Pure functions of public facts.

In reading order, each part after those that it imports:

* `errors`: errors of values that cannot carry a guarantee.
* `guarantee`: the pair (epsilon, delta).
* `adjacency`: the tables that a guarantee makes indistinguishable.
* `mechanism`: the mechanisms that run on private rows, as values.
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
* `typical_job`: assumptions about a job that is not planned yet.
* `remaining`: the remaining budget of a cap.
"""
