"""Questions on the page of a release: an answer with intervals, a refusal in its place, and nothing for who may not ask."""

from collections.abc import Callable
from urllib.parse import quote

import pytest

from service.dashboard import release_pages
from tests.core.artifacts.certified import certified
from tests.dashboard.visitor import Visitor
from tests.service.world import World

MADE = certified({"critic": False})


@pytest.fixture
def path(world: World) -> str:
    return f"/releases/{world.release(MADE.bundle, artefacts=MADE.certificate['artefacts'])}"


def test_a_question_is_answered_where_it_is_asked(
    sign_in: Callable[..., Visitor], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    analyst = sign_in("analyst")
    assert "Query the counts" in analyst.page(path)
    page = analyst.page(f"{path}?question={quote('ward by sick where age between 50 and 99')}")
    for words in (
        "B, or &#34;C&#34;",
        "95\u202f% interval",
        "Counted: records.",
        "drawn rows are less accurate",
    ):
        assert words in page, words
    assert "of 3 rows" not in analyst.page(f"{path}?question=ward")
    monkeypatch.setattr(release_pages, "ANSWER_ROWS", 2)
    assert "The first 2 of 3 rows" in analyst.page(f"{path}?question=ward")


def test_a_question_that_cannot_be_answered_is_refused_in_its_place(
    sign_in: Callable[..., Visitor], path: str
) -> None:
    analyst = sign_in("analyst")
    page = analyst.page(f"{path}?question={quote('<b>ward</b>')}")
    assert "question-invalid" in page
    assert "<b>ward" not in page
    page = analyst.page(f"{path}?question={quote('ward by age by seen by sick')}")
    assert "not-counted" in page
    assert "any one or two columns" in page
    assert "Query the counts" in page


def test_an_answer_by_assumption_is_marked_and_says_what_was_assumed(
    sign_in: Callable[..., Visitor], path: str
) -> None:
    analyst = sign_in("analyst")
    page = analyst.page(f"{path}?question={quote('ward by age by seen')}")
    assert page.count(">Estimated count</th>") == 1
    assert page.count("ward, age and seen were not counted together. They are assumed to depend") == 1
    assert 'data-label="Interval" class="number">0.0 to ' in page
    assert 'data-label="Std. error" class="number">–</td>' in page
    assert 'data-label="Std. error" class="number">–</td>' in page
    assert "None" not in page
    assert "Estimated" not in analyst.page(f"{path}?question={quote('ward by age')}")


def test_there_is_no_panel_without_counts_or_for_who_may_not_ask(
    world: World, sign_in: Callable[..., Visitor], path: str
) -> None:
    assert "Query the counts" not in sign_in("auditor").page(path)
    assert "Query the counts" not in sign_in("analyst").page(f"/releases/{world.release()}")
