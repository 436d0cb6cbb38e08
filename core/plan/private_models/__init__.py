"""Private models: classifiers of a table's target or of image labels, trained by DP-SGD.

In reading order, each part after those that it imports:

* `options`: options, as requested and as planned.
* `plan`: the plan.
* `planning`: making a plan by public rules.
* `cautions`: options that make a useless model likely.
* `quote`: the price of an order.
"""
