"""Selections: several candidates are trained, and one is chosen privately.

In reading order:

* `plan`: the plan.
* `planning`: making and quoting a plan.
"""
