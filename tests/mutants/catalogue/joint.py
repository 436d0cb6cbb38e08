"""Bugs in jobs over the datasets of several owners: a ledger, a row or a person of one of them is overlooked."""

from tests.mutants.mutant import Mutant

COUNTS = "tests/models/counting/test_streamed.py::test_the_counts_of_owners_add_up_and_a_unit_moves_them_by_no_more_than_those_of_one"
LEDGERS = "tests/core/jobs/test_several_owners.py"
RELEASED = (
    "tests/workers/test_joint_generators.py::test_a_generator_over_three_owners_is_certified_for_each_ledger"
)
REPLAYED = "tests/workers/test_joint_generators.py::test_killed_between_its_noises_a_training_over_owners_leaves_the_same_bytes"
PLANNED = (
    "tests/workers/test_joint_generators.py::test_a_plan_over_owners_is_of_counts_alone_and_of_these_owners"
)

MUTANTS = (
    Mutant(
        name="owner-counted-twice",
        module="models.counting.streamed",
        function="JointCounter.count",
        before="self._counters",
        after="(*self._counters, self._counters[0])",
        bug="the rows of one owner count twice, so that each of its units moves the sums by twice what is charged",
        source="a sum over parts that overlap",
        killed_by=COUNTS,
    ),
    Mutant(
        name="sensitivity-shared-by-owners",
        module="models.counting.streamed",
        function="JointCounter.__init__",
        before="self.forbidden, self.most_records = first.forbidden, first.most_records",
        after="self.forbidden, self.most_records = first.forbidden, first.most_records / len(counters)",
        bug="the sensitivity of the sums is divided by the number of owners, as if they were averages",
        source="the sensitivity of a mean for a sum",
        killed_by=COUNTS,
    ),
    Mutant(
        name="rows-of-several-owners-trained-on",
        module="core.plan.several_owners.joint_plan",
        function="JointPlan.__post_init__",
        before="not self.only_counts or self.reused",
        after="self.reused",
        bug="a plan over several owners trains on records, whose sums over owners need a proof of their own",
        source="a proof that is used outside its conditions",
        killed_by=PLANNED,
    ),
    Mutant(
        name="fresh-noise-at-every-attempt",
        module="workers.training_child",
        function="_trained",
        before="KeyedStreams(work.randomness_key, releases=releases)",
        after="""
            KeyedStreams(
                hashlib.sha256(work.randomness_key + bytes([work.claim.fence])).digest(), releases=releases
            )
        """,
        bug="a training that was killed adds other noise to the sums that it has released, and the attempts average it away",
        source="a retry that releases again",
        killed_by=REPLAYED,
    ),
    Mutant(
        name="owner-not-charged",
        module="core.ledger.ledger",
        function="reserve_all",
        before="movement = Movement(kind=EntryKind.RESERVED, job_id=job_id, charge=charge, grant_id=payer.grant_id)",
        after="""
            movement = Movement(
                kind=EntryKind.RESERVED,
                job_id=job_id,
                charge=charge if payer is ordered[0] else NOTHING,
                grant_id=payer.grant_id,
            )
        """,
        bug="only the first owner's ledger is charged, and the others show an entry of nothing",
        source="all or none, without all",
        killed_by=f"{LEDGERS}::test_every_ledger_is_charged_the_whole_plan_and_settled_alike",
    ),
    Mutant(
        name="room-of-one-owner",
        module="core.ledger.ledger",
        function="reserve_all",
        before="""
            admitted = [_admitted(session, payer, budget, charge, at=clock.now()) for payer, budget in locked]
        """,
        after="""
            admitted = [_admitted(session, *locked[0], charge, at=clock.now())] * len(locked)
        """,
        bug="one owner's cap and grant decide for all, so that the ledger of another goes above its cap",
        source="a filter that is asked once for several budgets",
        killed_by=f"{LEDGERS}::test_an_owner_without_room_lets_nobody_reserve",
    ),
    Mutant(
        name="settled-in-one-of-several-ledgers",
        module="core.ledger.ledger",
        function="settle",
        before="_moves(locked, EntryKind.SETTLED, charge=charged)",
        after="_moves(locked[:1], EntryKind.SETTLED, charge=charged)",
        bug="a stopped job is settled in one owner's ledger, and the ledgers disagree on what was executed",
        source="all or none, without all",
        killed_by=f"{LEDGERS}::test_every_ledger_is_charged_the_whole_plan_and_settled_alike",
    ),
    Mutant(
        name="spend-noted-for-one-owner",
        module="workers.training",
        function="Trainer._refusal",
        before="claim.population_ids",
        after="claim.population_ids[:1]",
        bug="rows of all owners are opened once one ledger's spend is noted outside the database: a restored backup forgets the others",
        source="rollback of a ledger",
        killed_by=RELEASED,
    ),
    Mutant(
        name="publication-noted-for-one-owner",
        module="workers.training",
        function="Trainer._publish",
        before="claim.population_ids",
        after="claim.population_ids[:1]",
        bug="a restored backup knows of the publication in one owner's ledger alone",
        source="rollback of a ledger",
        killed_by=RELEASED,
    ),
    Mutant(
        name="verifier-overlooks-an-owner",
        module="understudy.verifying.owners",
        function="problems",
        before="[{name: one[name] for name in _OWNER} for one in ledgers] != named",
        after="any({name: one[name] for name in _OWNER} not in named for one in ledgers)",
        bug="the verifier accepts a certificate that leaves out an owner of its plan",
        source="a check of what is there for a check of what is missing",
        killed_by=RELEASED,
    ),
    Mutant(
        name="person-with-several-owners-as-one",
        module="core.artifacts.owners_ledgers",
        function="presence_of",
        before="total += plan.guarantee.delta * math.exp(min((owners - 1) * epsilon, _LARGEST_EXPONENT))",
        after="total += plan.guarantee.delta",
        bug="the delta for a person with several owners is a plain sum, below what the group rule gives",
        source="group privacy of approximate differential privacy (Vadhan 2017, lemma 2.2)",
        killed_by=RELEASED,
    ),
    Mutant(
        name="several-owners-certified-as-one",
        module="core.artifacts.certificate",
        function="_schema",
        before="JOINT_SCHEMA if isinstance(plan, JointPlan) else SCHEMA",
        after="SCHEMA",
        bug="readers that know one ledger accept the certificate and overlook the others",
        source="an extension that old readers ignore",
        killed_by=RELEASED,
    ),
    Mutant(
        name="round-made-again-after-it-left",
        module="models.classifier.averaging",
        function="train_averaged",
        before="inside(_OWN, tensors) if number == first else {}",
        after="{}",
        bug="a member that is resumed on another kind of processor hands in a second, differently rounded state under the same noise",
        source="found by an attack on federations",
        killed_by="tests/models/classifier/test_federation.py::test_a_member_resumed_on_another_machine_hands_in_what_it_had_made",
    ),
    Mutant(
        name="older-answers-of-a-board",
        module="workers.assignment",
        function="Checkpoints.load",
        before="self.federated",
        after="self.federated is None",
        bug="a member whose newest checkpoint is damaged goes on from a stale worker's, with other answers of the board",
        source="found by an attack on federations",
        killed_by="tests/workers/test_checkpoints.py::test_of_a_federation_no_older_state_stands_in_for_a_damaged_one",
    ),
    Mutant(
        name="stale-answers-of-a-board",
        module="workers.assignment",
        function="JobHost.save_checkpoint",
        before="self._checkpoints.federated",
        after="self._checkpoints.federated is None",
        bug="a worker that lost its lease stores what a board answered to it alone, and the job may go on from it",
        source="found by an attack on federations",
        killed_by="tests/workers/test_host.py::test_a_stale_attempt_of_a_federation_saves_nothing",
    ),
    Mutant(
        name="rounds-handed-in-without-a-note",
        module="workers.round_notes",
        function="NotedBoard.exchange",
        before="self._notes.add(number)",
        after="pass",
        bug="a member whose database was restored does not know which rounds it handed in, and releases them again on other answers",
        source="found by an attack on restored federations",
        killed_by="tests/workers/test_round_notes.py::test_a_restored_member_releases_no_round_again_and_stays_charged[counts]",
    ),
    Mutant(
        name="forgotten-rounds-charged-by-the-marks",
        module="workers.round_notes",
        function="noted",
        before="claims.advance(session, claim, **_whole(claim.plan))",
        after="pass",
        bug="the job of a restored member ends, charged for the rounds that the restored marks show",
        source="found by an attack on restored federations",
        killed_by="tests/workers/test_round_notes.py::test_a_restored_member_releases_no_round_again_and_stays_charged[weights]",
    ),
    Mutant(
        name="forgotten-rounds-given-back",
        module="workers.round_notes",
        function="_marked",
        before="session.execute(update(Job).where(Job.id == job_id).values(whole))",
        after="pass",
        bug="whoever cancels the job of a restored member gets back what it had handed in",
        source="found by an attack on restored federations",
        killed_by="tests/workers/test_round_notes.py::test_a_cancel_after_the_restore_gives_no_round_back[weights]",
    ),
)
