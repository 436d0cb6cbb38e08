"""Draws, questions and predictions from a bundle without a server.

In reading order, each file after those that it imports:

* `bundle`: rows and images drawn from a bundle file.
* `dummy_conditions`: conditions on fake rows.
* `asking`: questions answered from a bundle's noisy counts.
* `predicting`: the linear predictor of the noisy counts.
* `classifier`: a private classifier from its bundle.
"""
