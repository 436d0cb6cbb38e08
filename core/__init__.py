"""Everything that the service, its workers and the local library share. No torch, no web.

In reading order, each part after those that it imports:

* `canonical`: canonical JSON, which hashes and signatures cover.
* `clock`: an injectable clock.
* `errors`: the tree of all errors that users can see.
* `values`: frozen dataclasses with one JSON document each.
* `logs`: structured logs.
* `crashes`: no core dumps from processes that hold rows or keys.
* `tracing`: traces across the queue.
* `startup`: no garbage collection while entry points import.
* `dp`: differential privacy by itself: mechanisms, their cost, filters.
* `plan`: everything in a job that costs privacy, fixed before a row is read.
* `db`: tables, and the one place that commits.
* `ledger`: spends, caps and decisions in a hash chain; admission.
* `jobs`: jobs, leases and endings.
* `data`: intake, encryption and private rows.
* `artifacts`: bundles, certificates and reports.
* `platform`: people, secrets, notifications, health.
"""
