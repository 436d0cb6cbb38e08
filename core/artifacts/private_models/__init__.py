"""Results of a private model's job: its bundle and its certificate.

In reading order, each part after those that it imports:

* `rows`: rows of a file as the codes of the model, for its script.
* `script`: `predict.py`, the script in the bundle.
* `bundle`: the bundle.
* `constancy_check`: whether a model answers one class to all records.
* `readme`: the README in the bundle.
* `execution`: the record of what ran.
* `certificate_form`: the certificate, as types.
* `certificate`: making a certificate.
"""
