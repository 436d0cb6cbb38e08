"""Plans: everything in a job that costs privacy, fixed before a row is read. Pure functions of public facts.

In reading order, each part after those that it imports:

* `near_names`: a known name that an unknown one nearly is.
* `errors`: errors of specs, options and plans.
* `domain`: the declared domain of a dataset.
* `options`: options of the synthesizer "idpgan".
* `gaussian_releases`: several Gaussian releases on every unit.
* `graphical`: the synthesizers "aim" and "mst".
* `spec`: a synthesizer and its options, without budget or dataset.
* `installed`: whether optional libraries are there.
* `crowding`: the choice of declared bounds to check, and its share of the budget.
* `learning`: learning a domain from rows, under noise.
* `images`: counts of images, and defaults of their options.
* `stages`: the private stages of a plan, as values.
* `counting_rules`: the counts of a table, and their resolution.
* `critic_groups`: groups of the critic's coordinates.
* `defaults`: defaults of the options, by public rules.
* `noise`: the noise of every stage, for a guarantee.
* `reused_counts`: counts of earlier releases, as values.
* `mechanism_forms`: the mechanisms of plans, as published.
* `plan_document`: the base of plans of every kind.
* `plan`: the plan of a generator.
* `split`: a plan's shares of the budget.
* `expected_error`: the expected error of counts.
* `expected_marginals`: the expected error of a graphical model.
* `reuse_rules`: the choice of earlier counts to reuse.
* `quote`: the price of an order of any kind.
* `training_quote`: the price of a generator, and its expected error.
* `several_owners`: jobs over the datasets of several owners.
* `utility_reports`: plan and quote of a utility report.
* `private_models`: options, plan and quote of a private model.
* `selections`: plan and quote of a selection.
* `ordered_plan`: a plan of any kind.
* `devices`: the kind of device that trains a plan.
"""
