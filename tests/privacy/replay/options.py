"""Random options of a synthesizer: every one there is occurs, within what excludes what."""

from typing import Any

from hypothesis import strategies as st

ALWAYS = {
    "expected_batch_size": st.integers(1, 120),
    "generator_width": st.integers(1, 12),
    "generator_blocks": st.integers(0, 2),
    "latent_dimension": st.integers(1, 4),
    "generator_learning_rate": st.sampled_from([1e-4, 2e-3, 0.5]),
    "generator_batch_size": st.integers(1, 60),
    "ema_decay": st.sampled_from([0.0, 0.5, 0.995]),
}
ANCHOR = {
    "anchor_diagonal_weight": st.sampled_from([1.0, 1.5, 30.0]),
    "anchor_screening_share": st.sampled_from([0.0, 0.01, 0.25]),
    "anchor_weight": st.sampled_from([0.0, 1.0, 100.0]),
    "pretraining_steps": st.integers(0, 4),
}
CRITIC = {
    "steps": st.integers(1, 7),
    "first_noise_multiplier": st.sampled_from([None, 1e4]),
    "adam_beta1": st.sampled_from([None, 0.0, 0.9]),
    "adam_beta2": st.sampled_from([None, 0.0, 0.999]),
    "schedule": st.sampled_from(["constant", "exponential", "step", "polynomial"]),
    "schedule_decay": st.sampled_from([0.3, 0.9]),
    "schedule_period": st.integers(1, 8),
    "schedule_end": st.sampled_from([0.1, 0.4, 1.0]),
    "schedule_blocks": st.integers(1, 4),
    "clipping_norm": st.sampled_from([1e-9, 1e-3, 0.1, 1.0, 1e4]),
    "critic_asks": st.just("real"),  # labels are asked for of images (tests/privacy/test_image_replay.py)
    "gp_weight": st.sampled_from([0.0, 10.0, 1e4]),
    "critic_width": st.integers(1, 12),
    "critic_layers": st.integers(1, 3),
    "critic_steps": st.sampled_from([1, 2, "adaptive"]),
    "critic_learning_rate": st.sampled_from([1e-4, 1e-3, 1.0]),
    "grouping": st.sampled_from(["flat", "layers", "rows"]),
    "row_blocks": st.integers(1, 5),
}
ACTS = {
    "acts_interval": st.integers(1, 4),
    "acts_noise_multiplier": st.sampled_from([None, 20.0, 100.0]),
    "acts_lowest_edge": st.sampled_from([2.0**-12, 1e-3, 1.0]),
    "acts_edge_ratio": st.sampled_from([1.1, 2.0**0.5, 4.0]),
    "acts_bins": st.integers(2, 40),
    "acts_smoothing": st.sampled_from([0.0, 0.5, 0.99]),
}
CLUSTERS = {
    "cluster_radius": st.sampled_from([1e-3, 0.5, 5.0]),
    "cluster_min_blocks": st.integers(1, 4),
}
SWITCHES = {"anchor", "critic", "anchor_share", "acts", "weight_clusters", "generator", "schedule_start"}
EVERY_OPTION = SWITCHES | set(ALWAYS) | set(ANCHOR) | set(CRITIC) | set(ACTS) | set(CLUSTERS)
"""What occurs here; a test compares it with what a person may set."""


@st.composite
def options(draw: st.DrawFn) -> dict[str, Any]:
    """Options that do not exclude each other. All sizes are small, so that a job takes a moment."""
    anchor = draw(st.booleans())
    critic = draw(st.booleans()) if anchor else True
    acts = critic and draw(st.booleans())
    clusters = acts and draw(st.booleans())
    parts = [ALWAYS]
    parts += [ANCHOR] if anchor else []
    parts += [CRITIC] if critic else []
    parts += [ACTS] if acts else []
    parts += [CLUSTERS] if clusters else []
    chosen = {name: draw(values) for part in parts for name, values in part.items()}
    chosen = {name: value for name, value in chosen.items() if value is not None}
    chosen |= {"anchor": anchor, "critic": critic, "acts": acts, "weight_clusters": clusters}
    if anchor and critic:
        chosen["anchor_share"] = draw(st.sampled_from([0.1, 0.5, 0.9]))
    if critic and chosen["schedule"] != "constant":
        chosen["schedule_start"] = draw(st.integers(0, chosen["steps"] - 1))
    chosen["generator"] = draw(st.sampled_from(["mixture", "network"]))
    if clusters and chosen["grouping"] == "flat":
        chosen["grouping"] = "rows"
    return chosen
