"""Columns of a declared domain.

In reading order, each file after those that it imports:

* `bins`: an ordered column becomes a finite set of codes, by a public rule.
* `calendar`: dates and times as whole numbers, and the grids of their resolutions.
* `number_format`: how a file writes numbers for people, such as "1.234,50 €".
* `patterns`: weekday, month and hour of a time, coded beside its bin.
* `differences`: a column as another one plus a distance.
* `prefixes`: texts of which only the beginning counts.
* `kinds`: the kinds of columns, as frozen values.
* `common_keys`: keys that several kinds of columns have.
* `label_reading`: categories, levels and truth values from and to the domain document.
* `difference_reading`: "difference" of a column, read and checked.
* `document`: columns from and to the domain document.
"""
