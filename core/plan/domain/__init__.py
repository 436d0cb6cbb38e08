"""The declared domain of a dataset: what values its columns may have, how rows are checked, and values as codes.

In reading order, each after those that it imports; a folder is read as its own map says:

* `errors`: errors about a declared domain.
* `reading`: a JSON document read key by key; every error points at its place.
* `confirmation`: drafts are refused while values taken from the data are marked.
* `columns`: the kinds of columns, their bins, patterns and distances from each other.
* `rules`: rules between columns, and how drawn rows are made to keep them.
* `table`: the domain of a table.
* `images`: the domain of a set of images.
* `declared`: a domain of either kind, read from its document.
* `schema`: Arrow types of stored and of sampled rows.
* `codec`: rows to codes and back.
* `cleaning`: raw columns of a file to clean, typed columns.
* `forbidden`: cells of two-way tables that the rules or the calendar leave empty.
* `spreadsheet`: declared text that a spreadsheet would run as a formula.
"""
