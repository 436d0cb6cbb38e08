"""Plans: everything in a job that costs privacy, fixed before a row is read. Pure functions of public facts.

In reading order, each part after those that it imports:

* `errors`: errors of specs, options and plans.
* `near_names`: a known name that an unknown one nearly is.
* `domain`: the declared domain of a dataset.
* `options`: options of the synthesizer "idpgan".
* `gaussian_releases`: several Gaussian releases on every unit.
* `marginals`: the synthesizers "aim" and "mst".
* `spec`: a synthesizer and its options, without budget or dataset.
* `installed`: whether optional libraries are there.
* `learning`: learning a domain from rows, under noise.
* `image_anchor`: what is counted of images.
* `stages`: the private stages of a plan, as values.
* `counting_rules`: what is counted of a table, and how finely.
* `critic_groups`: groups of the critic's coordinates.
* `image_rules`: public rules for images.
* `rules`: defaults of the options, by public rules.
* `noise`: the noise of every stage, for a guarantee.
* `reused`: counts of earlier releases, as values.
* `mechanism_forms`: the mechanisms of plans, as published.
* `plan_document`: what plans of every kind share.
* `plan`: the plan of a generator.
* `split`: its shares of the budget.
* `expected_error`: how far off its counts will be.
* `reusing`: which earlier counts a plan takes over.
* `owners`: the owners of a job over several datasets.
* `joint_plan`: the plan of their generator.
* `federation`: owners that train each in their own service.
* `member_plan`: the plan of one of them.
* `report_plan`: the plan of a utility report.
* `model_options`: options of a private model.
* `model_plan`: the plan of a private model.
* `selection`: the plan of a selection; all kinds of plans together.
* `devices`: which kind of device trains a plan.
* `quote`: what an order would cost.
* `selection_planning`: planning and quoting selections.
* `report_columns`: what a utility report can measure.
* `report_planning`: planning and quoting utility reports.
* `model_planning`: planning private models.
* `model_cautions`: options that make a useless model likely.
* `model_quote`: quotes of private models.
"""
