"""Rules that the counts contradict, on the page of a release: which, how many records, what to do; and who is not told."""

from collections.abc import Callable
from typing import Any

from core.artifacts.asking.rules_check import REMEDY
from service.dashboard.release_pages import ContradictedRule
from service.releases.schemas import CheckedRuleView, ContradictionView
from tests.core.artifacts.ruled import BROKEN, RULED, ruled_release
from tests.dashboard.visitor import Visitor
from tests.service.world import World

SignIn = Callable[..., Visitor]
HEADING = "Contradicted rules"
KEPT = "They contradict no rule between columns."


def path_of(world: World, *, broken: int = BROKEN, **stated: Any) -> str:
    made, listed = ruled_release(broken=broken)
    return f"/releases/{world.release(made, domain=RULED, **({'artefacts': listed} | stated))}"


def test_a_contradicted_rule_is_reported_with_a_remedy(world: World, sign_in: SignIn) -> None:
    path = path_of(world)
    for role in ("owner", "analyst", "admin"):
        page = sign_in(role).page(path)
        assert HEADING in page
        assert "Records of the dataset seem to break a declared rule." in page
        assert REMEDY in page
        assert page.count("impossible combinations of ward, sick: 1 declared") == 1
        assert "impossible combinations of age, sick" not in page
        assert "Rules they cannot check: impossible combinations of ward, age, sick: 1 declared." in page
        assert KEPT not in page


def test_where_no_rule_is_contradicted_the_page_says_so(world: World, sign_in: SignIn) -> None:
    page = sign_in("owner").page(path_of(world, broken=0))
    assert HEADING not in page
    assert KEPT in page


def test_of_many_pairs_those_with_most_records_are_shown() -> None:
    found = [
        ContradictionView(columns=["a", f"b{place}"], estimate=estimate, low=1, high=999, standard_error=1)
        for place, estimate in enumerate((50.0, 90.0, 20.0, 70.0, 60.0))
    ]
    rule = CheckedRuleView(
        pointer="/rules/0", kind="sum", columns=["a"], finding="contradicted", contradictions=found
    )
    told = ContradictedRule.of("a rule", rule)
    assert [one.estimate for one in told.shown] == [90, 70, 60]
    assert told.further == 2


def test_nothing_is_said_without_rules_without_counts_or_to_who_may_not_ask(
    world: World, sign_in: SignIn
) -> None:
    path = path_of(world)
    assert HEADING not in sign_in("auditor").page(path)
    for other in (path_of(world, artefacts={}), f"/releases/{world.release()}"):
        page = sign_in("owner").page(other)
        assert HEADING not in page
        assert KEPT not in page
