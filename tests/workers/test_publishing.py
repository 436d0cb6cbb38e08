"""From the staged bundle to the signed one: refused unless it is this claim's plan, to its end."""

import io
import json
import zipfile
from dataclasses import replace
from typing import Any

import pytest

from core.artifacts.asking.rules_check import CODE, REMEDY
from core.artifacts.bundle import Bundle, artefacts_of, unpack
from core.artifacts.errors import ExecutionDiffers
from core.artifacts.execution import SCHEMA, Executed
from core.artifacts.manifest import TableManifest
from core.artifacts.packing import files_of, pack
from core.artifacts.readme import render_readme
from core.artifacts.signing import keyring
from core.artifacts.signing.contexts import CERTIFICATE
from core.artifacts.signing.signed import SignedDocument, verify
from core.platform.stored_objects import bundle_key
from models.grids import noise_grid
from models.software import TAKING_PART, software_of
from tests.core.artifacts.ruled import BROKEN, ruled_release
from tests.workers.support import DOCUMENT, Workshop
from workers.publishing import certify_bundle


def staged(workshop: Workshop, claim: Any, *, of: Bundle | None = None, **changes: object) -> str:
    report = {
        "schema": SCHEMA,
        "job_id": str(claim.job_id),
        "plan_digest": claim.plan_digest,
        "ordered_at": "2026-11-20T00:00:00+00:00",
        "executed": Executed.planned(claim.plan).to_json(),
        "noise_grid": noise_grid(claim.plan),
        "software": software_of("core", "models", "workers"),
    }
    manifest = TableManifest(
        latent_dimension=8, cardinalities=(10, 3, 2), label_index=2, label_probabilities=(0.5, 0.5)
    )
    bundle = of or Bundle(manifest=manifest, network=b"n", weights=b"w", domain=DOCUMENT, certificate={})
    bundle = replace(bundle, certificate=report | changes)
    key = bundle_key(claim.job_id, claim.fence)
    workshop.store.put_bytes(key, pack(bundle, readme="to be written"))
    return key


def certified(workshop: Workshop, claim: Any) -> dict[str, Any]:
    return certify_bundle(
        claim,
        database=workshop.database,
        store=workshop.store,
        master_keys=workshop.settings.master_keys,
        clock=workshop.clock,
    )


def test_the_certificate_is_signed_by_the_services_key_and_lists_every_file(workshop: Workshop) -> None:
    claim = workshop.claim(workshop.order())
    key = staged(workshop, claim)
    certificate = certified(workshop, claim)
    bundle = unpack(workshop.store.get_bytes(key))
    with workshop.database.read_only() as session:
        public_keys = keyring.public_keys(session)
    assert bundle.certificate == certificate
    assert verify(SignedDocument.from_json(certificate), context=CERTIFICATE, public_keys=public_keys)
    readme = render_readme(bundle.manifest, certificate=certificate)
    assert certificate["artefacts"] == artefacts_of(files_of(bundle, readme=readme))
    assert certificate["ledger"]["reserved"]["sequence"] + 1 == certificate["ledger"]["spent"]["sequence"]
    assert workshop.release(claim.job_id) is None, "nothing is published by signing"


@pytest.mark.parametrize("broken", [BROKEN, 0])
def test_the_readme_says_first_which_rules_the_counts_contradict(workshop: Workshop, broken: int) -> None:
    claim = workshop.claim(workshop.order())
    key = staged(workshop, claim, of=ruled_release(broken=broken)[0])
    certificate = certified(workshop, claim)
    content = workshop.store.get_bytes(key)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        readme = archive.read("README.md").decode()
    assert certificate["artefacts"] == artefacts_of(files_of(unpack(content), readme=readme))
    if not broken:
        assert CODE not in readme
        assert REMEDY not in readme
        return
    (told,) = (line for line in readme.splitlines() if CODE in line)
    assert told.startswith(
        f"> `{CODE}`: the counts contradict the rule /rules/0 of domain.json (impossible of ward, sick)."
    )
    assert "break it in ward, sick (95 % interval" in told
    assert REMEDY in readme
    assert readme.index(CODE) < readme.index("This bundle")


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": "understudy.certificate/2"},
        {"job_id": "another"},
        {"plan_digest": "0" * 64},
        {
            "executed": {
                "label_histogram": [],
                "anchor": [[0, 1, 1]],
                "gradients": [[0, 1, 59]],
                "histograms": [],
            }
        },
        {
            "executed": {
                "label_histogram": [],
                "anchor": [[0, 1, 1]],
                "gradients": [[0, 1, 61]],
                "histograms": [],
            }
        },
        {"executed": {"label_histogram": [], "anchor": [], "gradients": [[0, 1, 60]], "histograms": []}},
    ],
    ids=["another document", "another job", "another plan", "a step less", "a step more", "no anchor"],
)
def test_what_is_not_this_claims_plan_is_not_signed(workshop: Workshop, changes: dict[str, object]) -> None:
    claim = workshop.claim(workshop.order())
    key = staged(workshop, claim, **changes)
    before = workshop.store.get_bytes(key)
    with pytest.raises(ExecutionDiffers):
        certified(workshop, claim)
    assert workshop.store.get_bytes(key) == before


def test_software_names_what_takes_part_with_a_hash_that_no_installer_changes() -> None:
    found = software_of("core", "models", "workers")
    assert [row["name"] for row in found["distributions"]] == list(TAKING_PART)
    assert all(row["version"] and len(row["files_sha256"]) == 64 for row in found["distributions"])
    assert json.loads(json.dumps(found)) == found
