"""Owner reports on the page of a release: the owner orders, looks again, downloads and deletes; others see nothing of it."""

from collections.abc import Callable
from uuid import UUID

from core.db.tables import Dataset
from tests.core.artifacts import image_stand_in
from tests.dashboard.newer_scene import make_report
from tests.dashboard.visitor import Visitor
from tests.service.world import World


def test_the_owner_has_reports_and_nobody_else_sees_that_there_are_any(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    release_id = world.release()
    path = f"/releases/{release_id}"
    owner = sign_in("owner")
    page = owner.page(path)
    assert "An owner report compares" in page
    assert "<option selected>sick</option>" in page
    page = owner.follow(f"{path}/sealed-report", target="ward")
    assert "The owner report is ordered" in page
    assert "Waiting for a worker" in page
    assert "Refresh" in page
    (report_id,) = world.queue.sent_reports
    make_report(world, report_id, "<p>for the owner</p>")
    page = owner.page(path)
    assert f"/v1/sealed-reports/{report_id}/file" in page
    assert "Refresh" not in page
    answer = owner.get(f"/v1/sealed-reports/{report_id}/file")
    assert (answer.status_code, answer.text.rstrip()) == (200, "<p>for the owner</p>")
    for roles in (("analyst",), ("admin",), ("auditor",), ("owner", "admin")):
        other = sign_in(*roles)
        seen = other.page(path)
        assert "wner report" not in seen, roles
        assert str(report_id) not in seen, roles
        assert other.send(f"{path}/sealed-report", target="ward").status_code in {403, 404}
        assert other.send(f"{path}/sealed-report/{report_id}/delete").status_code in {403, 404}
    page = owner.follow(f"{path}/sealed-report/{report_id}/delete")
    assert "The owner report is deleted" in page
    assert str(report_id) not in page


def test_of_images_one_report_is_ordered_without_a_column(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    release_id = world.release(image_stand_in.bundle())
    dataset_id = world.owner.get(f"/v1/releases/{release_id}").json()["dataset_id"]
    with world.database.transaction() as session:
        session.get_one(Dataset, UUID(dataset_id)).domain = image_stand_in.domain()
    path = f"/releases/{release_id}"
    owner = sign_in("owner")
    page = owner.page(path)
    assert "real images" in page
    assert "Column to predict" not in page
    page = owner.follow(f"{path}/sealed-report")
    assert "Waiting for a worker" in page
    assert "Order report" not in page
    assert "wner report" not in sign_in("analyst").page(path)


def test_an_unknown_column_is_a_problem_and_a_deleted_dataset_has_no_reports(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    release_id = world.release()
    owner = sign_in("owner")
    answer = owner.send(f"/releases/{release_id}/sealed-report", target="wards")
    assert answer.status_code == 422
    assert "The target is not a modelled column" in answer.text
    dataset_id = world.owner.get(f"/v1/releases/{release_id}").json()["dataset_id"]
    assert world.owner.delete(f"/v1/datasets/{dataset_id}").status_code == 200
    assert "wner report" not in owner.page(f"/releases/{release_id}")


def test_a_target_that_no_column_can_have_is_refused(world: World, sign_in: Callable[..., Visitor]) -> None:
    path = f"/releases/{world.release()}"
    owner = sign_in("owner")
    owner.page(path)
    answer = owner.send(f"{path}/sealed-report", target="a\x00b")
    assert answer.status_code == 422
