"""Counts of tables: measured with noise, then estimated from what was measured. The third stage, the fit, is the generator's.

* `code_groups`: groups of codes.
* `anchor`: noisy counts of columns, pairs and triples, by one Gaussian mechanism.
* `screening`: noisy distances of pairs from independence.
* `estimation`: consistent shares from all noisy counts. Post-processing.
* `measurement`: the stage "measure", in rounds of which the later ones follow from the estimates of the earlier.
"""
