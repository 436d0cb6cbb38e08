"""The privacy guarantee of a dataset in plain language: what is protected, against whom, and what is not.

Each sentence holds for the dataset's own privacy unit and cap; docs/privacy-promise.md has the arguments.
"""

from collections.abc import Sequence
from typing import Final

from service.wording.amounts import delta_up, epsilon_up, factor_up


def protected(unit: str | None, cap: dict[str, float] | None) -> Sequence[str]:
    """The guarantee.

    Args:
        unit: The column that identifies the privacy units; None if each record is one.
        cap: Total epsilon and delta; None before a cap is set.
    """
    whom = f"each {unit}, with all records that share its value" if unit else "each single record"
    sentences = [f"The guarantee protects {whom}: its presence in the data, and hence everything about it."]
    if cap is None:
        return [*sentences, "No cap is set yet, so nothing has been or can be released."]
    return [
        *sentences,
        (
            f"Anything that anyone concludes from all releases of this data together, they could also have concluded "
            f"without that unit, up to a factor of {factor_up(cap['epsilon'])} in how likely it is "
            f"(epsilon {epsilon_up(cap['epsilon'])}), except with probability {delta_up(cap['delta'])} (delta)."
        ),
        (
            "This covers all releases and all analysts together, even if they share their results, and orders that were "
            "chosen after seeing earlier releases."
        ),
        (
            "It holds for a cap that was fixed independently of earlier releases. A cap that was raised because of a "
            "release guarantees less than it states, and lowering a cap does not strengthen the earlier guarantee. The ledger "
            "records every change with its reason."
        ),
        "The ledger reserves the price of every job before it may run, and charges it before the first record is read.",
    ]


FROM_WHOM: Final[Sequence[str]] = (
    (
        "Against everyone who receives a release or sees any page, certificate, message or notification of this service, except "
        "the data's owner: regardless of their other knowledge and computing power, now and in the future."
    ),
    "Sampling from a released generator, any number of times and by anyone, costs nothing: sampling reads no record.",
)

NOT_PROMISED: Final[Sequence[str]] = (
    "It does not cover what the owner sees of their own data (intake report, owner reports, failure notes).",
    "Declared facts are public: column names, bounds, categories, the declared size, the name of the dataset.",
    "A release can reveal facts about people in general, which also apply to someone in the data.",
    "If two privacy units belong to one person, that person's protection is the weaker guarantee for two units.",
    "The training machine, its memory and its operator are trusted, as are the master key and the software build.",
    "The owner is responsible for the records being the declared ones and for their lawful use.",
    "Whether a release is anonymous in the legal sense is a judgement; these numbers support that judgement but do not replace it.",
)
