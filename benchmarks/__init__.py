"""Measurements of the product on public data: quality, speed and cost. Nothing of the product imports them.

Folders:

* `tables`: synthetic tables beside those of other methods; `tables.peers` holds the other methods.
* `images`: synthetic images, scored by classifiers that are trained on them.
* `idpgan`: the paper's own measurements: ablation, Poker hands, composition.
* `declarations`: the value of each declaration that a domain may contain.
* `baselines`: other generators at the same budget, trained by our own private step.
* `steps`: seconds and memory of one private training step.
* `service`: load on a real server: orders, polling, uploads, recovery.
* `peers`: quick starts of other products, run by `beside_peers`.
* `domains`: domain documents of the public data sets.
* `scorers`: trained classifiers that score images.
* `results`: one JSON file for each benchmark, from which `docs` makes pages and plots.

Modules beside the folders are benchmarks too, but for `datasets`, `machine`, `publishing`, `resident`, `results_file`, `runs` and `scoring`,
which several benchmarks share. `make` lists the command of each.
"""
