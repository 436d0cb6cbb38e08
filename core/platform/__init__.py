"""The platform around data, plans and ledgers: people, secrets, messages, health.

In reading order, each part after those that it imports:

* `secrets`: weak secrets are refused.
* `settings`: the settings of the server roles.
* `access`: people, keys, sessions and roles.
* `budget_requests`: one person asks for budget, another decides.
* `quotas`: limits of one principal.
* `notifications`: events are delivered to the addresses that asked for them.
* `witness`: where the chains end is noted outside the database, and compared.
* `gpus`: the GPUs of this machine, and which training has which.
* `health`: heartbeats of workers, and results of chores.
* `stored_objects`: the keys of a job's objects, and the removal of those that are no longer needed.
* `deletion`: a dataset is deleted, its key first.
* `rotation`: secrets are sealed anew under another master key.
"""
