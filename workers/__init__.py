"""The workers: Celery tasks, the child processes that alone open private rows, and the operator's commands.

Parents claim, watch, sign and publish; they never see a row. A child gets a claim, opens rows, and reports an exit code.
In reading order, each part after those that it imports:

* `child`: both sides of a child process: how it is started, watched and ended, and how it limits itself.
* `attempts`: the life of an attempt, the same for every kind of job.
* `publishing`: the parent signs what a child staged.
* `training`: the jobs that a ledger pays for: trainings and utility reports.
* `owner_reports`: the jobs that make owner reports.
* `app`: the Celery tasks.
* `runner`: the child's entry: it imports the module of its kind of work.
* `assignment`: what a training child is given and keeps: plan, keys, checkpoints.
* `round_notes`: which rounds a member may have handed in, noted outside the database.
* `federation_board`: the board of a federation, as a member calls it.
* `measuring`: a child measures a utility report.
* `shared_counting`: children that count for a training, and where counts are exchanged.
* `training_child`: a child trains a generator or a classifier.
* `owner_report_child`: a child makes an owner report.
* `ledger_audit`: verifies ledgers and audit log against their witnesses; a command.
* `upkeep`: repairs what a lost message or a dead worker broke; a process.
* `backup`: writes database and objects into a folder; a command.
* `restore`: puts a backup back and verifies the ledgers; a command.
"""
