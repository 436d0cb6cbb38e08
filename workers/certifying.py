"""The certificate of an attempt's generator: the same for every attempt of a job."""

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from core.releases.certificate import make_certificate
from core.synthesis.plan import Plan
from models.anchor import GRID
from models.dp.noise import grid_bits
from workers.assignment import Assignment
from workers.places import release_id_of


def certificate_of(work: Assignment) -> dict[str, Any]:
    """Certify the plan that ran, dated with the order (see `Assignment.ordered_at`)."""
    claim = work.claim
    return make_certificate(
        plan=claim.plan,
        dataset_id=claim.dataset_id,
        population_id=claim.population_id,
        job_id=claim.job_id,
        release_id=release_id_of(claim.job_id),
        issued_at=work.ordered_at,
        software_version=_software_version(),
        noise_grid=noise_grid(claim.plan),
    )


def noise_grid(plan: Plan) -> dict[str, Any]:
    """The public grids that sums and noise were rounded to.

    Returns:
        `anchor`: spacing of the moments, in records; None without an anchor. `critic`: for every noise block, how many
        bits its grid lies below the noise's standard deviation.
    """
    critic = [
        {
            "first_step": block.first_step,
            "bits_below_noise": grid_bits(block.noise_multiplier, plan.max_sampled_batch),
        }
        for block in plan.blocks
    ]
    return {"anchor": None if plan.anchor is None else GRID, "critic": critic}


def _software_version() -> str:
    try:
        return version("understudy")
    except PackageNotFoundError:
        return "unpackaged"
