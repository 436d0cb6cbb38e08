"""The synthesizer "idpgan": a generator kept near a moment anchor and refined by a private WGAN-GP critic."""

from collections.abc import Sequence

from core.artifacts.counts import ReleasedCounts
from core.plan.plan import Plan
from models.counting.question import Counter
from models.devices.placement import HOST, Placement
from models.encoding import PrivateImages, PrivateTable
from models.exchange import CountExchange
from models.idpgan.image_training import ImageTraining
from models.idpgan.training import Training
from models.randomness import KeyedStreams
from models.synthesizer import Synthesizer, TrainedGenerator, TrainedImageGenerator, TrainingHost


class IdpganSynthesizer(Synthesizer):
    """IDPGAN on tables and on images."""

    def __init__(
        self,
        placement: Placement = HOST,
        *,
        earlier: Sequence[ReleasedCounts] = (),
        exchange: CountExchange | None = None,
    ) -> None:
        self._placement, self._earlier, self._exchange = placement, earlier, exchange

    def _fit_table(
        self, records: PrivateTable | Counter, plan: Plan, streams: KeyedStreams, host: TrainingHost
    ) -> TrainedGenerator:
        return Training(
            records,
            plan,
            streams,
            host,
            placement=self._placement,
            earlier=self._earlier,
            exchange=self._exchange,
        ).run()

    def _fit_images(
        self, records: PrivateImages, plan: Plan, streams: KeyedStreams, host: TrainingHost
    ) -> TrainedImageGenerator:
        return ImageTraining(records, plan, streams, host, placement=self._placement).run()
