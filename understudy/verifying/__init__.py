"""Verifying a bundle offline: signature, hashes, plan and epsilon, without any code of the service.

In reading order, each part after those that it imports:

* `strict_json`: JSON from strangers.
* `bundle_zip`: the archive of a bundle, read strictly.
* `bundle_file`: the files of a bundle.
* `local_form`: how certificates without a service differ.
* `form`: a document and its JSON Schema.
* `signatures`: who signed.
* `closeness`: numbers that are equal up to rounding.
* `bounds`: inputs and results of the accountants.
* `chernoff`: tails of sums of losses.
* `loss`: epsilon, enclosed by privacy loss distributions.
* `renyi`: epsilon by Renyi divergences.
* `calibrated`: the noise of parts with a fixed share.
* `learning`: releases that learn a domain.
* `accounting`: a certificate's figures and these accountants.
* `records`: what a generator makes.
* `schedule`: noise and groups of histograms.
* `marginals`: plans of "aim" and "mst".
* `anchors`: counts and moments that come before training.
* `reused`: counts of earlier releases.
* `planned`: what a certificate must state of its plan.
* `executed`: what ran, and the plan.
* `federations`: members of a federation.
* `counts`: noisy counts in a bundle.
* `contents`: the other files of a bundle.
* `owners`: several owners' ledgers.
* `private_models`: releases of private models.
* `adaptive`: epsilon of a selection.
* `selections`: releases of selections.
* `verification`: every check of a bundle, in order.
* `utility`: utility reports.
"""
