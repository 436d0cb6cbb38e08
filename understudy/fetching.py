"""What is public about a release, downloaded into a folder: rows, generator, certificate, ledger, keys."""

import json
from pathlib import Path

from understudy.client import Client
from understudy.client.handles import Job
from understudy.documents import Json
from understudy.publication import Order, Published, Screen, sample_files
from understudy.results.datasets import Dataset

BUNDLE, CERTIFICATE, LEDGER = "bundle.zip", "certificate.json", "ledger.json"
KEYS = "signing-keys.json"
"""The service's public keys, as it shows them itself: what `understudy verify --keys` takes."""


def fetch(analyst: Client, dataset: Dataset, job: Job, order: Order, screen: Screen) -> Published:
    """Download everything that is public about the release.

    Args:
        analyst: a client of the analyst.
        dataset: the dataset.
        job: the job, succeeded.
        order: what to publish.
        screen: told what happens.
    """
    release_id = job.require_release()
    certificate = analyst.read_certificate(release_id)
    statement = analyst.read_ledger(dataset.id)
    out = order.out
    write_json(out / CERTIFICATE, certificate)
    write_json(out / LEDGER, statement.document)
    write_json(out / KEYS, {"items": analyst.auditing.list_signing_keys()})
    with screen.transfer("bundle", None) as seen:
        analyst.download_bundle(release_id, out / BUNDLE, seen=seen)
    samples = sample_files(order)
    for name, rows in samples.items():
        with screen.transfer(name, None) as seen:
            analyst.download_samples(
                release_id, out / name, rows=rows, file_format=name.rpartition(".")[2], seen=seen
            )
    return Published(
        dataset=dataset,
        job=job,
        release_id=release_id,
        certificate=certificate,
        statement=statement,
        files=tuple(out / name for name in (*samples, BUNDLE, CERTIFICATE, LEDGER, KEYS)),
    )


def write_json(file: Path, document: Json) -> None:
    """Write a document for people and programs.

    Args:
        file: the file.
        document: the JSON object.
    """
    file.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
