"""The published schema is what the code says, and is the one that the client ships."""

from pathlib import Path

import jsonschema_rs

from docs.document_schemas import json_schema, schema_text

ROOT = Path(__file__).parents[3]


def test_the_clients_copy_is_fresh():
    shipped = ROOT / "understudy" / "verifying" / "certificate.schema.json"
    assert shipped.read_text() == schema_text("certificate"), "run `make docs` and commit the result"


def test_it_is_a_schema_and_leaves_nothing_open():
    schema = json_schema("certificate")
    jsonschema_rs.meta.validate(schema)
    objects = [schema, *(entry for entry in schema["$defs"].values() if "properties" in entry)]
    assert len(objects) > 25
    for entry in objects:
        assert entry["additionalProperties"] is False
        later = {
            "critic_asks", "generator_check", "learning", "records", "reused", "column_sensitivity", "table_sensitivity",
            "screening_sensitivity", "anchor_screening_share", "first_noise_multiplier", "schedule_start", "adam_beta1",
            "adam_beta2", "combinations", "names_per_unit", "about_grey",
        }  # fmt: skip
        assert entry["required"] == sorted(entry["properties"].keys() - later), "all but what came later"
