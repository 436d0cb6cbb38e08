"""The ledger of one dataset as a file.

In reading order, each file after those that it imports:

* `lines`: a header and entries, as lines of JSON.
* `file`: the file under its lock: verified when it is opened, on the disk before rows are read.
* `remaining`: what is left for a training, and how refusals say it.
* `accounts`: caps and charges of the trainings of this machine.
"""
