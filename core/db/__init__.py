"""The database: tables, transactions and the outbox.

In reading order, each part after those that it imports:

* `base`: constraint names, times, JSON and keys of all tables.
* `errors`: database errors without the driver's text.
* `tables`: all tables, one a file.
* `hanging`: bounded waits for a server that hangs.
* `outbox`: events, written in the transaction that they report.
* `session`: transactions, and the one place that commits.
"""
