"""The synthesizer "idpgan": a generator held by a moment anchor and refined by a private WGAN-GP critic."""

from core.synthesis.plan import Plan
from models.encoding import PrivateTable
from models.idpgan.training import Training
from models.randomness import KeyedStreams
from models.synthesizer import TrainedGenerator, TrainingHost


class IdpganSynthesizer:
    """See `models.synthesizer.Synthesizer`."""

    def fit(
        self, table: PrivateTable, plan: Plan, streams: KeyedStreams, host: TrainingHost
    ) -> TrainedGenerator:
        """Run the plan on the table; resumes from the host's checkpoint."""
        return Training(table, plan, streams, host).run()
