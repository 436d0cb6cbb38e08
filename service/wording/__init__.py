"""The service's facts in plain language, for pages and documents.

In reading order, each file after those that it imports:

* `amounts`: epsilons, deltas, counts, shares, times and ids.
* `labels`: states, actions, refusals and names.
* `budget_pictures`: bars and sparklines of a budget.
* `certificate_text`: certificates in sentences.
* `domain_text`: domains in sentences.
"""
