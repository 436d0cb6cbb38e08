"""A graphical model fitted to noisy marginals by mbi, and exact marginals of what was fitted.

Imports JAX, which only the extra `graphical` installs: import this module only where a model is fitted. The
caller sets JAX to float64, because counts of 10^5 rows with a step of 10^-3 need more digits than float32 has.

Columns are attributes 0, 1, ...; a marginal is named by its tuple of columns and is a table of counts.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mbi
import networkx as nx
import numpy as np
import numpy.typing as npt
import opt_einsum
from mbi import junction_tree, marginal_oracles

Clique = tuple[int, ...]
Counts = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_STEP_GROWTH = 1.05


class _State(NamedTuple):
    marginals: Any  # of the junction tree's nodes
    potentials: Any  # of the measured cliques
    gradient: Any
    step: Any
    loss: Any


class SearchingMirrorDescent(mbi.Estimator):  # type: ignore[misc]
    """Mirror descent with a line search that passes messages once a step.

    mbi's own `MirrorDescent` passes them twice, which doubles the compilation of every round, and the compilation is
    most of the work at these sizes. The rule of acceptance (Armijo) is the same.
    """

    def _init(
        self,
        domain: mbi.Domain,
        loss_fn: mbi.MarginalLossFn,
        known_total: float,
        *,
        warm_start: mbi.MarkovRandomField | None = None,
        constraints: Sequence[mbi.Constraint] = (),
    ) -> _State:
        cliques = loss_fn.cliques
        zeros = mbi.CliqueVector.zeros(domain, cliques)
        potentials = zeros if warm_start is None else warm_start.potentials.expand(cliques)
        joined = [*cliques, *(constraint.clique for constraint in constraints)]
        nodes = mbi.CliqueVector.zeros(domain, _nodes(domain, joined))
        # The gradient is zero and the loss infinite, so the first step stays where it is and is accepted.
        return _State(nodes, potentials, zeros, 2.0 / (loss_fn.lipschitz * known_total), jnp.inf)

    def _step(
        self,
        state: _State,
        loss_fn: mbi.MarginalLossFn,
        known_total: jax.Array,
        constraints: Sequence[mbi.Constraint] = (),
    ) -> _State:
        nodes = state.marginals.cliques
        potentials = state.potentials - state.step * state.gradient
        # Hugin's messages divide by sums, which are zero where a code is impossible.
        pass_messages = (
            marginal_oracles.message_passing_shafer_shenoy
            if constraints
            else marginal_oracles.message_passing_hugin
        )
        marginals = pass_messages(potentials.expand(nodes), known_total, constraints=constraints)
        measured = marginals.contract(loss_fn.cliques)
        loss, gradient = jax.value_and_grad(loss_fn)(measured)
        moved = state.gradient.dot(state.marginals.contract(loss_fn.cliques) - measured)
        better = state.loss - loss >= 0.5 * state.step * moved
        kept = jax.tree.map(
            lambda new, old: jnp.where(better, new, old),
            (marginals, potentials, gradient, loss),
            (state.marginals, state.potentials, state.gradient, state.loss),
        )
        step = state.step * jnp.where(better, _STEP_GROWTH, 0.5)
        return _State(kept[0], kept[1], kept[2], step, kept[3])

    def _finalize(
        self, state: _State, known_total: float, constraints: Sequence[mbi.Constraint] = ()
    ) -> mbi.MarkovRandomField:
        return mbi.MarkovRandomField(
            potentials=state.potentials, marginals=state.marginals, total=known_total, constraints=constraints
        )


def _nodes(domain: mbi.Domain, cliques: Sequence[Clique]) -> list[Clique]:
    return list(junction_tree.maximal_cliques(junction_tree.make_junction_tree(domain, cliques)[0]))


class Fitted:
    """A fitted model and its exact marginals."""

    def __init__(self, model: mbi.MarkovRandomField) -> None:
        self.model = model
        self._tables = {
            frozenset(node): (node, np.asarray(model.marginals[node].values))
            for node in model.marginals.cliques
        }
        self._total = float(model.total)
        self._tree = _tree_of(list(self._tables))
        self._separators: dict[frozenset[int], Counts] = {}

    @property
    def megabytes(self) -> float:
        """Size of the tables of the junction tree, in MiB."""
        return sum(table.nbytes for _, table in self._tables.values()) / 2**20

    @property
    def junction_tree(
        self,
    ) -> tuple[dict[frozenset[int], tuple[Clique, Counts]], list[tuple[frozenset[int], frozenset[int]]]]:
        """Axes and counts of every maximal clique, and the edges of a junction forest."""
        return dict(self._tables), list(self._tree.edges)

    def counts(self, clique: Clique) -> Counts:
        """Expected counts of any marginal: the product of the needed nodes, divided by their separators."""
        wanted = frozenset(clique)
        holding = [node for node in self._tables if wanted <= node]
        if holding:
            return self._reduced(min(holding, key=lambda node: self._tables[node][1].size), clique)
        operands: list[Any] = []
        parts = self._needed(wanted)
        for part in nx.connected_components(parts):
            if operands:
                operands += [np.array(1 / self._total), ()]
            for node in part:
                kept = wanted.union(*(node & other for other in parts[node])) & node
                columns = tuple(sorted(kept))
                operands += [self._reduced(node, columns), columns]
        for one, other in parts.edges:
            shared = one & other
            if shared:
                operands += [self._inverse(one, shared), tuple(sorted(shared))]
        found: Counts = opt_einsum.contract(*operands, clique)
        return found

    def _needed(self, wanted: frozenset[int]) -> nx.Graph:
        """The smallest part of the junction tree that holds the columns."""
        parts = self._tree.copy()
        leaves = [node for node in parts if parts.degree[node] <= 1]
        while leaves:
            leaf = leaves.pop()
            if leaf not in parts or parts.degree[leaf] > 1:
                continue
            beside = next(iter(parts[leaf]), None)
            if wanted & leaf <= (beside or frozenset()):
                parts.remove_node(leaf)
                if beside is not None:
                    leaves.append(beside)
        return parts

    def _reduced(self, node: frozenset[int], columns: Clique) -> Counts:
        names, table = self._tables[node]
        left = [name for name in names if name in columns]
        summed = table.sum(axis=tuple(axis for axis, name in enumerate(names) if name not in columns))
        return np.transpose(summed, [left.index(name) for name in columns])

    def _inverse(self, node: frozenset[int], shared: frozenset[int]) -> Counts:
        if shared not in self._separators:
            table = self._reduced(node, tuple(sorted(shared)))
            self._separators[shared] = np.divide(1, table, out=np.zeros_like(table), where=table > 0)
        return self._separators[shared]


def _tree_of(nodes: list[frozenset[int]]) -> nx.Graph:
    """A junction forest of maximal cliques: a spanning forest of the largest separators."""
    joined = nx.Graph()
    joined.add_nodes_from(nodes)
    for one, other in itertools.combinations(nodes, 2):
        if one & other:
            joined.add_edge(one, other, weight=len(one & other))
    return nx.maximum_spanning_tree(joined)


def fit(
    measurements: Sequence[Any],
    cardinalities: Sequence[int],
    *,
    total: float,
    forbidden: Mapping[Clique, Flags],
    before: Fitted | None,
    steps: int,
    tolerance: float,
) -> Fitted:
    """Fit the model of largest entropy to noisy marginals by least squares.

    Args:
        measurements: `mbi.LinearMeasurement`s, at least one of every column.
        total: rows of the model.
        forbidden: by two columns, (codes, codes) the cells that are empty in the model.
        before: a model to start from, or None.
        steps: the most iterations.
        tolerance: stop when 50 steps gain a smaller share of the loss, twice.
    """
    domain = mbi.Domain(tuple(range(len(cardinalities))), tuple(cardinalities))
    model = SearchingMirrorDescent().estimate(
        domain,
        list(measurements),
        known_total=total,
        constraints=[
            mbi.Constraint(domain=domain.project(pair), invalid=np.argwhere(cells))
            for pair, cells in forbidden.items()
        ],
        iters=steps,
        tol=tolerance,
        warm_start=None if before is None else before.model,
    )
    return Fitted(model)
