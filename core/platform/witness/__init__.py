"""Heads of the two hash chains, signed and noted outside the database.

In reading order, each part after those that it imports:

* `errors`: errors of witnesses.
* `signed_heads`: where a chain ended, signed.
* `witness_store`: where signed heads are kept.
* `verification`: chains compared with every noted head.
* `ledger_witness`: notes a ledger's head before it counts.
"""
