"""Results of jobs: bundles, certificates and reports, and the code that reads them.

In reading order, each part after those that it imports:

* `errors`: errors of releases.
* `drained_file`: a file that is drained in pieces.
* `manifest`: how to sample from a network.
* `counts`: noisy counts in a bundle.
* `bundle`: the bundle of a generator.
* `script_sources`: source code for the scripts of bundles.
* `sampling`: drawing rows and images, without torch.
* `asking`: questions about noisy counts.
* `packing`: bundles as bytes, the same for the same generator.
* `stated_split`: the split of a budget, for readers.
* `readme`: the README in a bundle.
* `statements`: the sentences of certificates.
* `signing`: Ed25519 signatures.
* `execution`: the record of what ran.
* `certificate_form`: the certificate of a generator, as types.
* `owners_ledgers`: the charges of several owners.
* `joint_form`: the certificate of several owners' generator, as types.
* `member_form`: the certificate of a federation's member, as types.
* `certificate`: making all three kinds of certificate.
* `private_models`: bundle, record and certificate of private models.
* `selection_execution`: the record of a selection.
* `selection_certificate`: the certificate of a selection.
* `reports`: owner reports and utility reports.
"""
