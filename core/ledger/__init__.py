"""The ledger of a population, and the audit log: append-only hash chains.

In reading order, each part after those that it imports:

* `errors`: what the ledger refuses.
* `hash_chain`: editing, removing or reordering a link breaks every later one.
* `reservation`: a job's reservation, folded from its movements.
* `entries`: what is recorded, and the state that entries fold to.
* `admission`: whether a request fits, and how a refusal is worded.
* `repository`: rows as values.
* `ledger`: jobs: reserve, spend, settle, void, each under the lock of the budget's row.
* `governance`: people: caps, grants, freezes.
* `ledger_queries`: reading without a lock.
* `audit_log`: who did what to which thing; another chain.
"""
