"""The Python of docs/start.md, the draft accepted unseen: `train.csv` to `synthetic.csv`."""

import pandas as pd

from understudy import Synthesizer

flights = pd.read_csv("train.csv")
synthesizer = Synthesizer(epsilon=1.0, dataset="flights", cap=(4.0, 1e-5))
print(synthesizer.draft(flights))
synthesizer.accept_draft(privacy_unit="none")  # the draft asks: each row is a flight of its own
synthesizer.fit(flights).sample(len(flights)).to_csv("synthetic.csv", index=False)
