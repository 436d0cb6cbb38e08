"""Datasets: declaring them, and sending their rows at once or in parts.

A large file goes in parts, so that an interruption costs one part and not the file. A note in the file's folder (see
`understudy.http.uploads`) lets another process resume: only parts that the service lacks are sent, and every part of the file is
compared by its digest.
"""

import base64
import hashlib
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from understudy.client.backend import in_thread
from understudy.client.session import Session
from understudy.documents import Json, take
from understudy.errors import InputUnusable, NotFound, Refused
from understudy.http.calls import Call, given, read_nothing, read_object
from understudy.http.exchange import Seen, unseen
from understudy.http.uploads import (
    LIVE,
    PART_ATTEMPTS,
    POLL_SECONDS,
    RESUMABLE_FROM_BYTES,
    UploadNote,
    content_type_of,
    forget,
    passes,
    stamp,
)
from understudy.results.datasets import Dataset, IntakeReport, Upload

Result = TypeVar("Result")


class Datasets(Session):
    """The client's methods for datasets."""

    def declare_dataset(
        self,
        *,
        name: str,
        domain: Json,
        declared_size: int,
        rule: str | None = None,
        parent_dataset_id: str | None = None,
    ) -> Dataset:
        """Declare a private table (owner); nothing private is sent."""
        body = {"name": name, "domain": domain, "declared_size": declared_size}
        body |= given({"rule": rule, "parent_dataset_id": parent_dataset_id})
        return self.run(Call("POST", "/v1/datasets", Dataset.from_json, body=body))

    def list_datasets(self) -> tuple[Dataset, ...]:
        """Return all datasets that the key may see, newest first."""
        return self.all_pages("/v1/datasets", Dataset.from_json)

    def read_dataset(self, dataset_id: str) -> Dataset:
        """Return a dataset's public facts."""
        return self.run(Call("GET", f"/v1/datasets/{dataset_id}", Dataset.from_json))

    def upload_rows(
        self,
        dataset_id: str,
        rows: Path,
        *,
        seen: Seen = unseen,
        resumable_from: int = RESUMABLE_FROM_BYTES,
        declaration: str = "",
        max_refused: float | None = None,
    ) -> IntakeReport:
        """Send a file of rows to the service (owner).

        A large file goes in parts: lost parts are sent again, and after an interruption, even of this process, the same
        call on the same file resumes. A note in the file's folder names its upload.

        Args:
            rows: a file whose name ends as one of `understudy.http.uploads.CONTENT_TYPES`.
            seen: called with the number of bytes of each piece sent, or found to be there.
            resumable_from: files of at least so many bytes go in parts; smaller ones at once, and are never retried.
            declaration: kept in the note of a large file; see `understudy.http.uploads.UploadNote`.
            max_refused: the largest share of refused rows, from 0 to 1, with which the dataset takes the others at once; by
                default the service's (one in fifty). Above it the report says `waiting`, and `accept_rows` or `discard_rows`
                decides.

        Raises:
            InputUnusable: if there is no such file, its name does not show its format, or it changed during the upload.
            Refused: if the service refused.
        """
        content_type, (size, _modified_ns) = content_type_of(rows), stamp(rows)
        if size >= max(1, resumable_from):
            return self._upload_in_parts(
                dataset_id, rows, content_type, seen=seen, declaration=declaration, max_refused=max_refused
            )
        call = Call(
            "POST",
            f"/v1/datasets/{dataset_id}/rows",
            IntakeReport.from_json,
            query={} if max_refused is None else {"max_refused": repr(float(max_refused))},
            headers={"Content-Type": content_type, "Content-Length": str(size)},
        )
        return self.send_file(call, rows, seen=seen)

    def _upload_in_parts(
        self,
        dataset_id: str,
        rows: Path,
        content_type: str,
        *,
        seen: Seen,
        declaration: str,
        max_refused: float | None,
    ) -> IntakeReport:
        before = stamp(rows)
        upload = self._resume_or_start(dataset_id, rows, content_type, declaration)
        whole = hashlib.sha256()
        with rows.open("rb") as file:
            for number in range(1, upload.parts_total + 1):
                content = in_thread(file.read, upload.part_bytes)
                in_thread(whole.update, content)
                if upload.state == "open":
                    self._send_part(upload, number, content, rows)
                seen(len(content))
        if upload.state == "open" and stamp(rows) != before:
            # Parts of two files would be taken in as one.
            self._give_up(upload, rows)
        try:
            report = self._complete(upload.id, whole.hexdigest(), max_refused)
        except Refused as refusal:
            if not passes(refusal):
                forget(rows)
            raise
        forget(rows)
        return report

    def _resume_or_start(self, dataset_id: str, rows: Path, content_type: str, declaration: str) -> Upload:
        note = UploadNote.read(rows, url=self.url)
        if note is not None and note.dataset_id == dataset_id:
            with suppress(NotFound):
                upload = self._run_patiently(Call("GET", f"/v1/uploads/{note.upload_id}", Upload.from_json))
                if upload.state in LIVE:
                    return upload
        size, modified_ns = stamp(rows)
        body = {"bytes": size, "content_type": content_type}
        upload = self._run_patiently(
            Call("POST", f"/v1/datasets/{dataset_id}/uploads", Upload.from_json, body=body)
        )
        UploadNote(
            url=self.url,
            dataset_id=dataset_id,
            upload_id=upload.id,
            size=size,
            modified_ns=modified_ns,
            declaration=declaration,
        ).write(rows)
        return upload

    def _send_part(self, upload: Upload, number: int, content: bytes, rows: Path) -> None:
        digest = (in_thread(hashlib.sha256, content)).digest()
        there = upload.parts.get(number)
        if there == digest.hex():
            return
        if there is not None:
            self._give_up(upload, rows)
        call = Call(
            "PUT",
            f"/v1/uploads/{upload.id}/parts/{number}",
            read_object,
            headers={
                "Content-Type": "application/octet-stream",
                "Content-Digest": f"sha-256=:{base64.b64encode(digest).decode()}:",
            },
            content=content,
        )
        for attempt in range(1, PART_ATTEMPTS + 1):
            try:
                self._run_patiently(call)
            except Refused as refusal:
                # Only a part that was damaged on the way is worth another attempt.
                if refusal.code != "digest-differs" or attempt == PART_ATTEMPTS:
                    raise
            else:
                return

    def _complete(self, upload_id: str, sha256: str, max_refused: float | None) -> IntakeReport:
        """Have the rows taken in, and wait until they are; a retry does the work once."""
        call = Call(
            "POST",
            f"/v1/uploads/{upload_id}/complete",
            _read_report_if_there,
            body=given({"sha256": sha256, "max_refused": max_refused}),
            headers={"Idempotency-Key": f"complete-{upload_id}"},
        )
        while (report := self._run_patiently(call)) is None:
            self.sleep(POLL_SECONDS)
        return report

    def _give_up(self, upload: Upload, rows: Path) -> None:
        forget(rows)
        self._run_patiently(Call("DELETE", f"/v1/uploads/{upload.id}", read_nothing))
        message = f"{rows} has changed since its upload began; upload it again"
        raise InputUnusable(message)

    def _run_patiently(self, call: Call[Result]) -> Result:
        return self.run(call, repetitions=self.patient)

    def accept_rows(self, dataset_id: str) -> IntakeReport:
        """Take the waiting rows into the dataset, although many were refused (owner). Repeating it changes nothing."""
        headers = {"Idempotency-Key": f"accept-{dataset_id}"}
        path = f"/v1/datasets/{dataset_id}/rows/accept"
        return self.run(Call("POST", path, IntakeReport.from_json, headers=headers))

    def discard_rows(self, dataset_id: str) -> None:
        """Have the waiting rows destroyed (owner); the dataset takes rows as before. Repeating it changes nothing."""
        headers = {"Idempotency-Key": f"discard-{dataset_id}"}
        path = f"/v1/datasets/{dataset_id}/rows/discard"
        self.run(Call("POST", path, read_nothing, headers=headers))

    def read_intake_report(self, dataset_id: str) -> IntakeReport:
        """Return what happened to the uploaded rows (owner)."""
        path = f"/v1/datasets/{dataset_id}/intake-report"
        return self.run(Call("GET", path, IntakeReport.from_json))


def _read_report_if_there(document: object) -> IntakeReport | None:
    (report,) = take(document, "intake_report")
    return None if report is None else IntakeReport.from_json(report)
