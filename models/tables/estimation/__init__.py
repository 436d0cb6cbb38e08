"""Estimates of shares from noisy counts, consistent and without negative ones. Post-processing of a release, free of charge.

* `column_prior`: estimates of a column's counts where codes have no order.
* `smoothing`: noisy counts of a column, smoothed.
* `column_distributions`: shares of every column, from all counts that include it.
* `association`: distributions of two ordered columns with one odds ratio.
* `implied`: estimates of pairs that were not counted.
* `shrinkage`: residuals, shrunk by the share that noise explains.
* `zeros`: cells that declared rules leave empty.
* `shrunk_pairs`: shares of pairs.
* `targets`: consistent targets from all counts.
* `refined`: targets over parts of groups, of columns that nearly determine each other.
* `combinations`: targets where all combinations of codes were counted.
"""
