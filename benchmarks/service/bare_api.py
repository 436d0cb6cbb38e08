"""The yardstick of benchmarks/service/polling.py: the least that an authenticated status endpoint can do with FastAPI.

One plain `def` endpoint, no middleware, no ORM, no response model: the key's digest is computed, one statement on a
pooled autocommit connection checks the key and reads the job, the row is answered as JSON.
"""

import hmac
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, FastAPI, HTTPException
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

from core.platform.access.keys import pepper_from

QUERY = """
    SELECT jobs.id::text, jobs.dataset_id::text, jobs.state, jobs.stage, jobs.step, jobs.total_steps
    FROM jobs JOIN datasets ON datasets.id = jobs.dataset_id
    JOIN api_keys ON api_keys.digest = %s AND api_keys.revoked_at IS NULL AND api_keys.principal_id = datasets.owner_id
    WHERE jobs.id = %s
"""
pepper = pepper_from(bytes.fromhex(os.environ["UNDERSTUDY_MASTER_KEY"]))
pool: ConnectionPool[Any] = ConnectionPool(
    os.environ["BARE_DATABASE"],
    kwargs={"autocommit": True, "row_factory": dict_row},
    min_size=10,
    max_size=20,
    open=False,
)
Credentials = Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())]


@asynccontextmanager
async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
    """Hold the connections."""
    pool.open()
    yield
    pool.close()


app = FastAPI(lifespan=lifespan, openapi_url=None)


@app.get("/v1/health")
def read_health() -> dict[str, str]:
    """Alive."""
    return {"status": "alive"}


@app.get("/v1/jobs/{job_id}")
def read_job(job_id: UUID, credentials: Credentials) -> JSONResponse:
    """One authenticated select."""
    digest = hmac.digest(pepper, credentials.credentials.encode(), "sha256")
    with pool.connection() as connection:
        row = connection.execute(QUERY, (digest, job_id)).fetchone()
    if row is None:
        raise HTTPException(404)
    return JSONResponse(row)
