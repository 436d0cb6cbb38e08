"""Settings of the server roles, read from ``UNDERSTUDY_*`` environment variables.

The client (`understudy/`) does not use them. Every field is listed in docs/reference/settings.md, which a test
compares with this class.
"""

from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from core.storage.master_keys import MasterKeys

MASTER_KEY_HEX_LENGTH = 64


class Settings(BaseSettings):
    """What an operator can set. Times are in seconds, sizes in bytes."""

    model_config = SettingsConfigDict(env_prefix="UNDERSTUDY_", frozen=True, extra="ignore")

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
    previous_master_key: SecretStr | None = Field(
        None,
        description="The master key before a rotation; opens what `python -m service.rotate_master_key` has not re-wrapped yet.",
    )
    witness_url: str | None = Field(
        None,
        description="A second place for the signed heads of ledgers and audit log, as a storage URL outside this machine's reach.",
    )

    host: str = Field("127.0.0.1", description="Address the API listens on.")
    port: int = Field(8321, ge=1, le=65535, description="Port the API listens on.")

    lease_seconds: float = Field(60.0, gt=0, description="A worker that is silent this long loses its job.")
    heartbeat_seconds: float = Field(10.0, gt=0, description="How often a worker renews its lease.")
    checkpoint_seconds: float = Field(
        30.0, gt=0, le=60, description="Longest time between two sealed checkpoints."
    )
    upkeep_seconds: float = Field(
        15.0, gt=0, description="How often lost messages and expired leases are looked for."
    )
    job_attempts: int = Field(
        5, ge=1, description="How often a job is resumed after failures of the machinery."
    )

    request_days: float = Field(
        30.0, gt=0, le=3650, description="A budget request that nobody has decided on expires after this many days."
    )
    grant_days: float = Field(
        90.0, gt=0, le=3650, description="How long a grant lasts where its approval does not say."
    )
    two_person_rule: bool = Field(
        default=True, description="Whether who files a budget request is refused as the one who approves it."
    )

    max_upload_bytes: int = Field(
        50 * 2**30, gt=0, description="Largest accepted upload, before decompression."
    )
    max_decompressed_bytes: int = Field(
        200 * 2**30, gt=0, description="Largest accepted upload after decompression."
    )
    training_threads: int = Field(
        1,
        ge=1,
        description="CPU threads of one training; part of what makes it repeatable. More help wide tables only.",
    )
    training_memory_bytes: int = Field(
        8 * 2**30, gt=0, description="Address space a training child may use for data."
    )
    training_seconds: float = Field(
        6 * 3600.0, gt=0, description="Longest wall-clock time of one training attempt."
    )
    sampling_threads: int = Field(
        2, ge=1, description="CPU threads that draw synthetic rows for one download."
    )
    sampling_streams: int = Field(4, ge=1, description="Downloads of samples served at the same time.")

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
            # The text of the key must not appear in the message, so the message is constant.
            msg = "must be 64 hexadecimal digits that are not all alike; make one with: openssl rand -hex 32"
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


@cache
def read_settings() -> Settings:
    """Read the environment once per process.

    Raises:
        pydantic.ValidationError: A setting is missing or malformed; names the setting, never its value.
    """
    return Settings()  # type: ignore[call-arg]  # the fields come from the environment
