"""The private networks that the paper compares itself with, as configurations of the product's training on images.

| | threshold fixed | threshold from public images |
|---|---|---|
| WGAN-GP critic | DPGAN | GANobfuscator |
| critic with an auxiliary classifier | DPACGAN | what the paper's reference for DPACGAN proposes |

All else is the product's: Poisson sampling, clipping, noise, Adam, generator, releases, and the plan that is charged. Those of
tables are in `benchmarks.baselines.table_gan`.
"""

from benchmarks.baselines.auxiliary_critic import AuxiliaryCritic
from benchmarks.baselines.auxiliary_form import AuxiliaryForm
from benchmarks.baselines.public_threshold import PUBLIC_STREAM, PublicImages, PublicThreshold
from core.plan.critic_groups import critic_channels
from core.plan.plan import Plan
from models.encoding import PrivateImages
from models.idpgan.image_training import ImageTraining
from models.private_step import PrivateCritic
from models.randomness import KeyedStreams
from models.synthesizer import TrainingHost

FORM = AuxiliaryForm
"""Record form of the auxiliary critic; importing it registers it where `models.critic.forms` looks."""


class PrivateGan(ImageTraining):
    """One training of a baseline. It is not resumed half-way: nothing but the benchmarks runs it.

    Args:
        images: private.
        plan: what to do, without an anchor and without ACTS.
        streams: all randomness of the job.
        host: durable progress.
        auxiliary: whether the critic is a classifier of labels too.
        public: images that set the threshold, or None for the plan's.
    """

    def __init__(
        self,
        images: PrivateImages,
        plan: Plan,
        streams: KeyedStreams,
        host: TrainingHost,
        *,
        auxiliary: bool = False,
        public: PublicImages | None = None,
    ) -> None:
        assert not plan.idpgan_options.anchor, "a baseline has no anchor"
        assert plan.acts is None, "its threshold is fixed or public"
        super().__init__(images, plan, streams, host)
        if auxiliary and plan.steps:
            height, width, channels = images.shape
            self._network = AuxiliaryCritic(
                image=(channels, height, width),
                widths=critic_channels(plan.idpgan_options),
                labels=images.classes,
            ).initialise(streams)
            # In place of the plan's critic. Random numbers are addressed by purpose, so making that one took none.
            self._critic = PrivateCritic(self._network, plan, streams)
        self.thresholds: list[tuple[float, ...]] = []
        self._public = public
        if public is not None:
            assert self._network is not None, "a plan with steps has a critic"
            assert self._critic is not None, "and trains it privately"
            self._threshold = PublicThreshold(
                self._network, self._critic.layout, plan, streams, count=len(public.pixels)
            )

    def _private_step(self, step: int) -> None:
        if self._public is not None and step % self._public.interval == 0:
            self._look(step, self._public)
        super()._private_step(step)

    def _look(self, step: int, public: PublicImages) -> None:
        """Set the threshold from the public images: the private ones are not touched here."""
        assert self._critic is not None, "a plan with steps has a critic"
        real, labels = public.tensors()
        fakes = self._refinement.fakes(PUBLIC_STREAM + step, labels)
        known = labels if self._images.classes else None
        self.thresholds.append(self._threshold.adopt(self._critic, step, real, fakes, known))
