"""Bugs in the training of private models."""

from tests.mutants.mutant import Mutant

AVERAGING = "models.classifier.averaging"
FEDERATION = "tests/models/classifier/test_federation.py"
AVERAGED = "tests/models/classifier/test_averaging.py::test_nothing_but_one_owners_sums_knows_a_unit[table-2]"
DECLARED = "tests/models/classifier/test_averaging.py::test_the_weight_divisor_and_rate_of_an_owner_do_not_follow_from_its_rows"
DENSE, TRAINING = "models.classifier.dense_form", "models.classifier.private_training"
NEIGHBOURS = "tests/models/classifier/test_private_training.py::test_nothing_but_the_releases_knows_a_unit"
BY_HAND = "tests/models/classifier/test_forms.py::test_both_engines_make_the_clipped_sum_of_automatic_differentiation"
MOVED = "tests/models/classifier/test_forms.py::test_no_record_moves_the_sum_by_more_than_the_norm"
REFUSED = (
    "tests/models/classifier/test_private_training.py::test_a_release_with_less_noise_than_charged_is_refused"
)

MUTANTS = (
    Mutant(
        name="model-gradients-unclipped",
        module=DENSE,
        function="DenseForm.clipped_sum",
        before="clipped = counted(left, spoiled) * clips",
        after="clipped = counted(left, spoiled)",
        bug="the gradients of a classifier are summed without the clip",
        source="DP-SGD without per-example clipping",
        killed_by=MOVED,
    ),
    Mutant(
        name="model-biases-outside-the-norm",
        module=DENSE,
        function="DenseForm._squares",
        before="squared_norms(left) * (squared_norms(right) + 1.0)",
        after="squared_norms(left) * squared_norms(right)",
        bug="the norm that is clipped leaves out the biases",
        source="parameters that a hook forgot",
        killed_by=BY_HAND,
    ),
    Mutant(
        name="model-noise-of-half-the-norm",
        module=TRAINING,
        function="PrivateClassifier.__init__",
        before="noise_plan(self.partition, noise_multiplier=plan.noise_multiplier, max_batch=plan.max_sampled_batch)",
        after="noise_plan(self.partition, noise_multiplier=plan.noise_multiplier / 2, max_batch=plan.max_sampled_batch)",
        bug="a classifier's steps have half the charged noise",
        source="noise scaled by another norm than the clip's",
        killed_by=NEIGHBOURS,
    ),
    Mutant(
        name="model-accuracy-of-trained-units",
        module=TRAINING,
        function="train_classifier",
        before="part_of(records, ~part)",
        after="records",
        bug="held-out units take part in the steps, so the accuracy is of units that the model has seen",
        source="evaluation on training data",
        killed_by="tests/models/classifier/test_private_training.py::test_held_out_units_take_part_in_no_step",
    ),
    Mutant(
        name="model-components-of-long-records",
        module="models.classifier.networks",
        function="shortened",
        before="rows / lengths.clamp(min=1.0)",
        after="rows * 1.0",
        bug="second moments are of records of any length",
        source="DP-PCA without normalisation of the records",
        killed_by=NEIGHBOURS,
    ),
    Mutant(
        name="model-record-believes-any-noise",
        module="models.release_recorder",
        function="PlanRecorder.exact",
        before="charged is None or not sensitivity * charged <= 1 + _TOLERANCE",
        after="charged is None",
        bug="the record notes a release whatever noise it got",
        source="a certificate that nothing checks",
        killed_by=REFUSED,
    ),
    Mutant(
        name="owner-left-out-of-the-plan",
        module="core.jobs.claims",
        function="_plan_as_reserved",
        before="paid == dict.fromkeys(payers, cost)",
        after="cost in paid.values()",
        bug="a job runs although the ledgers that reserved it are not those of its plan's owners",
        source="all or none, without all",
        killed_by="tests/core/jobs/test_several_owners.py::test_a_plan_that_leaves_an_owner_out_never_runs",
    ),
    Mutant(
        name="note-of-several-owners-rows",
        module="workers.training_child",
        function="_stage",
        before="len(work.rows) == 1",
        after="len(work.rows) >= 1",
        bug="one owner reads a failure note that may quote rows of another",
        source="an error text that crosses owners",
        killed_by="tests/workers/test_private_models.py::test_a_failure_among_several_owners_rows_leaves_no_note",
    ),
    Mutant(
        name="copies-weighed-by-true-sizes",
        module=AVERAGING,
        function="LocalRows.of",
        before="declared_size / plan.declared_size",
        after="len(records.unit_of_record) / plan.declared_size",
        bug="owners' copies are averaged by their true numbers of records, which are private",
        source="FedAvg with n_k",
        killed_by=DECLARED,
    ),
    Mutant(
        name="owner-sampled-by-true-size",
        module=AVERAGING,
        function="LocalRows.of",
        before="UnitSampler(records.unit_of_record, sampling_rate=plan.sampling_rate, max_sampled_batch=plan.max_sampled_batch)",
        after="UnitSampler(records.unit_of_record, sampling_rate=min(1.0, plan.sampling_rate * declared_size / records.units), max_sampled_batch=plan.max_sampled_batch)",
        bug="the rate of an owner's coins follows from its true number of units, and is another than the charged one",
        source="a batch size divided by len(dataset)",
        killed_by=DECLARED,
    ),
    Mutant(
        name="owners-share-noise",
        module=AVERAGING,
        function="local_steps",
        before="number * (plan.copies - 1) + rows.place",
        after="number * (plan.copies - 1)",
        bug="all owners draw one noise in a step, so that the difference of their copies has none",
        source="one seed for all clients",
        killed_by=AVERAGED,
    ),
    Mutant(
        name="federated-noise-public",
        module=AVERAGING,
        function="train_averaged",
        before="round_streams(streams, number, packed_state(state))",
        after="public_streams(plan.federation)",
        bug="a member's noise follows from the federation's id, so that everybody can subtract it from the state that it hands in",
        source="one seed for all clients",
        killed_by=f"{FEDERATION}::test_what_leaves_depends_on_the_members_own_key",
    ),
    Mutant(
        name="federated-noise-repeats-on-other-weights",
        module="models.exchange",
        function="round_streams",
        before="_ROUND + secret + digest",
        after="_ROUND + secret",
        bug="a member that begins a round again from other weights draws the same noise, and the difference of its two states has none",
        source="noise addressed by round and step alone, under a board that lies to a resumed member",
        killed_by=f"{FEDERATION}::test_no_noise_is_drawn_twice_from_different_weights",
    ),
    Mutant(
        name="federated-lost-round-begun-again",
        module=AVERAGING,
        function="train_averaged",
        before="steps_begun > (first + 1) * each",
        after="False",
        bug="a member whose checkpoint is lost runs rounds again, and releases more noisy sums than its ledger was charged for",
        source="resuming from the newest readable checkpoint",
        killed_by=f"{FEDERATION}::test_a_training_whose_last_round_is_lost_is_not_begun_again",
    ),
    Mutant(
        name="units-of-owners-merged",
        module="models.coding",
        function="joined",
        before="part.unit_of_record + start",
        after="part.unit_of_record + 0 * start",
        bug="units of different owners are taken for one and move each other's part in a step",
        source="units numbered by file",
        killed_by="tests/models/classifier/test_private_training.py::test_units_of_different_owners_are_different_units",
    ),
)
