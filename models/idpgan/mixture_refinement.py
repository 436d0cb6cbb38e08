"""A mixture of product distributions trained against a critic, along an unbiased estimate of its expected score's gradient.

Reads no private row.

A component is a product of distributions of the columns, so the expected score is linear in each of them:

    d E[D(x)] / d p_j(c) = E[D(x with code c in column j)]

and one record of every component gives an unbiased estimate (local expectation gradients, Titsias and Lazaro-Gredilla 2015). No gradient
passes through a draw, and the critic is asked at records alone, not for its slope there. Components have parameters of their own, so one may
leave a combination of codes that the critic finds false while the others stay, which a network must learn as a bend of its latent space.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from core.plan.options import IdpganOptions
from models.critic.network import Critic
from models.encoding import block_starts
from models.idpgan.generator import draw, probabilities
from models.idpgan.learner import cosine
from models.idpgan.mixture import BETAS, LATENT_DIMENSION, LEARNING_RATE, Mixture, distance, fit_rate
from models.idpgan.prepared_counts import Anchor
from models.idpgan.refinement import REFINEMENT_RATE, Refinement
from models.randomness import KeyedStreams, Purpose

LARGEST_PIECE: Final = 2**24
"""Numbers of the first hidden layer that are computed at a time; a public constant."""


class MixtureRefinement(Refinement):
    """The mixture, initialised, with its optimiser and exponential average.

    Args:
        target_index: the column whose distribution is given, or None.
        distribution: its noisy shares, or None without a target.
        anchor: what the mixture uses of the noisy moments, or None without them.
    """

    def __init__(
        self,
        *,
        mixture: Mixture,
        options: IdpganOptions,
        streams: KeyedStreams,
        cardinalities: tuple[int, ...],
        target_index: int | None,
        distribution: npt.NDArray[np.float64] | None,
        anchor: Anchor | None,
    ) -> None:
        super().__init__(
            generator=mixture,
            options=options,
            streams=streams,
            cardinalities=cardinalities,
            distribution=distribution,
            anchor=anchor,
            latent_dimension=LATENT_DIMENSION,
            learning_rate=LEARNING_RATE,
            betas=BETAS,
        )
        self._mixture = mixture
        starts = block_starts(cardinalities)
        target = len(cardinalities) if target_index is None else target_index
        self._target = slice(int(starts[target]), int(starts[target]) + mixture.classes)

    def pretrain(self, step: int) -> None:
        """One step towards the noisy counts alone, as of a mixture without a critic."""
        assert self._anchor is not None, "only an anchor can be pre-trained on"
        self._update(distance(self._mixture, self._anchor), fit_rate(step, self._options.pretraining_steps))

    def refine(self, step: int, critic: nn.Module, *, progress: float) -> Tensor:
        """See `Refinement.refine`; the records are one of every component."""
        assert isinstance(critic, Critic), "a table's critic"
        loss, scores = self.against(step, critic)
        rate = cosine(progress)
        if self._anchor is not None:
            loss = loss + self._options.anchor_weight * distance(self._mixture, self._anchor)
            rate *= REFINEMENT_RATE
        self._update(loss, rate)
        return scores

    def against(self, step: int, critic: Critic) -> tuple[Tensor, Tensor]:
        """A scalar whose gradient is that of minus the expected score, without bias, and the scores of the records, (components,)."""
        distributions = probabilities(self._mixture.spread(self._mixture.logits), self._cardinalities)
        answered = self._answered(distributions)
        weights, drawn_from, block = (
            answered.detach().sum(dim=1),
            distributions.detach().clone(),
            self._target,
        )
        if self._mixture.classes:
            drawn_from[:, block] = answered.detach() / weights[:, None]
        uniforms = self._streams.torch_uniforms(
            Purpose.GENERATOR_LABELS, step, (len(distributions), len(self._cardinalities))
        ).to(self._device)
        records = draw(drawn_from, uniforms, self._cardinalities)
        exchanged = exchanged_scores(critic, records, self._cardinalities)
        scores = (exchanged * records).sum(dim=1) / len(self._cardinalities)
        # What the record itself scores is the same for all codes of a column, so it changes no gradient and keeps the sum small.
        gains = distributions * (exchanged - scores[:, None])
        gain = (gains.sum(dim=1) - gains[:, block].sum(dim=1)) * weights
        # The target's distribution is given, so its block says which component has a label, not how often it is drawn.
        of_labels = answered * exchanged[:, block] if self._mixture.classes else answered.new_zeros(1)
        return -gain.sum() - of_labels.sum(), scores

    def _answered(self, distributions: Tensor) -> Tensor:
        """(components, classes) the share of all drawn records with each label and component; (components, 1) without a target."""
        if self._distribution is None or not self._mixture.classes:
            return torch.full((len(distributions), 1), 1.0 / len(distributions), device=distributions.device)
        of_label = distributions[:, self._target]
        distribution = torch.from_numpy(self._distribution).to(distributions)
        return distribution * of_label / of_label.sum(dim=0)


@torch.no_grad()
def exchanged_scores(critic: Critic, records: Tensor, cardinalities: tuple[int, ...]) -> Tensor:
    """Scores of every record with each code of each column in place of its own; (rows, cells).

    Args:
        records: (rows, cells) one-hot.
    """
    first, *others = critic.linear_layers()
    hidden = first(records)
    at_once = max(1, LARGEST_PIECE // hidden.numel())
    made = []
    for own, weight in zip(
        torch.split(records, list(cardinalities), dim=1),
        torch.split(first.weight, list(cardinalities), dim=1),
        strict=True,
    ):
        without = hidden - own @ weight.T
        for codes in torch.split(weight.T, at_once):
            values = without[:, None, :] + codes[None]
            for layer in others:
                values = layer(critic.activation(values))
            made.append(values.squeeze(-1))
    return torch.cat(made, dim=1)
