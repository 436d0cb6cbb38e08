"""Drawing from a bundle without a server, asking its counts and predicting.

In reading order, each file after those that it imports:

* `bundle`: rows and images drawn from a bundle file.
* `asking`: questions answered from the noisy counts of a bundle.
* `predicting`: the linear predictor that the noisy counts give.
"""
