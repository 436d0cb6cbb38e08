"""Where signed heads are kept: in the object store, and in a second store where the operator named one."""

import json
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from core.settings import Settings
from core.signing.errors import SignatureInvalid, SignedFormUnknown
from core.signing.signed import SignedDocument, verify
from core.storage.errors import ObjectMissing
from core.storage.objects import ObjectStore, open_store
from core.witness.errors import WitnessInvalid

AUDIT_KEY: Final = "witness/audit.json"
_LEDGERS: Final = "witness/ledger"


def ledger_key(population_id: UUID) -> str:
    """Where the noted head of a population's ledger lies."""
    return f"{_LEDGERS}/{population_id}.json"


class Witnesses:
    """Signed heads, the same in every store.

    Args:
        stores: Where they are kept. Each on its own is a witness: what any of them knows must have happened.
    """

    def __init__(self, *stores: ObjectStore) -> None:
        self._stores = stores

    @classmethod
    def of(cls, settings: Settings, store: ObjectStore) -> "Witnesses":
        """The object store, and the operator's second place."""
        return cls(store) if settings.witness_url is None else cls(store, open_store(settings.witness_url))

    def read(self, key: str, *, context: str, public_keys: Mapping[str, bytes]) -> list[Mapping[str, Any]]:
        """What the stores that have noted a head say; equal statements once.

        Raises:
            WitnessInvalid: something lies there that this service has not signed.
        """
        found: list[Mapping[str, Any]] = []
        for store in self._stores:
            try:
                signed = SignedDocument.from_json(json.loads(store.get_bytes(key)))
                document = verify(signed, context=context, public_keys=public_keys)
            except ObjectMissing:
                continue
            except (ValueError, SignedFormUnknown, SignatureInvalid):
                raise WitnessInvalid from None
            if document not in found:
                found.append(document)
        return found

    def write(self, key: str, signed: SignedDocument) -> None:
        """Note a head in every store, replacing the one before."""
        content = json.dumps(signed.to_json(), indent=1).encode()
        for store in self._stores:
            store.put_bytes(key, content)

    def populations(self) -> set[UUID]:
        """Every population whose ledger was ever witnessed."""
        return {
            UUID(found.key.removeprefix(f"{_LEDGERS}/").removesuffix(".json"))
            for store in self._stores
            for found in store.list(_LEDGERS)
        }
