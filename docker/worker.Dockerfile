# The worker: claims jobs and trains generators in a supervised child. Needs no port and no way out of its network.
FROM python:3.11.14-slim-bookworm@sha256:65a93d69fa75478d554f4ad27c85c1e69fa184956261b4301ebaf6dbb0a3543d AS build
# TORCH_INDEX: the wheel index torch comes from; empty takes pip's own, whose Linux wheels carry CUDA. Give the
# CPU index of the PyTorch project for a worker without a GPU; the image is then several gigabytes smaller.
ARG TORCH_INDEX=
# GRAPHICAL: anything but empty for workers that fit the graphical models aim and mst, which brings JAX.
ARG GRAPHICAL=
WORKDIR /build
COPY pyproject.toml docker/workers.lock docker/graphical.lock ./
RUN python -m venv /opt/venv \
 && /opt/venv/bin/pip install --no-cache-dir --no-deps --require-hashes --requirement workers.lock \
 && if [ -n "$GRAPHICAL" ]; then /opt/venv/bin/pip install --no-cache-dir --no-deps --require-hashes --requirement graphical.lock; fi \
 && /opt/venv/bin/pip install --no-cache-dir ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} torch==2.13.0
# The project's metadata only (its version stands on certificates); its code is copied below.
COPY README.md LICENSE ./
RUN /opt/venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation . && rm /opt/venv/bin/understudy

FROM python:3.11.14-slim-bookworm@sha256:65a93d69fa75478d554f4ad27c85c1e69fa184956261b4301ebaf6dbb0a3543d
RUN useradd --system --uid 10001 --create-home understudy \
 && install --directory --owner understudy --mode 0700 /scratch
WORKDIR /app
COPY --from=build /opt/venv /opt/venv
COPY core core
COPY models models
COPY workers workers
ENV PATH=/opt/venv/bin:$PATH PYTHONPATH=/app PYTHONUNBUFFERED=1 PYTHONUTF8=1 PYTHONDONTWRITEBYTECODE=1 \
    UNDERSTUDY_SCRATCH_FOLDER=/scratch
USER 10001
# A quick stop: the job that runs loses at most one checkpoint interval and is resumed with the same result.
STOPSIGNAL SIGQUIT
HEALTHCHECK --interval=60s --timeout=20s --start-period=30s --retries=3 \
  CMD ["sh", "-c", "celery -A workers.app inspect ping --timeout 10 --destination \"worker@$(hostname)\""]
CMD ["sh", "-c", "exec celery -A workers.app worker --pool prefork --concurrency 1 --without-gossip --without-mingle --loglevel WARNING --hostname \"worker@$(hostname)\""]
