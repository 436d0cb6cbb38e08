"""SDV's quick start with its GaussianCopulaSynthesizer: `train.csv` to `synthetic.csv`."""

import pandas as pd
from sdv.metadata import Metadata
from sdv.single_table import GaussianCopulaSynthesizer

data = {"flights": pd.read_csv("train.csv")}
metadata = Metadata.detect_from_dataframes(data)
synthesizer = GaussianCopulaSynthesizer(metadata)
synthesizer.fit(data)
made = synthesizer.sample(len(data["flights"]))
made["flights"].to_csv("synthetic.csv", index=False)
