from tests.distribution import next_group

STACK, DRILL = {"tests/system/test_doctor.py::test_a": False}, {"tests/faults/test_drill.py::test_a": False}
MODELS = {"tests/models/tables/test_anchor.py::test_a": False}
OVER = {"tests/system/test_compose.py::test_a": True}
QUEUE = {"drill": DRILL, "models": MODELS}


def test_groups_that_wait_go_to_half_of_the_processes():
    assert next_group(QUEUE, [{}, {}, {}, {}]) == "drill"
    assert next_group(QUEUE, [{"stack": STACK}, {}, {}, {}]) == "drill"
    assert next_group(QUEUE, [{"stack": STACK}, {"other": STACK}, {}, {}]) == "models"
    assert next_group(QUEUE, [{"stack": STACK}]) == "models"


def test_what_is_over_waits_no_more_and_nobody_stands_idle():
    assert next_group(QUEUE, [{"stack": STACK}, {"compose": OVER}, {}, {}]) == "drill"
    assert next_group({"drill": DRILL}, [{"stack": STACK}, {"other": STACK}]) == "drill"
