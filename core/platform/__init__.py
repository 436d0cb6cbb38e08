"""The platform around data, plans and ledgers: people, secrets, messages, health.

In reading order, each part after those that it imports:

* `secrets`: weak secrets are refused.
* `settings`: the settings of the server roles.
* `access`: people, keys, sessions and roles.
* `budget_requests`: one person asks for budget, another decides.
* `quotas`: limits of one principal.
* `notifications`: events are delivered to the addresses that asked for them.
* `witness`: where the chains end is noted outside the database, and compared.
* `health`: heartbeats of workers, and results of chores.
* `deletion`: a dataset is deleted, its key first.
* `rotation`: secrets are sealed anew under another master key.
"""
