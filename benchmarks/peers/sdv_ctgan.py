"""SDV's quick start with its CTGANSynthesizer, `tailnum` an identifier as its alert on the width of the data advises, few epochs."""

import sys

import pandas as pd
from sdv.metadata import Metadata
from sdv.single_table import CTGANSynthesizer

data = {"flights": pd.read_csv("train.csv")}
metadata = Metadata.detect_from_dataframes(data)
metadata.update_column("tailnum", table_name="flights", sdtype="id", regex_format="N[0-9]{3}[A-Z]{2}")
synthesizer = CTGANSynthesizer(metadata, epochs=int(sys.argv[1]), verbose=True)
synthesizer.fit(data)
made = synthesizer.sample(len(data["flights"]))
made["flights"].to_csv("synthetic.csv", index=False)
