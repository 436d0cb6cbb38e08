"""Jobs: ordered, claimed under a lease, ended with a charge.

In reading order, each part after those that it imports:

* `errors`: errors of orders and claims.
* `states`: the states of a job, and the transitions between them.
* `repository`: SQL on jobs and releases.
* `queue`: messages to the workers, which are hints.
* `turns`: whose job a free worker takes.
* `orders`: a job and its reservation, in one transaction.
* `leases`: one worker at a time holds a row; a claim is its hold on a job, as a value.
* `visible_progress`: the coarse steps in which progress becomes visible.
* `endings`: the endings of a job and their charges, and moves between queues.
* `claims`: claiming spends; heartbeats and marks.
"""
