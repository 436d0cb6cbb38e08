"""Every number that the API takes is refused by name, or really lies in the documented range.

Numbers of a domain are tried daily, those of every operation weekly; `make contracts-long` tries all texts where that run tries a few.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import jsonschema_rs
import pytest
from fastapi import FastAPI
from httpx2 import Response
from sqlalchemy import Float, Numeric, func, or_, select

from core.db.base import Base
from core.platform.access.roles import Role
from service.auth.table import OPEN, TABLE
from tests.contracts.effort import SEED
from tests.contracts.numbers import (
    HOSTILE,
    Field,
    Path,
    fields_of_example,
    fields_of_schema,
    is_finite_number,
    value_of,
    with_text,
)
from tests.core.plan.domain.examples import EVERY_KIND
from tests.service.matrix import Operation, objects, operations
from tests.service.world import Caller, World, require_problem


@dataclass(frozen=True)
class Place:
    """A number of one operation: in the body, or a parameter of the query."""

    operation: Operation
    field: Field
    in_query: bool = False


def places(app: FastAPI) -> Iterator[Place]:
    document = app.openapi()
    schemas = document["components"]["schemas"]
    for operation in operations(app):
        described = document["paths"][operation.path][operation.method.lower()]
        for parameter in described.get("parameters", ()):
            if parameter["in"] == "query":
                for field in fields_of_schema(parameter["schema"], schemas, (parameter["name"],)):
                    yield Place(operation, field, in_query=True)
        content = described.get("requestBody", {}).get("content", {})
        if "application/json" in content:
            for field in fields_of_schema(content["application/json"]["schema"], schemas):
                yield Place(operation, field)


def caller_of(world: World, operation: Operation) -> Caller:
    roles = TABLE[operation.name].roles
    by_role = {Role.ANALYST: world.analyst, Role.OWNER: world.owner, Role.ADMIN: world.admin}
    known = [caller for role, caller in by_role.items() if role in roles]
    return known[0] if known else world.caller(*roles)


SELECTION = {
    "candidates": [{"options": {"steps": 5}}, {"options": {"steps": 6}}],
    "epsilon": 0.5,
    "choice_epsilon": 0.2,
}
"""What stands around the numbers of a selection."""
OF_A_CANDIDATE = ("selection", "candidates", 0, "options")


def tried(place: Place) -> bool:
    """Options of a candidate have the schema of an order's, whose numbers are tried all; of a candidate one is."""
    path = place.field.path
    return path[: len(OF_A_CANDIDATE)] != OF_A_CANDIDATE or path[-1] == "steps"


FEW = ("nan", "minus-one", "overflow", "text")
"""Names of the texts that stand for all of `HOSTILE` where a number of an order is met again."""
AGAIN = {"create_quote": ("options", "model"), "create_federation": ("model",)}
"""Parts of bodies whose schemas are those of an order, by operation."""


def texts_for(place: Place, order: Mapping[Path, Field], number: int) -> Iterable[str]:
    """The texts to try: of numbers that an order has too, at the same place and with the same schema, only a few daily.

    Of the others every second one is, in turn, so that of each two numbers one meets a text.
    """
    again = AGAIN.get(place.operation.name, ())
    few = [HOSTILE[name] for name in FEW]
    if SEED is not None:
        return HOSTILE.values()
    if place.field.path[0] in again and order.get(place.field.path) == place.field:
        return few
    return dict.fromkeys([*few, *list(HOSTILE.values())[number % 2 :: 2]])


def send(world: World, place: Place, text: str, things: dict[str, str]) -> Response:
    method, path, options = place.operation.request(things)
    caller = caller_of(world, place.operation)
    if place.in_query:
        query = {**options.pop("params", {}), place.field.name: text.strip('"')}
        return caller.send(method, path, params=query, **options)
    headers = dict(options.get("headers", {})) | {"Content-Type": "application/json"}
    body = dict(options.get("json", {}))
    if place.field.path[0] == "selection":
        body = {name: value for name, value in body.items() if name != "options"} | {"selection": SELECTION}
    return caller.send(method, path, content=with_text(body, place.field.path, text), headers=headers)


def require_sound(answer: Response, place: Place, text: str) -> None:
    """The answer refuses the number and says where it is, or the number is what the document allows."""
    told = f"{place.operation.name} {place.field.path} {text[:30]}: {answer.status_code} {answer.text[:500]}"
    assert answer.status_code < 500, told
    value = value_of(text)
    schema = place.field.schema
    wrong = not is_finite_number(value) or (schema is not None and not jsonschema_rs.is_valid(schema, value))
    if place.in_query and isinstance(value, str):
        return  # Every parameter of a query is text; the same digits without quotes are tried too.
    if answer.status_code == 422:
        problem = require_problem(answer, status=422)
        assert place.field.name in json.dumps(problem) or not wrong, told
    else:
        assert not wrong, told
    if answer.is_success and "json" in answer.headers["content-type"]:
        json.loads(answer.text, parse_constant=lambda name: pytest.fail(f"{name} in {told}"))


@pytest.mark.long
def test_every_number_of_every_operation(world: World) -> None:
    things = objects(world)
    found = [place for place in places(world.app) if place.operation.name not in OPEN and tried(place)]
    assert {"epsilon", "delta", "declared_size", "clipping_norm", "limit", "rows"} <= {
        p.field.name for p in found
    }
    order = {place.field.path: place.field for place in found if place.operation.name == "create_job"}
    for number, place in enumerate(found):
        for text in texts_for(place, order, number):
            require_sound(send(world, place, text, things), place, text)
    require_finite_rows(world)


@pytest.mark.long
def test_every_number_of_a_domain(world: World) -> None:
    fields = list(fields_of_example(EVERY_KIND))
    assert len(fields) > 10
    body = {"name": "a", "declared_size": 9, "domain": EVERY_KIND}
    for field in fields:
        for text in HOSTILE.values():
            content = with_text(body, ("domain", *field.path), text)
            answer = world.owner.post(
                "/v1/datasets", content=content, headers={"Content-Type": "application/json"}
            )
            assert answer.status_code in {201, 422}, (field.path, text[:30], answer.text)
            if answer.status_code == 422:
                problem = require_problem(answer, status=422)
                assert problem["facts"], (field.path, text[:30])
            else:
                assert is_finite_number(value_of(text)) or text.startswith('"'), (field.path, text[:30])
    require_finite_rows(world)


def require_finite_rows(world: World) -> None:
    """No table holds a number that is not finite, and no epsilon that is not positive."""
    with world.database.read_only() as session:
        for table in Base.metadata.tables.values():
            for column in table.columns:
                if isinstance(column.type, Float | Numeric):
                    bad = or_(*(column == float(name) for name in ("nan", "inf", "-inf")))
                    assert session.scalar(select(func.count()).select_from(table).where(bad)) == 0, column
                    if column.name.endswith("epsilon"):
                        assert (
                            session.scalar(select(func.count()).select_from(table).where(column < 0)) == 0
                        ), column
