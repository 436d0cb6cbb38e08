"""Checkpoints, optimisers, critic, masks: sealed while the job runs, gone when it has ended; only the generator leaves."""

import io
import re
import zipfile

import safetensors.numpy
from sqlalchemy import select

from core.db.tables import Job

MEMBERS = {
    "README.md",
    "certificate.json",
    "counts.bin",
    "domain.json",
    "generator.onnx",
    "generator.safetensors",
    "manifest.json",
    "sample.py",
}
KEPT = (
    r"datasets/{dataset_id}/rows\S*\.sealed",
    r"datasets/{waiting}/rows\S*\.sealed",
    r"releases/{release_id}/bundle-\d+\.zip",
    r"datasets/{dataset_id}/report-{sealed_report_id}-\d+\.sealed",
    r"jobs/{failed}/failure-\d+\.sealed",
    r"probes/\S+",
    r"witness/populations/[0-9a-f-]{{36}}/head-\d{{12}}-[0-9a-f]{{64}}\.json",
    r"witness/populations/[0-9a-f-]{{36}}/release-[0-9a-f-]{{36}}\.json",
)


def bundle_of(one):
    (found,) = (a for a in one.answers if (a.caller, a.operation) == ("analyst", "download_bundle"))
    return zipfile.ZipFile(io.BytesIO(found.content))


def test_ended_jobs_leave_the_rows_the_bundle_and_the_note_of_a_failure(played):
    for one in played.values():
        left = {
            key
            for key in one.kept
            if not any(re.fullmatch(form.format_map(one.stage.ids), key) for form in KEPT)
        }
        assert not left


def test_there_were_checkpoints_and_all_of_them_were_sealed(played):
    """What is in them is not random: a state that is not sealed has words of the format in it."""
    watches = played["canaries"].stage.watches
    assert any(name.startswith("checkpoint-") for watch in watches for name in watch.names)
    assert not [found for watch in watches for found in watch.found]


def test_no_ended_job_has_a_key_left(played):
    for one in played.values():
        with one.stage.world.database.read_only() as session:
            keys = session.scalars(
                select(Job.sealed_randomness_key).where(Job.finished_at.is_not(None))
            ).all()
        assert len(keys) >= 3
        assert set(keys) == {None}


def test_the_bundle_has_the_generator_and_no_other_network(played):
    with bundle_of(played["canaries"]) as archive:
        assert set(archive.namelist()) == MEMBERS
        weights = safetensors.numpy.load(archive.read("generator.safetensors"))
    assert {name.split(".")[0] for name in weights} == {
        "enter",
        "blocks",
        "leave",
        "group_of_code",
        "within_group",
    }


def test_two_downloads_and_everybodys_are_one(played):
    for one in played.values():
        told = {a.content for a in one.answers if a.operation == "download_bundle" and a.status == 200}
        assert len(told) == 1
