"""Every seeded bug, by what it breaks."""

from tests.mutants.catalogue import (
    accounting,
    clipping,
    filters,
    found,
    graphical,
    images,
    jobs,
    joint,
    leaks,
    learning,
    ledger,
    measurement,
    noise,
    private_models,
    reuse,
    sampling,
    tables,
    utility_reports,
)
from tests.mutants.mutant import Mutant

CHAPTERS: dict[str, tuple[Mutant, ...]] = {
    "From rows to codes": tables.MUTANTS,
    "Sampling and the order of a training": sampling.MUTANTS,
    "Clipping": clipping.MUTANTS,
    "Noise": noise.MUTANTS,
    "Label histogram and anchor": measurement.MUTANTS,
    "Graphical models": graphical.MUTANTS,
    "Learnt domains": learning.MUTANTS,
    "Reuse of counts": reuse.MUTANTS,
    "Images and selections": images.MUTANTS,
    "Utility reports": utility_reports.MUTANTS,
    "Private models": private_models.MUTANTS,
    "Generators over several owners": joint.MUTANTS,
    "Accounting": accounting.MUTANTS,
    "Charges and filters": filters.MUTANTS,
    "Ledger": ledger.MUTANTS,
    "The life of a job": jobs.MUTANTS,
    "Leaks": leaks.MUTANTS,
    "Bugs of our own": found.MUTANTS,
}

MUTANTS: tuple[Mutant, ...] = tuple(mutant for chapter in CHAPTERS.values() for mutant in chapter)
