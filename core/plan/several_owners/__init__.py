"""Jobs over the datasets of several owners.

In reading order, each part after those that it imports:

* `owners`: the owners of a job in one service.
* `joint_plan`: the plan of several owners' generator.
* `federation`: owners that each train in their own service.
* `member_plan`: the plan of one of them.
"""
