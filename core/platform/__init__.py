"""The platform around data, plans and ledgers: people, secrets, messages, health.

In reading order, each part after those that it imports:

* `secrets`: weak secrets are refused.
* `settings`: the settings of the server roles.
* `access`: people, keys, sessions and roles.
* `budget_requests`: one person asks for budget, another decides.
* `quotas`: how much one principal may hold.
* `notifications`: events are delivered to the addresses that asked for them.
* `witness`: where the chains end is noted outside the database, and compared.
* `health`: signs of life of workers and chores.
* `deletion`: a dataset is deleted, its key first.
* `rotation`: secrets are sealed anew under another master key.
"""
