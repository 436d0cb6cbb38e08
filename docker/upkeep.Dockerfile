# Upkeep: re-sends lost messages, recovers expired leases, verifies the ledger's chain. It has no torch.
FROM python:3.11.14-slim-bookworm AS build
WORKDIR /build
COPY pyproject.toml requirements.lock docker/requirements_of.py ./
RUN python -m venv /opt/venv \
 && python requirements_of.py pyproject.toml service > service.txt \
 && /opt/venv/bin/pip install --no-cache-dir --constraint requirements.lock --requirement service.txt
# The project's metadata only (its version stands on certificates); its code is copied below.
COPY README.md LICENSE ./
RUN /opt/venv/bin/pip install --no-cache-dir --no-deps . && rm /opt/venv/bin/understudy

FROM python:3.11.14-slim-bookworm
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
