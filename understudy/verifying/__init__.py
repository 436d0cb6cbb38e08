"""Verifying a bundle offline: signature, hashes, plan and epsilon, without any code of the service.

In reading order, each part after those that it imports:

* `strict_json`: JSON from untrusted sources.
* `bundle_zip`: the archive of a bundle, read strictly.
* `bundle_file`: the files of a bundle.
* `local_form`: certificates without a service.
* `form`: a document against its JSON Schema.
* `signatures`: the signature and its key.
* `closeness`: equality up to rounding.
* `bounds`: inputs and results of the accountants.
* `chernoff`: tails of sums of losses.
* `loss`: bounds on epsilon by privacy loss distributions.
* `renyi`: epsilon by Renyi divergences.
* `calibrated`: the noise of parts with a fixed share of the budget.
* `learning`: releases that learn a domain.
* `accounting`: a certificate's figures against the verifier's own accountants.
* `records`: the records of a generator.
* `schedule`: noise and groups of histograms.
* `marginals`: plans of "aim" and "mst".
* `anchors`: counts and moments released before training.
* `reused`: counts of earlier releases.
* `planned`: the statements that follow from a plan.
* `executed`: the execution against the plan.
* `federations`: members of a federation.
* `counts`: noisy counts in a bundle.
* `contents`: the other files of a bundle.
* `owners`: ledgers of several owners.
* `private_models`: releases of private models.
* `adaptive`: bounds on epsilon of a selection.
* `selections`: releases of selections.
* `verification`: every check of a bundle, in order.
* `utility`: utility reports.
"""
