"""Settings of the server roles, read from ``UNDERSTUDY_*`` environment variables.

The client (`understudy/`) does not use them. The settings page of the documentation is generated from this class.
"""

import os
from functools import cache
from ipaddress import IPv4Network, IPv6Network, ip_address
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from core.data.master_keys import MasterKeys
from core.platform.secrets import (
    SecretFileUnusable,
    read_secret_file,
    require_strong,
    weakness_of_address,
    weakness_of_key,
    weakness_of_store,
)

MASTER_KEY_HEX_LENGTH = 64
CALLBACK_PATH = "/sign-in/callback"


class Settings(BaseSettings):
    """Settings of the operator. Times are in seconds, sizes in bytes."""

    model_config = SettingsConfigDict(
        env_prefix="UNDERSTUDY_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    mode: Literal["embedded", "production"] = Field(
        "production", description="embedded is the one-machine stack started by `understudy up`."
    )
    database_url: str = Field(description="SQLAlchemy URL of Postgres, postgresql+psycopg://...")
    broker_url: str = Field(description="Redis URL of the job queue, redis://, rediss:// or redis+socket://.")
    storage_url: str = Field(
        description="Where sealed objects are kept: file:///folder or s3://bucket/prefix."
    )
    scratch_folder: Path = Field(description="Folder on this machine for short-lived, sealed spool files.")
    master_key: SecretStr = Field(
        description="64 hexadecimal digits; wraps every data key. Keep it out of backups."
    )
    master_key_file: Path | None = Field(
        None,
        description="A file with the master key, instead of the variable; mode 0600 or 0400, or below"
        " /run/secrets.",
    )
    previous_master_key: SecretStr | None = Field(
        None,
        description="During a rotation, the other master key, which only opens and never seals (see `python"
        " -m service.rotate_master_key`).",
    )
    witness_url: str | None = Field(
        None,
        description="A second location for the signed heads of ledgers and audit log: a storage URL that"
        " this machine does not control.",
    )

    host: str = Field(
        "127.0.0.1",
        description="Address the API was started on; decides whether it counts as reachable from this machine alone.",
    )
    port: int = Field(8321, ge=1, le=65535, description="Port on which the embedded stack starts the API.")
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = Field(
        (),
        description="Addresses and networks of proxies whose X-Forwarded-For, -Proto and -Host are trusted, JSON:"
        ' ["10.0.0.7", "fd00::/64"]. From other addresses these headers are ignored.',
    )

    metrics_token: SecretStr | None = Field(
        None,
        min_length=16,
        description="Bearer token for /metrics; without one only the embedded stack serves it.",
    )
    otlp_endpoint: str | None = Field(
        None,
        description="Base URL of an OTLP/HTTP collector for traces; without it and"
        " OTEL_EXPORTER_OTLP_ENDPOINT nothing is exported.",
    )

    lease_seconds: float = Field(
        60.0, gt=0, le=86_400, description="A worker that is silent this long loses its job."
    )
    heartbeat_seconds: float = Field(10.0, gt=0, le=3_600, description="How often a worker renews its lease.")
    checkpoint_seconds: float = Field(
        30.0, gt=0, le=60, description="Longest time between two sealed checkpoints."
    )
    completion_seconds: float = Field(
        10.0,
        gt=0,
        le=3_600,
        description="Progress and ends of trainings become visible only at whole multiples of this time"
        " since their claim, which hides how the rows affect the speed.",
    )
    upkeep_seconds: float = Field(
        15.0, gt=0, le=86_400, description="How often to search for lost messages and expired leases."
    )
    job_attempts: int = Field(
        5,
        ge=1,
        le=1000,
        description="Number of crashes or infrastructure failures without progress in between after which a"
        " job ends.",
    )
    slice_seconds: float = Field(
        900.0,
        gt=0,
        le=30 * 86_400,
        description="A training that has run this long goes back to the queue at a checkpoint while somebody"
        " with fewer running jobs waits.",
    )

    request_days: float = Field(
        30.0,
        gt=0,
        le=3650,
        description="An undecided budget request expires after this many days.",
    )
    grant_days: float = Field(
        90.0, gt=0, le=3650, description="How long a grant lasts, in days, if its approval does not say."
    )
    two_person_rule: bool = Field(
        default=True, description="Whether the author of a budget request may not approve it."
    )

    max_upload_bytes: int = Field(
        50 * 2**30, gt=0, le=2**53, description="Largest accepted upload, before decompression."
    )
    max_decompressed_bytes: int = Field(
        200 * 2**30, gt=0, le=2**53, description="Largest accepted upload after decompression."
    )
    upload_part_bytes: int = Field(
        16 * 2**20, ge=1, le=2**30, description="Size of the parts of an upload that can be continued."
    )
    upload_hours: float = Field(
        48.0,
        gt=0,
        le=24 * 365,
        description="An upload in parts expires when none has arrived for this many hours.",
    )
    quota_datasets: int = Field(
        10_000,
        ge=1,
        le=10_000_000,
        description="How many datasets one principal may have; deleted ones do not count.",
    )
    quota_stored_bytes: int = Field(
        2 * 2**40,
        ge=1,
        le=2**60,
        description="How many sealed bytes of rows and of open uploads one principal may store.",
    )
    quota_open_uploads: int = Field(
        20, ge=1, le=10_000_000, description="How many uploads in parts one principal may have open."
    )
    quota_queued_jobs: int = Field(
        1000, ge=1, le=10_000_000, description="How many jobs of one principal may wait for a worker."
    )
    quota_notification_endpoints: int = Field(
        10,
        ge=1,
        le=10_000,
        description="How many notification endpoints one principal may have; twice as many may be created"
        " within a day.",
    )
    notify_networks: tuple[IPv4Network | IPv6Network, ...] = Field(
        (),
        description='Networks beyond the public internet that webhooks may reach, JSON: ["10.20.0.0/16"].',
    )
    notify_digest_minutes: float = Field(
        60.0,
        ge=1,
        le=10_080,
        description="Minimum minutes between two e-mails of events to one address; events in between are"
        " combined.",
    )
    smtp_host: str | None = Field(
        None, description="Host name of the mail server; without one no e-mail is sent."
    )
    smtp_port: int = Field(587, ge=1, le=65535, description="Port of the mail server.")
    smtp_security: Literal["starttls", "tls", "none"] = Field(
        "starttls",
        description="starttls requires it, tls uses it from the first byte; none is allowed only in the"
        " embedded stack.",
    )
    smtp_sender: str | None = Field(None, description="The sender address of e-mails.")
    smtp_user: str | None = Field(
        None, description="User name for the mail server; without one there is no login."
    )
    smtp_password: SecretStr | None = Field(None, description="The password of smtp_user.")
    smtp_password_file: Path | None = Field(
        None,
        description="A file with the password, instead of the variable; mode 0600 or 0400, or below /run/secrets.",
    )
    notification_days: float = Field(
        30.0, ge=1, le=3650, description="How long the delivery log is kept, in days."
    )
    training_threads: int = Field(
        1,
        ge=1,
        le=1024,
        description="CPU threads of one training; reproducibility depends on it. More than one helps only"
        " wide tables.",
    )
    counting_helpers: int = Field(
        0,
        ge=0,
        le=1024,
        description="Number of messages that ask other workers to help count a long table, each time it is"
        " counted. Only workers started with --queues counting serve them; without any the"
        " training counts alone.",
    )
    training_device: Literal["auto", "cpu", "cuda"] = Field(
        "auto",
        description="Device of trainings on GPUs: auto uses a GPU if torch sees one, cpu never, cuda fails without one. Trainings on"
        " the CPU never use one.",
    )
    graphical_models: Literal["auto", "on", "off"] = Field(
        "auto",
        description="Whether jobs of the synthesizers aim and mst are accepted: on needs the extra"
        " `graphical` on every worker, which does not start without it; auto accepts them if it"
        " is installed with the API.",
    )
    training_precision: Literal["tf32", "bf16", "float32"] = Field(
        "tf32",
        description="Precision of the matrix products of gradients on GPUs; clipping is equally strict in"
        " each. An interrupted job continues only in the precision it began in.",
    )
    training_gpus: int = Field(
        1,
        ge=1,
        le=64,
        description="GPUs that one training may use; the number does not change any byte of the result.",
    )
    training_memory_bytes: int = Field(
        8 * 2**30, gt=0, le=2**53, description="Address space a training child may use for data."
    )
    training_seconds: float = Field(
        6 * 3600.0, gt=0, le=30 * 86_400, description="Longest wall-clock time of one training attempt."
    )
    report_seconds: float = Field(
        900.0, gt=0, le=86_400, description="Longest wall-clock time of one attempt at an owner report."
    )
    owner_reports: Literal["automatic", "ordered"] = Field(
        "automatic",
        description="automatic makes an owner report after every release of a table or of images, ordered only"
        " those that owners order.",
    )
    report_slot_seconds: float = Field(
        60.0,
        gt=0,
        le=3_600,
        description="An owner report appears, and its worker is free again, only at whole multiples of this"
        " time since its claim, which hides how the rows affect the speed.",
    )
    sampling_threads: int = Field(
        2, ge=1, le=1024, description="CPU threads that draw synthetic rows for one download."
    )
    sampling_streams: int = Field(
        4, ge=1, le=10_000, description="Downloads of samples served at the same time."
    )
    event_streams: int = Field(
        1000,
        ge=1,
        le=1_000_000,
        description="Event streams of jobs that one API process keeps open at the same time.",
    )
    event_streams_per_principal: int = Field(
        100, ge=1, le=1_000_000, description="How many of those one principal may hold."
    )

    key_lifetime_days: int = Field(
        365,
        ge=1,
        le=3650,
        description="Lifetime of a new API key if its maker gives no other expiry.",
    )
    key_overlap_seconds: float = Field(
        24 * 3600.0,
        ge=0,
        le=90 * 24 * 3600.0,
        description="How long the old secret of a rotated key keeps working.",
    )
    enrolment_hours: float = Field(
        72.0, gt=0, le=90 * 24, description="How long an enrolment token works, in hours."
    )
    recovery_hold_hours: float = Field(
        72.0,
        ge=0,
        le=90 * 24,
        description="For how many hours after a recovery the principal cannot open what is sealed to them"
        " and does not count for the two-person rule.",
    )
    session_seconds: float = Field(
        12 * 3600.0,
        gt=0,
        le=30 * 24 * 3600.0,
        description="Longest life of a browser session, used or not.",
    )
    session_idle_seconds: float = Field(
        30 * 60.0, ge=120, le=30 * 86_400, description="A browser session unused for this long ends."
    )
    requests_per_minute: int = Field(
        30_000,
        ge=1,
        le=10_000_000,
        description="Requests per minute that one key may send, over all processes; a minute's worth may"
        " come at once.",
    )
    oidc_issuer: str | None = Field(
        None,
        description="URL of the identity provider whose bearer tokens are accepted, exactly as in the `iss` claim of its tokens.",
    )
    oidc_audience: str | None = Field(
        None, description="What a token's `aud` must contain; use a name specific to this service."
    )
    oidc_roles_claim: str = Field(
        "roles",
        min_length=1,
        description="The claim that lists a person's roles; dots select nested objects: `realm_access.roles`.",
    )
    oidc_role_map: dict[str, Literal["owner", "analyst", "admin", "auditor"]] = Field(
        {}, description='Mapping from provider roles to roles here, JSON: {"statistics-office": "owner"}.'
    )

    oidc_client_id: str | None = Field(
        None,
        min_length=1,
        description="The id under which this service is registered at the identity provider; with it people sign in"
        " with their account in the browser.",
    )
    oidc_client_secret: SecretStr | None = Field(
        None,
        min_length=1,
        description="The secret of oidc_client_id; without one it is a public client, protected by PKCE alone.",
    )
    oidc_client_secret_file: Path | None = Field(
        None,
        description="A file with the secret, instead of the variable; mode 0600 or 0400, or below /run/secrets.",
    )
    oidc_redirect_url: str | None = Field(
        None,
        description="Where the identity provider sends browsers back to, as registered there:"
        " https://.../sign-in/callback.",
    )
    oidc_scopes: str = Field(
        "openid",
        pattern=r"^([!#-\[\]-~]+ )*openid( [!#-\[\]-~]+)*$",
        description="What a sign-in asks the identity provider for; add the scope that brings the roles claim, if"
        " it needs one.",
    )

    @model_validator(mode="before")
    @classmethod
    def _secrets_may_come_from_files(cls, values: Any) -> Any:  # noqa: ANN401 - pydantic's signature
        if not isinstance(values, dict):
            return values
        read = dict(values)
        for name in ("master_key", "smtp_password", "oidc_client_secret"):
            file = values.get(f"{name}_file")
            if not file:
                continue
            if values.get(name):
                msg = f"give {name} or {name}_file, not both"
                raise ValueError(msg)
            try:
                read[name] = read_secret_file(Path(file))
            except SecretFileUnusable as refusal:
                msg = f"{name}_file: {refusal}"
                raise ValueError(msg) from None
        return read

    @model_validator(mode="after")
    def _mail_is_whole_and_secured(self) -> "Settings":
        if self.smtp_host is None:
            return self
        if self.smtp_sender is None or (self.smtp_user is None) != (self.smtp_password is None):
            msg = "smtp_host needs smtp_sender, and smtp_user and smtp_password come together"
            raise ValueError(msg)
        if self.smtp_security == "none" and self.mode != "embedded":
            msg = "smtp_security none is only for the embedded stack: anybody on the network path could read and change the messages"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _tokens_are_for_us(self) -> "Settings":
        if self.oidc_issuer is not None and not (self.oidc_audience and self.oidc_role_map):
            msg = "oidc_issuer needs oidc_audience and oidc_role_map; otherwise any token of the provider would be accepted, or none"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _browsers_come_back_to_us(self) -> "Settings":
        if self.oidc_client_id is None:
            if self.oidc_client_secret is not None or self.oidc_redirect_url is not None:
                msg = "oidc_client_secret and oidc_redirect_url need oidc_client_id"
                raise ValueError(msg)
            return self
        if self.oidc_issuer is None or self.oidc_redirect_url is None:
            msg = "oidc_client_id needs oidc_issuer and oidc_redirect_url"
            raise ValueError(msg)
        parts = urlsplit(self.oidc_redirect_url)
        plain = parts.scheme == "http" and self.is_alone
        if not (parts.scheme == "https" or plain) or parts[2:] != (CALLBACK_PATH, "", ""):
            msg = f"oidc_redirect_url must be an https URL that ends in {CALLBACK_PATH}"
            raise ValueError(msg)
        return self

    @field_validator("master_key", "previous_master_key")
    @classmethod
    def _master_key_is_256_bits(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None:
            return None
        text = value.get_secret_value()
        try:
            key = bytes.fromhex(text)
        except ValueError:
            key = b""
        if len(text) != MASTER_KEY_HEX_LENGTH or len(set(key)) < 2:  # noqa: PLR2004 - one repeated byte is no key
            # The message is constant, because it must not contain the key.
            msg = (
                "must be 64 hexadecimal digits that are not all the same; make one with: openssl rand -hex 32"
            )
            raise ValueError(msg)
        return value

    @property
    def master_key_bytes(self) -> bytes:
        """The 32 bytes that wrap data keys and key the digests of API keys."""
        return bytes.fromhex(self.master_key.get_secret_value())

    @property
    def master_keys(self) -> MasterKeys:
        """The master key, and the previous one during a rotation."""
        previous = self.previous_master_key
        return MasterKeys(
            current=self.master_key_bytes,
            previous=None if previous is None else bytes.fromhex(previous.get_secret_value()),
        )

    @property
    def is_alone(self) -> bool:
        """Whether this is the one-machine stack, reachable only from this machine, where plain HTTP is private."""
        try:
            loopback = ip_address(self.host).is_loopback
        except ValueError:
            loopback = self.host == "localhost"
        return self.mode == "embedded" and loopback


def require_strong_secrets(settings: Settings) -> None:
    """Refuse secrets that others know or can guess, except in the embedded stack, whose supervisor makes its own.

    Raises:
        WeakSecrets: Names the settings and why, never a value.
    """
    if settings.mode == "embedded":
        return
    checks = [
        ("UNDERSTUDY_MASTER_KEY", lambda: weakness_of_key(settings.master_key_bytes)),
        ("UNDERSTUDY_DATABASE_URL", lambda: weakness_of_address(settings.database_url)),
        ("UNDERSTUDY_BROKER_URL", lambda: weakness_of_address(settings.broker_url)),
        ("UNDERSTUDY_OIDC_ISSUER", lambda: _weakness_of_issuer(settings.oidc_issuer)),
    ]
    if settings.storage_url.startswith("s3:"):
        checks.append(("AWS_SECRET_ACCESS_KEY", lambda: weakness_of_store(os.environ)))
    require_strong(checks)


def _weakness_of_issuer(issuer: str | None) -> str | None:
    if issuer is None or urlsplit(issuer).scheme == "https":
        return None
    return "is not an https URL: anybody on the network path could forge tokens"


@cache
def read_settings() -> Settings:
    """Read the environment once per process.

    Raises:
        pydantic.ValidationError: A setting is missing or malformed. The error names the setting, never its value.
        WeakSecrets: Outside the embedded stack, a secret that others know or can guess.
    """
    settings = Settings()  # type: ignore[call-arg]  # the fields come from the environment
    require_strong_secrets(settings)
    return settings
