"""The stage "measure" on tables: which counts are released, and their noisy releases.

* `tree_of_pairs`: a spanning tree of dependent pairs.
* `pair_choice`: the choice of pairs to count.
* `second_round`: the choice of groups and pairs for the second round.
* `reuse`: counts of earlier releases, combined with the own ones.
* `measure`: the noisy releases, round by round.
* `counts`: noisy counts as tables for the bundle.
* `count_rounds`: rounds of a federation's noisy counts.
"""
