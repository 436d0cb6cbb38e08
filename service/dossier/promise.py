"""The promise of a dataset in plain words: what is protected, from whom, and what is not.

Each sentence is true of the dataset's own unit and cap; docs/privacy-promise.md has the arguments.
"""

from collections.abc import Sequence
from typing import Final

from service.dashboard.labels import delta_up, epsilon_up, factor_up


def protected(unit: str | None, cap: dict[str, float] | None) -> Sequence[str]:
    """What is promised.

    Args:
        unit: The column whose values are the protected units; None where each record is one.
        cap: Epsilon and delta of everything together; None before a cap is set.
    """
    whom = f"each {unit}, with all records that share its value" if unit else "each single record"
    told = [f"Protected is {whom}: whether it was in the data at all, and so everything about it."]
    if cap is None:
        return [*told, "No cap is set yet, so nothing has been released and nothing can be."]
    return [
        *told,
        (
            f"Whatever anybody concludes from everything that is ever released about this data together, they would have "
            f"concluded without that unit as well, up to a factor of {factor_up(cap['epsilon'])} in how likely it is "
            f"(epsilon {epsilon_up(cap['epsilon'])}), but for a probability of {delta_up(cap['delta'])} (delta)."
        ),
        (
            "This binds all releases and all analysts together, however they share what they hold, and also orders that are "
            "chosen after earlier releases were seen."
        ),
        (
            "It holds for a cap that was fixed without regard to what had been released. A cap that was raised because of a "
            "release promises less than it says, and lowering it does not make smaller what was promised before: the ledger "
            "has every change with its reason."
        ),
        "The price of every job is reserved in the ledger before it may run, and is spent before the first record is opened.",
    ]


FROM_WHOM: Final[Sequence[str]] = (
    (
        "From everybody who receives a release or sees any page, certificate, message or notification of this service, but for "
        "the data's owner: whatever else they know, however much they compute, now and later."
    ),
    "What is drawn from a released generator, how often and by whom, changes nothing: drawing opens no record.",
)

NOT_PROMISED: Final[Sequence[str]] = (
    "It does not bind what the owner is shown of the owner's own data (intake report, owner reports, notes on failures).",
    "What was declared is public: names of columns, bounds, categories, the declared size, the name of the dataset.",
    "A release can teach something that is true of people in general, also about somebody who is in the data.",
    "If two units of protection belong to one person, that person has the protection of two, which is weaker.",
    "The machine that trains, its memory and its operator are trusted, and so are the master key and the build of the software.",
    "That the records are those which were declared, and that they may lawfully be used, is for the owner to know.",
    "Whether a release is anonymous in the sense of a law is a judgement; the numbers here are its ground and not the judgement.",
)
