"""Whether the people of a dataset of a new name may be those of another one, by public facts alone.

Rows are not compared: a digest of them would be kept where nothing but sealed rows is.
"""

from collections.abc import Iterator, Sequence

from understudy.near_names import suggestion
from understudy.results.datasets import Dataset


def second_budgets(dataset: Dataset, others: Sequence[Dataset]) -> Iterator[str]:
    """Warn, in lines, that people of a new dataset may have a budget under another name already.

    Args:
        dataset: the first dataset of its name.
        others: all others of the same owner, newest first.
    """
    if near := suggestion(dataset.name, [other.name for other in others]):
        yield f"This is the first dataset named {dataset.name!r}{near} Under a new name the same people get a second budget."
    facts = (dataset.document.get("domain"), dataset.declared_size)
    for other in others:
        if (other.document.get("domain"), other.declared_size) == facts:
            yield (
                f"Dataset {other.name!r} has the same domain and declared size. If these are the same people, stop now and publish as"
                f" --name {other.name}: each name has a budget of its own, and what both promise the same people adds up."
            )
            return
