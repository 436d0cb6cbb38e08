"""Cleaning: raw columns of a file to clean, typed columns.

In reading order, each file after those that it imports:

* `text`: text parsed into numbers and times.
* `cleaned`: the result for one column: clean values, and the rows that were refused or changed.
* `labels`: words to codes of the declared list.
* `ordered`: numbers, dates and times.
* `column`: the declared policies applied to a column of any kind.
"""
