"""The table of leak channels: each row of the design, what closes it, and the tests that would fail if it were open."""

from typing import Final, NamedTuple


class Channel(NamedTuple):
    """One row."""

    channel: str
    rule: str
    tests: tuple[str, ...]
    """Paths of tests, with the function where a file has others."""


CHANNELS: Final = (
    Channel(
        "bounds, categories, scalers, dtype, null pattern, row order, duplicates",
        "the domain is declared; every row is cleaned and coded by looking at itself alone, in its place",
        ("tests/privacy/leaks/test_row_local.py", "tests/core/data/test_intake.py", "tests/workers/test_coding.py"),
    ),
    Channel(
        "NaN, infinity, huge values",
        "a rule that looks at the row alone; a record whose gradient is not finite contributes nothing, and none beats the clip",
        ("tests/privacy/leaks/test_bad_values.py", "tests/privacy/test_replay.py"),
    ),
    Channel(
        "batch divisor, number of steps, epochs, delta",
        "public constants of the plan; the exact count of rows stands in no formula",
        ("tests/privacy/leaks/test_public_constants.py", "tests/privacy/test_replay.py"),
    ),
    Channel(
        "early stopping, best checkpoint, plateau of the learning rate",
        "no choice is made on real rows: the steps are fixed and the published weights are an average",
        ("tests/privacy/leaks/test_no_choice.py",),
    ),
    Channel(
        "retries, resume",
        "a resumed job repeats its noise; that and when it crashed is told to nobody",
        ("tests/privacy/leaks/test_neighbours.py", "tests/workers/test_training_child.py", "tests/workers/test_faults.py"),
    ),
    Channel(
        "error messages, logs, labels of metrics, names of files, traces",
        "stable codes and opaque ids; words and the number of rows are planted and looked for everywhere",
        (
            "tests/privacy/leaks/test_canaries.py", "tests/service/test_canary.py", "tests/service/test_tracing.py",
            "tests/core/test_logs.py",
        ),
    ),
    Channel(
        "failure that depends on data",
        "a public cap on the sampled batch; charged in full; one code, one message, one word in logs, at an edge of time; that the owner looked for the sealed "
        "note is logged whether there is one or not",
        ("tests/privacy/leaks/test_data_dependent_failure.py", "tests/workers/test_training.py", "tests/service/test_deleting.py"),
    ),
    Channel(
        "timing",
        "fixed steps and shapes; ends and progress show at edges of time",
        ("tests/privacy/leaks/test_completion_times.py", "tests/core/jobs/test_visible_progress.py"),
    ),
    Channel(
        "checkpoints, state of optimisers, critic, sampling masks",
        "sealed while the job runs, destroyed with its key when it ends; only the generator leaves, which where a critic of "
        "labels chooses its pictures holds that critic's last parameters: outputs of noisy steps that were paid for",
        ("tests/privacy/leaks/test_nothing_else_leaves.py", "tests/workers/test_checkpoints.py"),
    ),
    Channel(
        "exact counts that a training exchanges with helpers on other hosts, and how long helpers are busy",
        "sealed under a key of the job in their place, deleted once they are added up, destroyed with the key; helpers write nothing "
        "else down, and workers that take trainings or reports do not serve their queue",
        ("tests/workers/test_shared_counting.py",),
    ),
    Channel(
        "sampling, conditional sampling",
        "the sampler has the bundle and nothing else: it draws the same when the rows are gone",
        ("tests/privacy/leaks/test_sampling.py",),
    ),
    Channel(
        "notifications: what they say, when they are sent, and to whom",
        "kinds, ids and full minutes; written in the transaction of what they tell of, so of a training not before its edge; rights are asked for "
        "again before every attempt; webhooks lead to public addresses only, and nothing of their answers is kept",
        (
            "tests/privacy/leaks/test_notifications.py", "tests/service/notifications/test_telling.py",
            "tests/core/platform/notifications/test_addresses.py", "tests/core/platform/notifications/test_webhook.py",
            "tests/core/platform/notifications/test_mail.py",
        ),
    ),
    Channel(
        "utility reports",
        "one Gaussian on terms that one unit moves by one record each; the classifier and all it is read against come from "
        "the release; denominators are the declared size; nothing is charged before the mark, nothing opened before it",
        ("tests/models/reports/test_utility.py", "tests/models/reports/test_utility_images.py", "tests/workers/test_utility_reports.py", "tests/privacy/leaks/test_neighbours.py"),
    ),
    Channel(
        "uploads",
        "no echo of content to anybody; sealed at rest; deleted by destroying the key, with a tombstone; metrics count neither their parts, nor what files are "
        "refused for, nor the objects that upkeep removes",
        ("tests/privacy/leaks/test_uploads_echo_nothing.py", "tests/service/test_waiting_rows.py", "tests/workers/test_upkeep.py", "tests/privacy/leaks/test_images.py", "tests/core/platform/test_deletion.py", "tests/service/test_canary.py"),
    ),
    Channel(
        "rows that wait because many were refused: that they wait, and what the owner decides",
        "the dataset stays declared; the same status, no line in the audit log and no count in the metrics until the owner accepts, which "
        "is logged like an upload; waiting rows are sealed, counted against the owner's quota, and destroyed with the dataset",
        ("tests/service/test_waiting_rows.py", "tests/dashboard/test_plain_upload.py"),
    ),
    Channel(
        "views of everybody but the owner",
        "the same to the byte on neighbouring tables, outputs of mechanisms excepted",
        ("tests/privacy/leaks/test_neighbours.py", "tests/privacy/leaks/test_sources.py"),
    ),
    Channel(
        "owner reports: what they say (the summary too), that and whether there is one, their failures and sizes",
        "one file, sealed with the dataset's key in its folder, destroyed with it; a failure among the rows is a file of the same "
        "kind and step of size; the owner alone is answered, everybody else as if there were none; audit log: acts of the owner only",
        (
            "tests/workers/test_owner_reports.py", "tests/service/test_owner_reports.py", "tests/dashboard/test_owner_reports.py",
            "tests/privacy/leaks/test_owner_reports.py", "tests/privacy/leaks/test_canaries.py",
        ),
    ),
    Channel(
        "how long a worker is busy with an owner report",
        "it is free again, and the report there, only at whole multiples of a public time since the claim; how many rows are compared, learnt from and attacked, and the most steps, are public constants",
        ("tests/workers/test_owner_reports.py",),
    ),
    Channel(
        "the types of the frame that was fitted, which drawn rows have in the local library",
        "levels, digits of decimals, whether numbers of 64 bits are whole or real, and whether a column of pandas is `bool` or objects, follow from the domain; other types, and the unit of times, "
        "are taken from the owner's code as public",
        ("tests/understudy/local/test_types_of_rows.py",),
    ),
    Channel(
        "crash dumps",
        "no process that holds rows or keys leaves a core; what would print a stack leads nowhere",
        ("tests/privacy/leaks/test_canaries.py", "tests/workers/test_training_child.py"),
    ),
)  # fmt: skip

LIMITS: Final = """\
* **The operator** reads logs and traces, which tell how long requests with rows took, how many parts an upload had and with which status files were
  refused and a failure note was found, and has the disks, which tell how large sealed objects are. Where helpers count, the broker sees how many shards there are. The operator is trusted with more than that
  ([threat-model.md](threat-model.md)).
* **The moment of an upload** is the owner's own act; the audit log tells it to auditors and admins, and how long it took where it came
  in parts.
* **Whether an upload closed the dataset** is told by its state. It depends on the share of refused rows, as it always did on whether any row was
  accepted, until the owner has decided; an owner to whom this matters sends rows with `max_refused=1`, which closes the
  dataset whatever is refused. It also tells that there are at most twice as many units as declared: an upload with more is refused, and its owner
  alone learns why; the metrics do not count what a file is refused for (`tests/service/test_waiting_rows.py`). A declared size that is round and near the truth is far from that limit.
* **A nearly full disk**: the doctor's report tells admins and auditors the free space in megabytes then; what the GPUs hold is among the
  metrics.
* **The number of buckets of time** that a training took, and the buckets in which its twentieths were reached
  ([decisions/completion-times.md](decisions/completion-times.md)).
* **The number of slots of time** that an owner report kept a worker busy, where others wait for that worker; a table that takes longer
  than a slot (a minute) to compare takes a second one. That a report was given up after its attempts were used up (the machine's memory,
  a limit of time) stands in its row, which the operator can read.
* **What the owner does after reading an owner report** is outside the promise: the report is not differentially private. When it was
  ordered, read and deleted stands in the audit log, as any act of the owner ([reports.md](reports.md)).
"""
"""What these tests do not close, said."""
