# Migrations: brings the database to the newest schema and ends.
FROM python:3.11.14-slim-bookworm@sha256:65a93d69fa75478d554f4ad27c85c1e69fa184956261b4301ebaf6dbb0a3543d AS build
WORKDIR /build
COPY pyproject.toml docker/service.lock ./
RUN python -m venv /opt/venv \
 && /opt/venv/bin/pip install --no-cache-dir --no-deps --require-hashes --requirement service.lock
# The project's metadata only (its version stands on certificates); its code is copied below.
COPY README.md LICENSE ./
RUN /opt/venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation . && rm /opt/venv/bin/understudy

FROM python:3.11.14-slim-bookworm@sha256:65a93d69fa75478d554f4ad27c85c1e69fa184956261b4301ebaf6dbb0a3543d
RUN useradd --system --uid 10001 --create-home understudy
WORKDIR /app
COPY --from=build /opt/venv /opt/venv
COPY core core
COPY migrations migrations
ENV PATH=/opt/venv/bin:$PATH PYTHONPATH=/app PYTHONUNBUFFERED=1 PYTHONUTF8=1 PYTHONDONTWRITEBYTECODE=1
USER 10001
# It ends by itself; compose waits for its exit status instead of a health check.
HEALTHCHECK NONE
CMD ["python", "-m", "migrations.upgrade"]
