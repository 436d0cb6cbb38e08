"""Results of jobs: bundles, certificates and reports, and the code that reads them.

In reading order, each part after those that it imports:

* `errors`: errors of releases.
* `drained_file`: a file that is drained in pieces.
* `manifest`: how to sample from a network.
* `counts`: noisy counts in a bundle.
* `bundle`: the bundle of a generator.
* `script_sources`: what the scripts of bundles are made of.
* `sampling`: drawing rows and images, without torch.
* `asking`: questions about noisy counts.
* `packing`: the same generator gives the same bytes.
* `stated_split`: the split of a budget, for readers.
* `readme`: the README in a bundle.
* `statements`: the sentences of certificates.
* `signing`: Ed25519 signatures.
* `execution`: what ran, recorded.
* `certificate_form`: the certificate of a generator, as types.
* `owners_ledgers`: what each of several owners was charged.
* `joint_form`: the certificate of several owners' generator, as types.
* `member_form`: the certificate of a federation's member, as types.
* `certificate`: making these three.
* `private_models`: the same of private models.
* `selection_execution`: what ran of a selection.
* `selection_certificate`: its certificate.
* `reports`: owner reports and utility reports.
"""
