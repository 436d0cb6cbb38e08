"""What the client says of quotes, budgets and reports: lines for a terminal and for Python.

`service.wording` does the same for the pages. The client cannot share it: it imports nothing of the service.

In reading order, each file after those that it imports:

* `quotes`: what would run, what it costs, what is left.
* `budgets`: budgets, requests and grants.
* `utility_reports`: a utility report, or a quote of one.
"""
