import subprocess
import sys
import threading

import numpy as np
import pytest

from core.artifacts.errors import BundleInvalid
from core.artifacts.packing import pack
from core.artifacts.readme import render_readme
from core.artifacts.sampling.sampler import Sampler
from tests.core.artifacts.stand_in import LABEL_DISTRIBUTION, WARD_DISTRIBUTION, bundle

# Five and a half standard deviations: a false alarm in about 2 of 1e8 comparisons; under 1e-6 a run.
DEVIATIONS = 5.5


def _close(count, total, probability):
    return (
        abs(count - total * probability) <= DEVIATIONS * np.sqrt(total * probability * (1 - probability)) + 1
    )


def test_samples_follow_the_label_distribution_and_the_softmax():
    codes = Sampler(bundle()).codes(200_000, np.random.default_rng())
    label, ward = codes[:, 2], codes[:, 0]
    for value, probability in enumerate(LABEL_DISTRIBUTION):
        assert _close(np.sum(label == value), len(codes), probability)
        given_label = ward[label == value]
        for code, share in enumerate(WARD_DISTRIBUTION[value]):
            assert _close(np.sum(given_label == code), len(given_label), share)


@pytest.mark.parametrize("rows", [1, 4095, 4096, 4097, 10_000])
def test_exactly_the_rows_asked_for_come(rows):
    batches = list(Sampler(bundle(), threads=2).batches(rows, batch_rows=5000))
    assert sum(batch.num_rows for batch in batches) == rows
    assert batches[0].schema.names == ["ward", "age", "sick", "seen"]


def test_two_downloads_differ():
    sampler = Sampler(bundle())
    first, second = (next(iter(sampler.batches(50))).to_pylist() for _ in range(2))
    assert first != second


def test_abandoning_a_download_stops_its_threads():
    batches = Sampler(bundle(), threads=2).batches(10**12, batch_rows=1000)
    next(batches)
    batches.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sampler")]


def test_a_bundle_whose_network_is_no_model_is_refused():
    with pytest.raises(BundleInvalid, match="network"):
        Sampler(bundle(network=b"not a model"))


def test_the_program_in_the_readme_runs_without_this_package(tmp_path):
    manifest = bundle().manifest
    readme = render_readme(manifest, certificate=bundle().certificate)
    (tmp_path / "bundle.zip").write_bytes(pack(bundle(), readme=readme))
    program = readme.split("```python\n")[1].split("```")[0]
    done = subprocess.run(
        [sys.executable, "-I", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    assert done.stdout.startswith("[[")
    assert "(1.0, 1e-06)" in readme
    assert "one record" in readme
