"""Trainings in this process.

In reading order, each file after those that it imports:

* `arithmetic`: torch settings that the proofs need.
* `planning`: the plan of a training, from public facts alone.
* `quote`: the measurements and the price of a training.
* `fitting`: training a generator.
* `classifying`: training a private classifier.
"""
