from docs.cost_figures import cost, figure


def spread(middle):
    return {
        "over_ordinary": middle, "lower_quartile": middle - 0.1, "upper_quartile": middle + 0.1,
        "wall_over_ordinary": middle + 0.05, "milliseconds": 10 * middle,
    }  # fmt: skip


def entry(network, **more):
    return {
        "network": network, "width": 64, "batch": 128, "grouping": "flat", "row_blocks": 1, "parameters": 5000, "groups": 1,
        "groups_in_use": {}, "ordinary_milliseconds": 10.0, "private": spread(1.2), "private_megabytes": 20.4,
        "ordinary_megabytes": 61.0, "rounds": 5, "load_average": 1.5,
    } | more  # fmt: skip


STRATEGIES = {
    "acts": spread(1.3), "acts, refresh": spread(1.55), "acts+wc": spread(1.1), "acts+wc, refresh": spread(2.1),
    "groups_in_use": {"acts": 4, "acts+wc": 2},
}  # fmt: skip
RESULT = {
    "refresh_every": 25,
    "machine": {},
    "batch": [entry("linear"), entry("convolution", batch=256, private=spread(0.9))],
    "parameters": [entry("linear", width=128, parameters=70_000)],
    "groups": [entry("linear"), entry("linear", grouping="rows", row_blocks=2, groups=4, **STRATEGIES)],
}


def test_every_axis_has_its_rows():
    page = "\n".join(cost(RESULT))
    assert (
        "| linear layers | 128 | 5,000 | 1.20 (1.10 to 1.30) | 1.25 | 12.0 | 10.0 | 20 | 61 | 5 | 1.5 |"
        in page
    )
    assert "| convolutions | 256 | 5,000 | 0.90 (0.80 to 1.00) |" in page
    assert "| linear layers | 128 | 70,000 |" in page
    # 24 steps of 1.3 and one of 1.55 are 1.31 in the mean; 24 of 1.1 and one of 2.1 are 1.14.
    assert "| rows, 2 | 4 | 1.20 (1.10 to 1.30) | 1.31 | 1.55 (1.45 to 1.65) | 1.14 | 2.10 (2.00 to 2.20) | 2 | 5 | 1.5 |" in page  # fmt: skip
    assert "| flat | 1 | 1.20 (1.10 to 1.30) |  |  |  |  |  | 5 | 1.5 |" in page
    assert (
        "Linear layers: 4 groups cost 1.00 times what 1 costs; a refresh step costs at most 1.91 times"
        in page
    )


def test_an_axis_that_was_not_measured_is_left_out():
    page = "\n".join(cost({"refresh_every": 25, "batch": RESULT["batch"], "machine": {}}))
    assert "expected batch" in page
    assert "number of parameters" not in page


def test_the_plot_has_the_measured_points():
    batch, parameters, groups = figure(RESULT).axes
    lines = {line.get_label(): line.get_xydata().tolist() for line in batch.lines}
    assert lines["linear layers"] == [[128.0, 1.2]]
    assert lines["convolutions"] == [[256.0, 0.9]]
    assert next(line.get_xydata().tolist() for line in parameters.lines) == [[70_000.0, 1.2]]
    drawn = {line.get_label(): line.get_xydata().tolist() for line in groups.lines}
    assert drawn["linear layers, refresh with clusters"] == [[4.0, 2.1]]
