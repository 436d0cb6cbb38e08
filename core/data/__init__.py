"""Private rows at rest: object stores, sealing, intake, and the only way to read them.

In reading order, each part after those that it imports:

* `errors`: errors of stored objects and of uploads.
* `durable_files`: local files that survive a power failure.
* `objects`: object stores: a folder, an S3 bucket, or memory.
* `sealing`: envelope encryption, in streams of chunks.
* `master_keys`: the master key, and the previous one during a rotation.
* `stored_rows`: the stored form of rows: a sealed Arrow stream.
* `private_rows`: the only access to private rows.
* `failure_notes`: tracebacks for the owner of the rows alone.
* `boards`: the sealed address of a federation's board.
* `intake`: untrusted bytes become clean, sealed rows.
* `upload_parts`: the sealed parts of an upload.
* `waiting_rows`: rows that wait for their owner's decision.
* `uploads`: multipart uploads: state and SQL.
"""
