"""Questions to the noisy counts of a release, answered with intervals. Post-processing, free of privacy cost.

In reading order, each part after those that it imports:

* `errors`: errors of questions.
* `question`: the grammar of questions.
* `codes`: the codes that a condition selects, and their labels.
* `estimates`: best linear unbiased estimates from all noisy tables at once.
* `result`: an answer and its rows.
* `rows_of`: intervals of counts and ratios.
* `hidden`: records that the noise hides.
* `rules_check`: declared rules that the counts contradict.
* `zeros`: cells that declared rules leave empty.
* `limits`: limits of columns that were not counted together.
* `assumed`: assumed counts of such columns.
* `crowded_bins`: bounds that are far wider than the values.
* `release_notes`: notes for the reader of a release.
* `predictor`: a linear predictor of the target from the counts.
* `answer`: answers: counts, means, shares.
* `hidden_rows`: conditions on synthetic rows that the noise hides.
"""
