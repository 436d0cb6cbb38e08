# The API: accepts uploads, quotes and orders, and draws samples. It has no torch and cannot open private rows.
FROM python:3.11.14-slim-bookworm@sha256:65a93d69fa75478d554f4ad27c85c1e69fa184956261b4301ebaf6dbb0a3543d AS build
WORKDIR /build
COPY pyproject.toml docker/service.lock ./
RUN python -m venv /opt/venv \
 && /opt/venv/bin/pip install --no-cache-dir --no-deps --require-hashes --requirement service.lock
# The project's metadata only (its version stands on certificates); its code is copied below.
COPY README.md LICENSE ./
RUN /opt/venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation . && rm /opt/venv/bin/understudy

FROM python:3.11.14-slim-bookworm@sha256:65a93d69fa75478d554f4ad27c85c1e69fa184956261b4301ebaf6dbb0a3543d
RUN useradd --system --uid 10001 --create-home understudy \
 && install --directory --owner understudy --mode 0700 /scratch
WORKDIR /app
COPY --from=build /opt/venv /opt/venv
COPY core core
# Readiness compares the database with the newest migration.
COPY migrations migrations
COPY service service
ENV PATH=/opt/venv/bin:$PATH PYTHONPATH=/app PYTHONUNBUFFERED=1 PYTHONUTF8=1 PYTHONDONTWRITEBYTECODE=1 \
    UNDERSTUDY_HOST=0.0.0.0 UNDERSTUDY_SCRATCH_FOLDER=/scratch
USER 10001
EXPOSE 8321
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=6 \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8321/readyz', timeout=4)"]
CMD ["uvicorn", "service.asgi:app", "--host", "0.0.0.0", "--port", "8321", "--workers", "2", "--http", "service.edge.http_protocol:DeadlineProtocol", "--no-proxy-headers", "--no-access-log", "--no-server-header"]
