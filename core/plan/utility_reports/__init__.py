"""Utility reports: a noisy measurement, for analysts, of how far a release is from its dataset.

In reading order, each part after those that it imports:

* `plan`: the plan.
* `columns`: the measurable parts of a dataset.
* `planning`: making and quoting a plan.
"""
