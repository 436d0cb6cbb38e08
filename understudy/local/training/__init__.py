"""Trainings in this process.

In reading order, each file after those that it imports:

* `arithmetic`: settings of torch that the proofs need.
* `planning`: what a training plans from public facts alone.
* `quote`: what a training would measure and cost.
* `fitting`: a generator, trained.
* `classifying`: a private classifier, trained.
"""
