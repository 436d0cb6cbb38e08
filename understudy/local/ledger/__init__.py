"""The ledger of one dataset as a file.

In reading order, each file after those that it imports:

* `lines`: a header and entries, as lines of JSON.
* `file`: the locked file: verified on opening, and on disk before rows are read.
* `remaining`: the remaining budget for a training, and the wording of refusals.
* `accounts`: caps and charges of trainings on this machine.
"""
