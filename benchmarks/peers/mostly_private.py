"""MOSTLY AI's quick start with the defaults of its differential privacy, local, two minutes of training at most, no report."""

import pandas as pd
from mostlyai.sdk import MostlyAI

mostly = MostlyAI(local=True)
flights = pd.read_csv("train.csv")
model = {"max_training_time": 2, "enable_model_report": False, "differential_privacy": {}}
generator = mostly.train(
    config={
        "name": "flights",
        "tables": [{"name": "flights", "data": flights, "tabular_model_configuration": model}],
    }
)
mostly.probe(generator, size=len(flights)).to_csv("synthetic.csv", index=False)
