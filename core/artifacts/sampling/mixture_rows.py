"""Codes from a mixture of product distributions, drawn from its tables instead of by its network.

The network of a mixture looks up the logits of a component, which the latent number chooses. Given the component, columns
are independent and each has one of as many distributions as there are components. So a row is

    component ~ its distribution given the label               (inversion)
    group_j   ~ the component's distribution of column j       (an alias table for every component)
    code_j    ~ the distribution of codes in the group         (an alias table for every group; of a wide table by inversion)

with the joint distribution that the network gives. The tables are outputs of the network beside ``logits``.

Alias tables of a column's groups have as many cells each as its largest group needs. So of a wide table, whose groups may have
hundreds of thousands of codes, a code is found among the running sums of its column (`core.artifacts.sampling.codes_in_groups`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from core.artifacts.errors import BundleInvalid
from core.artifacts.manifest import MIXTURE_OUTPUTS, TableManifest
from core.artifacts.sampling.alias_tables import AliasTables
from core.artifacts.sampling.balanced_sampling import MOST_CELLS, stratified_uniforms
from core.artifacts.sampling.codes_in_groups import CodesInGroups
from core.artifacts.sampling.drawing import Network
from core.plan.domain.codec import Codes, codes_type

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Distributions:
    """The distributions of a column.

    Attributes:
        groups: (components, groups) of every component the distribution of the groups.
        group_of_code: (codes,) numbers from 0 without a gap.
        within: (codes,) the share of every code in its group.
    """

    place: int
    groups: Floats
    group_of_code: Places
    within: Floats

    @property
    def grouped(self) -> bool:
        return len(self.starts) < len(self.group_of_code)

    @property
    def codes(self) -> Floats:
        """(components, codes) of every component the distribution of the codes."""
        distributions: Floats = self.groups[:, self.group_of_code] * self.within
        return distributions

    @property
    def members(self) -> Codes:
        """(codes,) in the order of their groups."""
        return np.argsort(self.group_of_code, kind="stable").astype(codes_type([len(self.group_of_code)]))

    @property
    def starts(self) -> Places:
        """(groups,) the place of each group's first code among the members."""
        sizes = np.bincount(self.group_of_code)
        return np.cumsum(sizes) - sizes

    @property
    def of_members(self) -> Floats:
        """(groups, codes of the largest) of every group the distribution of its members."""
        members = self.members
        group = self.group_of_code[members]
        ranks = np.arange(len(group)) - self.starts[group]
        distributions = np.zeros((self.groups.shape[1], int(ranks.max()) + 1))
        distributions[group, ranks] = self.within[members]
        return distributions

    @property
    def by_inversion(self) -> CodesInGroups:
        """Draws a code within its group, by inversion."""
        shares = np.maximum(self.within, np.finfo(np.float32).tiny)
        logarithms = np.log(shares).astype(np.float32)
        return CodesInGroups(
            self.group_of_code, logarithms, [len(self.group_of_code)], [self.groups.shape[1]]
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Column:
    """How a column's codes are drawn: their group, and where groups have several codes one of its members."""

    place: int
    groups: AliasTables
    of_members: AliasTables | CodesInGroups | None
    members: Codes
    starts: Places

    def draw(self, components: Places, rng: np.random.Generator) -> Codes:
        groups = self.groups.draw(components, _words(len(components), rng))
        if self.of_members is None:
            return groups
        if isinstance(self.of_members, CodesInGroups):
            return self.of_members.draw(groups[:, None], rng.random((len(groups), 1)))[:, 0]
        chosen = groups.astype(np.intp)
        ranks = self.of_members.draw(chosen, _words(len(components), rng))
        return self.members.take(self.starts.take(chosen) + ranks)


class MixtureRows:
    """A mixture's codes; see `core.artifacts.sampling.row_source.RowSource`.

    Args:
        sums: The first of `MIXTURE_OUTPUTS`.
        distributions: Of all columns but the target.
    """

    chunk_rows = 2**15

    def __init__(
        self, manifest: TableManifest, sums: Floats, distributions: Sequence[_Distributions]
    ) -> None:
        self._manifest, self._components = manifest, sums.shape[1]
        sums = np.minimum(sums, 1.0)
        sums[:, -1] = 1.0
        self._sums = (sums + np.arange(len(sums))[:, None]).ravel()
        self._columns = list(_columns(distributions, wide=manifest.groups is not None))
        cells = sum(manifest.cardinalities)
        # Balanced sampling looks at whole distributions, and only at those of few codes.
        self._distributions = np.zeros(
            (self._components, cells if cells <= MOST_CELLS else 0), dtype=np.float32
        )
        if cells <= MOST_CELLS:
            for own in distributions:
                self._distributions[:, _block(manifest, own.place)] = own.codes

    @classmethod
    def of(cls, network: Network, manifest: TableManifest) -> Self | None:
        """Read the tables of a network; None if it has none.

        Raises:
            BundleInvalid: They are not of the manifest's shape.
        """
        tables = network.tables(
            MIXTURE_OUTPUTS,
            latent_dimension=manifest.latent_dimension,
            classes=len(manifest.label_probabilities or ()),
        )
        if tables is None:
            return None
        sums, logits, groups, within = tables
        if not _describe_a_mixture(sums, logits, groups, within, manifest):
            raise BundleInvalid("The bundle's network does not give what its manifest says.")
        return cls(manifest, sums.astype(np.float64), list(_distributions(logits, groups, within, manifest)))

    def scratch(self, rows: int) -> NDArray[np.float32]:
        """See `RowSource.scratch`."""
        return np.empty((rows, self._distributions.shape[1]), dtype=np.float32)

    def draw(
        self, codes: Codes, labels: Codes, rng: np.random.Generator, _scratch: NDArray[np.float32]
    ) -> None:
        """See `RowSource.draw`."""
        self._draw(codes, labels, self._chosen(labels, rng.random(len(labels))), rng)

    def draw_twice(
        self, codes: Codes, labels: Codes, rng: np.random.Generator, scratch: NDArray[np.float32]
    ) -> tuple[Codes, NDArray[np.float32]]:
        """See `RowSource.draw_twice`; each component comes within one row as often as its distribution given the label says."""
        uniforms = np.empty(len(labels))
        for label in np.unique(labels):
            at = np.flatnonzero(labels == label)
            uniforms[at] = stratified_uniforms(len(at), rng)
        components = self._chosen(labels, uniforms)
        redrawn = np.empty_like(codes)
        self._draw(codes, labels, components, rng)
        self._draw(redrawn, labels, components, rng)
        distributions = scratch[: len(codes)]
        np.take(self._distributions, components, axis=0, out=distributions)
        given = self._manifest.label_index
        if given is not None:
            distributions[np.arange(len(distributions)), _block(self._manifest, given).start + labels] = 1.0
        return redrawn, distributions

    def _chosen(self, labels: Codes, uniforms: Floats) -> Places:
        """The components (rows,) whose running sums are the first not below the uniforms."""
        whole = labels.astype(np.intp)
        places: Places = np.searchsorted(self._sums, whole + uniforms) - whole * self._components
        return places

    def _draw(self, codes: Codes, labels: Codes, components: Places, rng: np.random.Generator) -> None:
        for column in self._columns:
            codes[:, column.place] = column.draw(components, rng)
        if self._manifest.label_index is not None:
            codes[:, self._manifest.label_index] = labels


def _words(rows: int, rng: np.random.Generator) -> NDArray[np.uint32]:
    pairs = rng.integers(0, 2**64, size=(rows + 1) // 2, dtype=np.uint64)
    return pairs.view(np.uint32)[:rows]


def _block(manifest: TableManifest, place: int) -> slice:
    """Where a column's codes stand among those of all columns."""
    start = sum(manifest.cardinalities[:place])
    return slice(start, start + manifest.cardinalities[place])


def _describe_a_mixture(
    sums: NDArray[Any],
    logits: NDArray[Any],
    groups: NDArray[Any],
    within: NDArray[Any],
    manifest: TableManifest,
) -> bool:
    """Whether tables of a network are what `MIXTURE_OUTPUTS` says."""
    labels, cells = len(manifest.label_probabilities or (0,)), sum(manifest.cardinalities)
    floats = all(table.dtype == np.float32 and np.isfinite(table).all() for table in (sums, logits, within))
    if not floats or groups.dtype != np.int64:
        return False
    if sums.ndim != logits.ndim or logits.ndim != 2 or sums.shape != (labels, len(logits)):  # noqa: PLR2004 (matrices)
        return False
    if groups.shape != (cells,) or within.shape != (cells,) or not sums.size:
        return False
    classes = len(manifest.label_probabilities or ())
    in_range = groups.min() >= 0 and groups.max() < logits.shape[1] + classes
    if manifest.groups is not None:
        ends = np.cumsum(manifest.cardinalities)
        blocks = (groups[end - codes : end] for end, codes in zip(ends, manifest.cardinalities, strict=True))
        in_range = in_range and tuple(len(np.unique(block)) for block in blocks) == manifest.groups
    return bool(in_range and (np.diff(sums, axis=1) >= 0).all() and (sums >= 0).all())


def _distributions(
    logits: NDArray[np.float32],
    groups: NDArray[np.int64],
    within: NDArray[np.float32],
    manifest: TableManifest,
) -> Iterator[_Distributions]:
    given = manifest.label_index
    if given is not None:
        block = _block(manifest, given)
        # The target's codes are groups too, and have no logits.
        logits = np.insert(logits, [int(groups[block.start])] * manifest.cardinalities[given], 0.0, axis=1)
    for place in range(len(manifest.cardinalities)):
        if place == given:
            continue
        block = _block(manifest, place)
        used, group_of_code = np.unique(groups[block], return_inverse=True)
        own = within[block].astype(np.float64)
        weights = np.exp(own - own.max())
        of_groups = np.bincount(group_of_code, weights=weights)
        yield _Distributions(
            place=place,
            groups=_softmax(logits[:, used].astype(np.float64) + np.log(of_groups)),
            group_of_code=group_of_code,
            within=weights / of_groups[group_of_code],
        )


def _softmax(logits: Floats) -> Floats:
    """Softmax of every row."""
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    distributions: Floats = weights / weights.sum(axis=1, keepdims=True)
    return distributions


def _columns(distributions: Sequence[_Distributions], *, wide: bool) -> Iterator[_Column]:
    # Codes that are their own groups may be numbered in another order.
    groups = AliasTables.of([own.groups if own.grouped else own.codes for own in distributions])
    of_members: Iterator[AliasTables | CodesInGroups] = (
        (own.by_inversion for own in distributions if own.grouped)
        if wide
        else iter(AliasTables.of([own.of_members for own in distributions if own.grouped]))
    )
    for own, tables in zip(distributions, groups, strict=True):
        yield _Column(
            place=own.place,
            groups=tables,
            of_members=next(of_members) if own.grouped else None,
            members=own.members,
            starts=own.starts,
        )
