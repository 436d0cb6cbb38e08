"""Learning a table's domain: the only place where bounds, bins and categories come from private rows.

In reading order, each part after those that it imports:

* `bounds`: bounds of a column, from noisy counts.
* `bins`: bins of a column, from noisy counts.
* `crowded_bins`: whether even bins of a column are crowded, from noisy counts.
* `records`: the bound on records per unit, from noisy counts.
* `checked_bounds`: checks of declared bounds, on rows in memory or in storage.
* `learning`: all of it in order, and the domain in which nothing is left to be learnt.
"""
