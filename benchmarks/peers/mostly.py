"""MOSTLY AI's quick start, local, five minutes of training at most: `train.csv` to `synthetic.csv`."""

import pandas as pd
from mostlyai.sdk import MostlyAI

mostly = MostlyAI(local=True)
flights = pd.read_csv("train.csv")
model = {"max_training_time": 5}
generator = mostly.train(
    config={
        "name": "flights",
        "tables": [{"name": "flights", "data": flights, "tabular_model_configuration": model}],
    }
)
mostly.probe(generator, size=len(flights)).to_csv("synthetic.csv", index=False)
