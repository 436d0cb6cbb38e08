"""The client's wording of quotes, budgets and reports: lines for a terminal and for Python.

`service.wording` does the same for the pages. The client cannot import it, because the client imports nothing of the service.

In reading order, each file after those that it imports:

* `quotes`: a training, its price, and the remaining budget.
* `budgets`: budgets, requests and grants.
* `utility_reports`: utility reports and their quotes.
"""
