"""The published schema is what the code says."""

import jsonschema_rs

from docs.document_schemas import json_schema


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
            "adam_beta2", "combinations", "names_per_unit", "about_grey", "brightness_noise_multiplier", "cut_tails",
        }  # fmt: skip
        assert entry["required"] == sorted(entry["properties"].keys() - later), "all but what came later"
