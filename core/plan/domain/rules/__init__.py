"""Rules between columns.

In reading order, each file after those that it imports:

* `classes`: values of columns in classes that rules distinguish.
* `mending`: each kind of rule at work on drawn rows: which rows break it, and how they are mended.
* `exchanging`: rows that break an order take values of other rows.
* `keeping`: the whole way from drawn rows to rows that keep all rules.
* `values`: values in rules, read and written.
* `kinds`: the kinds of rules as they are declared, as frozen values.
* `reading`: rules read from the domain document.
"""
