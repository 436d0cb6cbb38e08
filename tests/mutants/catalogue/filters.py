"""Bugs in the charges and filters between jobs: a cap that does not bound."""

from tests.mutants.mutant import Mutant

FILTERS = "core.dp.filters"
CHARGE = "core.dp.charge"
CONVERTS = "tests/core/dp/test_filters.py::test_a_capacity_converts_back_to_the_cap_at_its_share_of_delta"
SHARES = "tests/core/dp/test_filters.py::test_the_shares_of_delta_add_up_to_the_cap"
TOTAL = "tests/core/dp/test_charge.py::test_the_total_is_the_sum_in_any_order"

MUTANTS = (
    Mutant(
        name="amounts-rounded-down",
        module=CHARGE,
        function="charge_of",
        before="UNBOUNDED_MICROS if math.isinf(amount) else math.ceil(Fraction(amount) * MICRO)",
        after="UNBOUNDED_MICROS if math.isinf(amount) else math.floor(Fraction(amount) * MICRO)",
        bug="the ledger's amounts of Renyi divergence are rounded down: many small jobs are free",
        source="budgets kept to a few digits",
        killed_by="tests/core/dp/test_charge.py::test_amounts_are_rounded_up",
    ),
    Mutant(
        name="float-sums",
        module=CHARGE,
        function="total",
        before="epsilon_micros += charge.epsilon_micros",
        after="epsilon_micros = int((epsilon_micros / MICRO + charge.epsilon_micros / MICRO) * MICRO)",
        bug="epsilons are added as binary floats, and the sum loses a little with each addition",
        source="float budgets, as in most privacy ledgers",
        killed_by=TOTAL,
    ),
    Mutant(
        name="largest-instead-of-sum",
        module=CHARGE,
        function="total",
        before="epsilon_micros += charge.epsilon_micros",
        after="epsilon_micros = max(epsilon_micros, charge.epsilon_micros)",
        bug="jobs on the same people are charged as if they were on disjoint ones",
        source="parallel composition where it does not hold; IDPGAN, section 3.1",
        killed_by=TOTAL,
    ),
    Mutant(
        name="every-filter-owns-all-of-delta",
        module=FILTERS,
        function="rdp_capacity",
        before="share = cap.delta / (2 * len(ORDERS))",
        after="share = cap.delta",
        bug="one surviving filter of several is enough, and each spends the whole delta",
        source="the best of several orders without a union bound",
        killed_by=CONVERTS,
    ),
    Mutant(
        name="basic-owns-all-of-delta",
        module=FILTERS,
        function="_capacities",
        before="basic_share = 1 if cap.rule is AdmissionRule.BASIC else 2",
        after="basic_share = 1",
        bug="basic composition beside other filters spends the whole delta",
        source="filters combined by the largest instead of the sum of their deltas",
        killed_by=SHARES,
    ),
    Mutant(
        name="capacity-without-log-delta",
        module=FILTERS,
        function="rdp_capacity",
        before="math.log(order * share) / (order - 1)",
        after="math.log(order) / (order - 1)",
        bug="a filter's capacity B(a) lacks the term in log(delta)",
        source="SmartNoise SQL's missing log(1/delta)",
        killed_by=CONVERTS,
    ),
    Mutant(
        name="capacity-of-another-order",
        module=FILTERS,
        function="admit",
        before="amount = used.rdp_micros[ORDERS.index(order)]",
        after="amount = used.rdp_micros[max(0, ORDERS.index(order) - 1)]",
        bug="a filter is held against the divergence of the order below its own",
        source="synthcity issue 276: an index error in the accountant of PATE-GAN",
        killed_by="tests/core/dp/test_filters.py::test_gaussian_jobs_of_epsilon_one_fit_under_the_caps_of_the_design",
    ),
    Mutant(
        name="empty-filter-holds",
        module=FILTERS,
        function="_capacities",
        before="capacity if capacity > 0 else -1",
        after="max(0, capacity)",
        bug="a filter that promises nothing at this cap admits what costs nothing at its order",
        source="a bound clipped at zero and then compared with at most",
        killed_by="tests/core/dp/test_filters.py::test_a_capacity_below_zero_holds_for_nobody",
    ),
    Mutant(
        name="deltas-not-summed",
        module=FILTERS,
        function="FilterUse.holds",
        before="fits = fits and self.used_femtos <= self.capacity_femtos",
        after="fits = fits and self.used_femtos >= 0",
        bug="basic composition adds up epsilons and forgets the deltas",
        source="budgets in epsilon alone",
        killed_by="tests/core/dp/test_filters.py::test_deltas_alone_can_exhaust_basic",
    ),
    Mutant(
        name="charge-of-half-the-delta",
        module=CHARGE,
        function="charge_of",
        before="math.ceil(decimal_of(delta) * FEMTO)",
        after="math.floor(decimal_of(delta) * FEMTO / 2)",
        bug="a job's epsilon is computed at one delta and another is charged",
        source="epsilon and delta quoted from different places",
        killed_by="tests/core/dp/test_charge.py::test_amounts_are_rounded_up",
    ),
)
