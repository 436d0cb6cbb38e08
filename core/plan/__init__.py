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
* `crowding`: which declared bounds are checked, and at what share.
* `learning`: learning a domain from rows, under noise.
* `images`: what is counted of images, and their defaults.
* `stages`: the private stages of a plan, as values.
* `counting_rules`: what is counted of a table, and how finely.
* `critic_groups`: groups of the critic's coordinates.
* `defaults`: defaults of the options, by public rules.
* `noise`: the noise of every stage, for a guarantee.
* `reused_counts`: counts of earlier releases, as values.
* `mechanism_forms`: the mechanisms of plans, as published.
* `plan_document`: what plans of every kind share.
* `plan`: the plan of a generator.
* `split`: its shares of the budget.
* `expected_error`: how far off its counts will be.
* `expected_marginals`: the same of a graphical model.
* `reuse_rules`: which earlier counts a plan reuses.
* `quote`: what an order of any kind would cost.
* `training_quote`: what a generator would cost, and its expected error.
* `several_owners`: jobs over the datasets of several owners.
* `utility_reports`: their plan and quote.
* `private_models`: their options, plan and quote.
* `selections`: their plan and quote.
* `ordered_plan`: the plan of an order, of any kind.
* `devices`: which kind of device trains a plan.
"""
