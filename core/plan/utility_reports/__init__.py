"""Utility reports: a noisy measurement, for analysts, of how far a release is from its dataset.

In reading order, each part after those that it imports:

* `plan`: the plan.
* `columns`: what can be measured of a dataset.
* `planning`: making and quoting it.
"""
