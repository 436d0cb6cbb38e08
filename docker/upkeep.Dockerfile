# Upkeep: re-sends lost messages, recovers expired leases, verifies the ledger's chain. It has no torch.
FROM python:3.11.14-slim-bookworm@sha256:65a93d69fa75478d554f4ad27c85c1e69fa184956261b4301ebaf6dbb0a3543d AS build
WORKDIR /build
# With pg_dump, pg_restore and psql, for workers.backup and workers.restore: as new as the server of docker-compose.yml.
COPY pyproject.toml docker/upkeep.lock ./
RUN python -m venv /opt/venv \
 && /opt/venv/bin/pip install --no-cache-dir --no-deps --require-hashes --requirement upkeep.lock
# The project's metadata only (its version stands on certificates); its code is copied below.
COPY README.md LICENSE ./
RUN /opt/venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation . && rm /opt/venv/bin/understudy

FROM python:3.11.14-slim-bookworm@sha256:65a93d69fa75478d554f4ad27c85c1e69fa184956261b4301ebaf6dbb0a3543d
RUN useradd --system --uid 10001 --create-home understudy \
 && install --directory --owner understudy --mode 0700 /scratch
WORKDIR /app
COPY --from=build /opt/venv /opt/venv
COPY core core
COPY workers workers
ENV PATH=/opt/venv/bin:$PATH PYTHONPATH=/app PYTHONUNBUFFERED=1 PYTHONUTF8=1 PYTHONDONTWRITEBYTECODE=1 \
    UNDERSTUDY_SCRATCH_FOLDER=/scratch
USER 10001
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s --retries=3 \
  CMD ["python", "-m", "workers.upkeep", "--alive"]
CMD ["python", "-m", "workers.upkeep"]
