"""The platform around data, plans and ledgers: people, secrets, messages, health.

In reading order, each part after those that it imports:

* `secrets`: refusal of weak secrets.
* `settings`: the settings of the server roles.
* `access`: people, keys, sessions and roles.
* `budget_requests`: members of datasets, and their requests for budget.
* `quotas`: limits of one principal.
* `notifications`: delivery of events by webhook and e-mail.
* `witness`: heads of the chains, noted outside the database and compared.
* `gpus`: the GPUs of this machine, and the claims of trainings on them.
* `health`: heartbeats of workers, and results of chores.
* `stored_objects`: the keys of a job's objects, and the removal of those that are no longer needed.
* `deletion`: deleting a dataset, its key first.
* `rotation`: changing the master key.
"""
