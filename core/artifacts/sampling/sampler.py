"""Drawing synthetic rows from a bundle: post-processing of a private release, so it costs nothing.

The sampler reads only a bundle and has no access to private rows. One row is

    label  ~ label_probabilities                      (when a target is declared)
    latent ~ N(0, I)
    logits = network(latent, one_hot(label))          (ONNX runtime)
    code_j ~ softmax(logits of block j)               for every column j, by inversion; balanced, unless the sample is
                                                      large (core.artifacts.sampling.balanced_sampling)
    value  = a uniform draw inside the public bin of the code
    row    = the values, made to keep the declared rules between columns (core.plan.domain.rules.keeping)

A mixture's codes come by the same distribution from its tables (core.artifacts.sampling.mixture_rows).

Codes are sampled, never the most likely one: taking the maximum destroys the joint distribution (idpgan.md, section 6).
"""

import secrets
from collections.abc import Iterator
from functools import partial
from itertools import repeat

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core.artifacts.bundle import Bundle
from core.artifacts.errors import BundleInvalid, ConditionTooRare
from core.artifacts.manifest import TableManifest
from core.artifacts.sampling.balanced_sampling import (
    balance,
    is_balanced,
    rows_together,
    stratified_uniforms,
)
from core.artifacts.sampling.conditions import FEWEST_ROWS, TRIED_ROWS, Condition, Where
from core.artifacts.sampling.drawing import Network, draw_labels, in_order
from core.artifacts.sampling.row_source import row_source
from core.artifacts.sampling.value_conditions import Conditions, requested_conditions
from core.plan.domain.codec import Codes, batch_of, codes_of, codes_type, decode, draw_values
from core.plan.domain.columns.bins import Floats
from core.plan.domain.rules.kinds import Kept
from core.plan.domain.table import TableDomain

BATCH_ROWS = 65_536
_MOST_BATCHES = 8
_MARGIN = 1.25
"""How many more draws than expected a condition gets at once, for the rows that meet it vary."""
KEPT_TOGETHER = 2048
"""Minimum rows of a batch under declared rules: a row that cannot be repaired takes values from its batch."""


class Sampler:
    """Draws rows from one bundle. Safe to use from several threads at once.

    Args:
        threads: CPU threads that draw; each works on its own batch.

    Raises:
        BundleInvalid: The network is not one that the ONNX runtime accepts, or not of the manifest's shape.
    """

    def __init__(self, bundle: Bundle, *, threads: int = 1) -> None:
        if not isinstance(bundle.manifest, TableManifest):
            raise BundleInvalid("The bundle holds no generator of rows.")
        self._manifest = bundle.manifest
        self._domain = TableDomain.from_json(bundle.domain)
        if tuple(self._domain.cardinalities) != self._manifest.cardinalities:
            raise BundleInvalid("The bundle's domain and manifest describe different columns.")
        network = Network(bundle.network, output=self._manifest.OUTPUT)
        network.require_output(
            latent_dimension=self._manifest.latent_dimension,
            classes=len(self._manifest.label_probabilities or ()),
            shape=(sum(self._manifest.blocks),),
        )
        self._threads = threads
        self._source = row_source(network, self._manifest)

    @property
    def domain(self) -> TableDomain:
        """The domain of the rows. Where the training learnt parts of it, they are those of the release."""
        return self._domain

    def batches(self, rows: int, *, batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """Yield ``rows`` synthetic rows as record batches with the domain's modelled columns.

        Memory does not depend on ``rows``; abandoning the iterator stops the threads.
        """
        sizes = (min(batch_rows, rows - start) for start in range(0, rows, batch_rows))
        balanced = is_balanced(rows, self._manifest.cardinalities)
        tasks = (partial(self._batch, size, balanced=balanced) for size in sizes)
        return in_order(tasks, threads=self._threads)

    def batches_where(self, rows: int, where: Where | Conditions) -> Iterator[pa.RecordBatch]:
        """Yield ``rows`` synthetic rows that meet conditions, in batches of any sizes.

        The share of rows that meet them is checked before this returns; each batch takes a bounded number of draws.

        Args:
            where: Read conditions, or those of a request (`core.artifacts.sampling.value_conditions.requested_conditions`).

        Raises:
            InvalidCondition: The domain has no such column or value.
            ConditionTooRare: Fewer than `FEWEST_ROWS` of `TRIED_ROWS` rows meet them.
        """
        wanted = where if isinstance(where, Conditions) else requested_conditions(where, self._domain)
        condition, share = wanted.codes(self._domain), 1.0
        if wanted.is_compared or self._leaves_out(condition):
            condition, share = self._possible(wanted)
        return self._meeting(condition, wanted, rows, share)

    def _possible(self, wanted: Conditions) -> tuple[Condition, float]:
        """The part of conditions that codes decide, under which enough rows meet all of them, and the share of rows that do."""
        condition = wanted.codes(self._domain)
        met, tried = self._tried(condition, wanted, TRIED_ROWS, balanced=False).num_rows, TRIED_ROWS
        if met < FEWEST_ROWS and wanted.spans:
            # One day of four years is a few rows in ten thousand: its bin is fixed, and more rows are tried.
            condition = wanted.codes(self._domain, with_bins=True)
            met = tried = 0
            while met < FEWEST_ROWS and tried < _MOST_BATCHES * BATCH_ROWS:
                met += self._tried(condition, wanted, BATCH_ROWS, balanced=False).num_rows
                tried += BATCH_ROWS
        if met < FEWEST_ROWS:
            raise ConditionTooRare(tried=tried, fewest=FEWEST_ROWS, is_compared=bool(wanted.spans))
        return condition, met / tried

    def _leaves_out(self, condition: Condition) -> bool:
        """Whether rows drawn under a condition may violate it: rules may change the requested target."""
        return bool(condition.others) or not self._codes_stay

    def _meeting(
        self, condition: Condition, wanted: Conditions, rows: int, share: float
    ) -> Iterator[pa.RecordBatch]:
        rejects = bool(condition.others) or wanted.is_compared
        draws = int(min(BATCH_ROWS, rows * _MARGIN / share)) if rejects else min(BATCH_ROWS, rows)
        # Rows are left out later, which would undo the balance of a chunk.
        balanced = not rejects and is_balanced(rows, self._manifest.cardinalities)
        tasks = (partial(self._tried, condition, wanted, draws, balanced=balanced) for _ in repeat(None))
        batches = in_order(tasks, threads=self._threads)
        try:
            for batch in batches:
                if batch.num_rows:
                    yield batch.slice(0, rows)
                rows -= batch.num_rows
                if rows <= 0:
                    return
        finally:
            batches.close()  # type: ignore[attr-defined]  # a generator: closing it stops its threads

    def _tried(
        self, condition: Condition, wanted: Conditions, draws: int, *, balanced: bool
    ) -> pa.RecordBatch:
        """Draw rows, and keep those that meet conditions."""
        rng = _fresh()
        if self._codes_stay:
            generated = self._generated(draws, rng, condition.label, balanced=balanced)
            batch, values = decode(self._domain, generated[condition.met_by(generated)], rng), []
        else:
            values = self._values(draws, rng, condition.label, balanced=balanced)
            codes = codes_of(self._domain, values)
            met = condition.met_by(codes)
            if condition.label is not None:
                met &= codes[:, self._manifest.label_index] == condition.label
            values = [column[met] for column in values]
            batch = batch_of(self._domain, values)
        return wanted.met_by(batch, values, self._domain) if wanted.is_compared else batch

    def _batch(self, rows: int, *, balanced: bool) -> pa.RecordBatch:
        rng = _fresh()
        return batch_of(self._domain, self._values(rows, rng, None, balanced=balanced))

    def codes(self, rows: int, rng: np.random.Generator, *, label: int | None = None) -> Codes:
        """Draw rows in coded form.

        Args:
            label: The target's code for all rows; None to draw it by its distribution.

        Returns:
            Array of shape (rows, coded columns), values below each column's cardinality; see `core.plan.domain.codec.codes_type`.
        """
        balanced = is_balanced(rows, self._manifest.cardinalities)
        if self._codes_stay:
            return self._generated(rows, rng, label, balanced=balanced)
        return codes_of(self._domain, self._values(rows, rng, label, balanced=balanced))

    @property
    def _codes_stay(self) -> bool:
        """Whether values always encode to the codes they were drawn from.

        Rules change values, not every bin has every weekday, and a value that is made of a distance stays within its bounds.
        """
        return self._domain.kept is None and not self._domain.patterns and not self._domain.differences

    def _values(
        self, rows: int, rng: np.random.Generator, label: int | None, *, balanced: bool
    ) -> list[Floats]:
        """Values of rows, which keep the rules if there are any."""
        if self._domain.kept is not None:
            return self._keeping(self._domain.kept, rows, rng, label, balanced=balanced)
        return draw_values(self._domain, self._generated(rows, rng, label, balanced=balanced), rng)

    def _keeping(
        self, kept: Kept, rows: int, rng: np.random.Generator, label: int | None, *, balanced: bool
    ) -> list[Floats]:
        """Values of rows that keep the rules."""
        codes = self._generated(max(rows, KEPT_TOGETHER), rng, label, balanced=balanced)
        values = draw_values(self._domain, codes, rng)
        target = self._manifest.label_index
        labels = None if target is None else codes[:, target]

        def redraw(at: NDArray[np.int64]) -> list[Floats]:
            # With the row's own label: the distribution of labels stays as measured.
            again = self._generated(len(at), rng, None if labels is None else labels[at], balanced=False)
            return draw_values(self._domain, again, rng)

        kept.keeper.keep(values, redraw, rng, target=target)
        return [column[:rows] for column in values]

    def _generated(
        self, rows: int, rng: np.random.Generator, label: int | NDArray[np.integer] | None, *, balanced: bool
    ) -> Codes:
        """Codes from the generator, before rules are applied.

        Args:
            label: The target's code, one for all rows or one each; None to draw it by its distribution.
            balanced: Whether each chunk of rows is a balanced sample.
        """
        cardinalities = self._manifest.cardinalities
        chunk = rows_together(cardinalities) if balanced else self._source.chunk_rows
        # Contiguous by column: rows are drawn and decoded by column.
        codes: Codes = np.empty((len(cardinalities), rows), dtype=codes_type(cardinalities)).T
        scratch = self._source.scratch(min(rows, chunk))
        for start in range(0, rows, chunk):
            own = codes[start : start + chunk]
            uniforms = stratified_uniforms(len(own), rng) if balanced else rng.random(len(own))
            labels = self._labels(
                uniforms, label[start : start + chunk] if isinstance(label, np.ndarray) else label
            )
            if balanced:
                redrawn, distributions = self._source.draw_twice(own, labels, rng, scratch)
                balance(own, redrawn, distributions, cardinalities, rng)
            else:
                self._source.draw(own, labels, rng, scratch)
        return codes

    def _labels(
        self, uniforms: NDArray[np.float64], label: int | NDArray[np.integer] | None
    ) -> NDArray[np.int16]:
        rows, distribution = len(uniforms), self._manifest.label_probabilities
        if distribution is None:
            return np.zeros(rows, dtype=np.int16)
        return draw_labels(distribution, uniforms) if label is None else np.full(rows, label, dtype=np.int16)


def _fresh() -> np.random.Generator:
    """Fresh operating-system entropy for each batch; there is no seed option."""
    return np.random.Generator(np.random.SFC64(secrets.randbits(256)))
