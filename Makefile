# One command each; `make` alone prints this help. Needs Python 3.11 or newer with venv and pip, nothing else:
# Postgres and Redis come from wheels.

PYTHON ?= python3
OUT ?= understudy-demo
# Processes of a test run; each collects all tests and has a Postgres. On two cores one may wait for stacks while two compute.
JOBS ?= 3
SECONDS ?= 300
ROUNDS ?= 300
FEDERATED_ROUNDS ?= 22
GAMES ?= 2000
MODELS ?= 64
MILLIONS ?= 400
PLANS ?= 2000
SEED ?= 1
DRILL_OUT ?= benchmarks/results/drill.json
FEDERATED_DRILL_OUT ?= benchmarks/results/federated_drill.json
VENV := .venv
BIN := $(VENV)/bin
RUN_INSTALLED := $(VENV)/.installed-run
DEV_INSTALLED := $(VENV)/.installed-dev
PEERS_INSTALLED := build/peers/.installed
# Threads that wait sleep instead of spinning: with other work on the machine spinning made steps forty times slower.
export OMP_WAIT_POLICY := PASSIVE
# What is imported is compiled, and kept: tests and stacks start hundreds of processes, which would each compile it anew.
export PYTHONDONTWRITEBYTECODE :=
SOURCES := core service workers models understudy migrations benchmarks docs tests setup.py

.DEFAULT_GOAL := help
.PHONY: accounting check-long test-long test-kernels mutants contracts-long help lock demo up install test check lint types contracts check-previous docs site wheel release bench-critic bench-conv bench-gpu bench-cost bench-adult bench-poker bench-tables bench-charged bench-learnt bench-images bench-brightness bench-ablation bench-curves bench-critic-seeds bench-composition bench-quote bench-sampling bench-ingestion bench-pages bench-long bench-wide bench-training bench-units bench-learnt-names bench-learnt-records bench-patterns bench-orders bench-sums bench-differences bench-polling bench-reservations bench-streams bench-recovery goldens screenshots audit drill fuzz laws clean goldens-dashboard

help: ## print this help
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' | awk -F'|' '{printf "  make %-16s %s\n", $$1, $$2}'

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# Everything has to have a hash that is in the lock, but for torch: which build a machine gets is its index's affair. torch comes
# second, so that it finds what it needs settled and pulls nothing but the libraries of its own build. Nothing is compiled: of the
# 19,000 modules less than a third is ever imported.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile
LOCKED := $(INSTALL) --no-deps --require-hashes --requirement

$(RUN_INSTALLED): $(VENV)/bin/python requirements.lock pyproject.toml
	$(LOCKED) requirements.lock
	$(INSTALL) torch==2.13.0
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV_INSTALLED): $(RUN_INSTALLED) requirements-dev.lock
	$(LOCKED) requirements-dev.lock
	$(BIN)/python -m tests.first_imports
	@touch $@

# The methods that benchmarks/tables compares with bring JAX, which nothing of the project needs.
$(PEERS_INSTALLED): benchmarks/tables/requirements-peers.txt
	$(PYTHON) -m venv build/peers
	build/peers/bin/pip install --quiet --no-deps --requirement $<
	@touch $@

install: $(DEV_INSTALLED) ## create the virtual environment with everything, for developers

lock: ## write the locked requirements with their hashes anew, at the same versions (UPGRADE=--upgrade for the newest)
	$(PYTHON) -m venv build/uv && build/uv/bin/pip install --quiet uv
	$(PYTHON) docker/lock.py build/uv/bin/uv $(UPGRADE)

demo: $(RUN_INSTALLED) ## publish a table at epsilon 1, end to end (TABLE=rows.csv DOMAIN=domain.json for your own)
	$(BIN)/understudy demo --out $(OUT) $(if $(TABLE),--table $(TABLE)) $(if $(DOMAIN),--domain $(DOMAIN)) $(if $(SIZE),--declared-size $(SIZE))

up: $(RUN_INSTALLED) ## keep the whole stack running on this machine; Ctrl-C stops it
	$(BIN)/understudy up

# Processes share the cores: the critics' tests took 40 seconds of processor with two threads and 28 with one.
test: export OMP_NUM_THREADS := 1
test: docs ## the daily tests, on real Postgres, Redis and Celery processes
	$(BIN)/python -m pytest -n $(JOBS)

check: lint types contracts site test ## everything a change must pass

lint: $(DEV_INSTALLED) ## ruff with every rule on; the exceptions have reasons in pyproject.toml
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)

types: docs ## mypy, strict
	$(BIN)/mypy

contracts: docs ## who may import whom, and the other rules of the source
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q -p no:cacheprovider tests/architecture

test-kernels: export OMP_NUM_THREADS := 1
test-kernels: docs ## all tests under the kernels of other processors; weekly (ONLY=tests/models for a part)
	$(BIN)/python -m tests.kernels --jobs $(JOBS) $(ONLY)

test-long: export OMP_NUM_THREADS := 1
test-long: docs ## the tests that are too long for every change
	$(BIN)/python -m pytest -q -n $(JOBS) -m long

check-long: docs ## all long proofs, hours, weekly; docs/long-proofs.md says how they ended (PARTS="drill fuzz" for some)
	$(BIN)/python -m tests.long_proofs $(PARTS)

check-previous: $(DEV_INSTALLED) ## a previous release's tests (REF=tag or commit) against the newest migrations
	$(BIN)/python -m tests.migrations.previous $(REF)

mutants: docs ## put every seeded privacy bug into a copy of the source and see a named test fail; docs/kill-matrix.md lists them
	$(BIN)/python -m tests.mutants.matrix --jobs $(JOBS)

contracts-long: docs ## schemathesis over every operation as everybody, longer and from another seed each day
	UNDERSTUDY_CONTRACT_EXAMPLES=$${UNDERSTUDY_CONTRACT_EXAMPLES:-100} UNDERSTUDY_CONTRACT_SEED=$${UNDERSTUDY_CONTRACT_SEED:-$$(date +%Y%m%d)} \
	  $(BIN)/python -m pytest -q -n $(JOBS) -m "" -o timeout=7200 tests/contracts

docs: $(DEV_INSTALLED) ## write what is made from other files: pages of results, pictures, the synchronous client, schemas
	$(BIN)/python -m docs.generate

site: $(DEV_INSTALLED) ## build the documentation site, with reference pages from the code, into service/documentation, strictly and offline
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

wheel: $(DEV_INSTALLED) ## build the wheel of HEAD into dist; the same commit gives the same bytes
	$(BIN)/python -m docs.release wheel

release: $(DEV_INSTALLED) ## build the wheel, write dist/release-notes.md from CHANGELOG.md and tag vX.Y.Z; pushes nothing
	$(BIN)/python -m docs.release tag

bench-critic: $(DEV_INSTALLED) ## the private critic step against the ordinary one and against vmap(grad)
	$(BIN)/python -m benchmarks.steps.critic_step --out benchmarks/results/critic_step.json

bench-conv: $(DEV_INSTALLED) ## the private step of a critic of images against the ordinary one
	$(BIN)/python -m benchmarks.steps.conv_step --out benchmarks/results/conv_step.json

bench-cost: $(DEV_INSTALLED) ## what privacy costs a step, against batch, parameters and clipping groups
	$(BIN)/python -m benchmarks.steps.cost

bench-gpu: $(DEV_INSTALLED) ## the private step on a GPU against the ordinary one; refuses without a GPU
	$(BIN)/python -m benchmarks.steps.gpu_step --out benchmarks/results/gpu_step.json

bench-adult: $(DEV_INSTALLED) ## utility of synthetic Adult rows (needs UNDERSTUDY_DATA)
	$(BIN)/python -m benchmarks.adult

bench-poker: $(DEV_INSTALLED) ## utility of synthetic Poker hands (needs UNDERSTUDY_DATA)
	$(BIN)/python -m benchmarks.idpgan.poker --baselines
	$(BIN)/python -m benchmarks.idpgan.poker --variant anchor
	$(BIN)/python -m benchmarks.idpgan.poker
	$(BIN)/python -m benchmarks.idpgan.poker_baselines
	$(BIN)/python -m benchmarks.idpgan.poker_without_privacy
	$(BIN)/python -m benchmarks.idpgan.by_class --real
	$(BIN)/python -m benchmarks.idpgan.by_class
	$(BIN)/python -m benchmarks.tables.repeated_values poker
	$(BIN)/python -m benchmarks.tables.repeated_values taxi --epsilon 1
	$(BIN)/python -m benchmarks.tables.repeated_values diabetes --epsilon 1

bench-tables: $(DEV_INSTALLED) $(PEERS_INSTALLED) ## synthetic tables of many shapes beside AIM, MST and independent columns; goes on where it was (needs UNDERSTUDY_DATA; hours)
	$(BIN)/python -m benchmarks.tables --all

bench-learnt: docs ## what learnt domains keep of real tables, beside domains that are too wide (needs UNDERSTUDY_DATA)
	$(BIN)/python -m benchmarks.declarations.learnt_domains

bench-wide-bounds: $(DEV_INSTALLED) ## bounds that are far too wide, with and without checks, beside bounds that fit (needs UNDERSTUDY_DATA)
	$(BIN)/python -m benchmarks.declarations.wide_bounds

bench-charged: $(DEV_INSTALLED) ## what utility reports say of real data beside what is true (needs UNDERSTUDY_DATA)
	$(BIN)/python -m benchmarks.utility_reports

bench-images: $(DEV_INSTALLED) ## anchor, critic, both and baselines on images, scored as the paper scores (needs UNDERSTUDY_DATA; hours)
	for name in mnist fashion_mnist faces; do \
	  $(BIN)/python -m benchmarks.images.score $$name --real && \
	  $(BIN)/python -m benchmarks.images.idpgan $$name && \
	  $(BIN)/python -m benchmarks.images.private_classifier $$name && \
	  $(BIN)/python -m benchmarks.images.baselines $$name --method mean-embedding && \
	  $(BIN)/python -m benchmarks.images.baselines $$name --method dpgan && \
	  $(BIN)/python -m benchmarks.images.baselines $$name --method ganobfuscator && \
	  $(BIN)/python -m benchmarks.images.baselines $$name --method dpacgan && \
	  $(BIN)/python -m benchmarks.images.baselines $$name --method wgan-gp && \
	  $(BIN)/python -m benchmarks.images.baselines $$name --method rule-without-privacy --headline || exit 1; \
	done
	$(BIN)/python -m benchmarks.images.unlabelled faces --real
	$(BIN)/python -m benchmarks.images.unlabelled faces

bench-critic-seeds: $(DEV_INSTALLED) ## critics without an anchor over seeds, efforts and critic steps, on held-out images (needs UNDERSTUDY_DATA; a GPU, or days)
	$(BIN)/python -m benchmarks.images.critic_seeds mnist --epsilon 10 --seeds 10 --critic-steps 1 5 50 adaptive --device cuda
	$(BIN)/python -m benchmarks.images.critic_seeds mnist --epsilon 4 --seeds 3 --efforts standard long --made 60000 --device cuda
	$(BIN)/python -m benchmarks.images.critic_seeds fashion_mnist --epsilon 4 --seeds 2 --efforts standard long --made 60000 --device cuda

bench-curves: $(DEV_INSTALLED) ## scores of made images against seconds of training, on three sets (needs UNDERSTUDY_DATA; hours)
	for name in mnist fashion_mnist faces; do \
	  $(BIN)/python -m benchmarks.images.curve_runs $$name --methods real anchor both mean-embedding critic || exit 1; \
	done
	$(BIN)/python -m benchmarks.images.curve_runs mnist --methods wgan-gp

bench-brightness: $(DEV_INSTALLED) ## images summed about their noisy brightness, about grey and from black, on real sets and their negatives (needs UNDERSTUDY_DATA)
	$(BIN)/python -m benchmarks.images.brightness

bench-ablation: $(DEV_INSTALLED) ## the paper's six rows and a plain one, what each strategy earns; goes on where it was (needs UNDERSTUDY_DATA)
	$(BIN)/python -m benchmarks.idpgan.ablation

bench-composition: $(DEV_INSTALLED) ## epsilon of DP-SGD by strong composition, moments, Renyi and PLD
	$(BIN)/python -m benchmarks.idpgan.composition --save

bench-quote: $(DEV_INSTALLED) ## seconds that a quote takes, cold and warm
	$(BIN)/python -m benchmarks.service.quote --save

bench-sampling: $(DEV_INSTALLED) ## synthetic rows per second into files
	$(BIN)/python -m benchmarks.sampling --save

goldens: docs ## write the golden files of contracts anew, after an intended change of one (ONLY="api settings" for a part)
	$(BIN)/python -m tests.goldens.write $(ONLY)

goldens-dashboard: docs ## take the pictures that key pages of the dashboard are compared with anew (needs Chromium)
	UNDERSTUDY_GOLDENS=anew UNDERSTUDY_BROWSER_REQUIRED=1 $(BIN)/python -m pytest -q -m "" tests/dashboard/test_goldens.py -k look_as

screenshots: docs ## pictures of the dashboard, light and dark, desktop and phone, into docs/screenshots (needs Chromium)
	$(BIN)/python -m pytest -q -o python_files=screenshots.py tests/dashboard/screenshots.py

drill: docs ## kill, freeze and starve the real stack at random moments, also of several owners (ROUNDS=300 FEDERATED_ROUNDS=22 SEED=1), then check everything
	$(BIN)/python -m tests.faults.drill --rounds $(ROUNDS) --seed $(SEED) --out $(DRILL_OUT)
	$(BIN)/python -m tests.faults.federated_drill --rounds $(FEDERATED_ROUNDS) --seed $(SEED) --out $(FEDERATED_DRILL_OUT)

bench-recovery: docs ## seconds from kill -9 of everything to the job running again
	$(BIN)/python -m benchmarks.service.recovery --save

bench-ingestion: $(DEV_INSTALLED) ## ingestion against a bare CSV-to-Parquet copy, time and memory
	$(BIN)/python -m benchmarks.service.ingestion

bench-polling: $(DEV_INSTALLED) ## status polls per second against a bare endpoint with one authenticated select
	$(BIN)/python -m benchmarks.service.polling --save

bench-reservations: $(DEV_INSTALLED) ## reservations per second against a bare psycopg loop, and the cost of long ledgers
	$(BIN)/python -m benchmarks.service.reservations --save

bench-long: $(DEV_INSTALLED) ## ten million rows of sixty columns, counted and to a release: seconds and memory
	$(BIN)/python -m benchmarks.tables.long_tables

bench-training: $(DEV_INSTALLED) ## processor seconds of a training on Adult, and of what does not grow with rows (needs UNDERSTUDY_DATA)
	$(BIN)/python -m benchmarks.tables.training_time

bench-wide: $(DEV_INSTALLED) $(PEERS_INSTALLED) ## 200 and 500 columns, columns of 4,000 and 100,000 codes, a million codes: scores, seconds and memory
	$(BIN)/python -m benchmarks.tables.wide_tables

bench-units: $(DEV_INSTALLED) ## what a bound on the records of a unit is worth, on simulated stays
	$(BIN)/python -m benchmarks.declarations.unit_records

bench-learnt-names: docs ## words that are learnt of units with several records, by how many words of a unit count
	$(BIN)/python -m benchmarks.declarations.learnt_names

bench-learnt-records: $(DEV_INSTALLED) ## bounds on the records of a patient, declared and learnt, on real encounters
	$(BIN)/python -m benchmarks.declarations.learnt_records

bench-patterns: $(DEV_INSTALLED) ## weekdays and hours of synthetic times with and without declared patterns
	$(BIN)/python -m benchmarks.declarations.date_patterns

bench-differences: $(DEV_INSTALLED) ## close columns independent, in an order, and coded by their distance
	$(BIN)/python -m benchmarks.declarations.column_differences

bench-orders: $(DEV_INSTALLED) ## distributions of ordered columns and of their distance, by exchange and by drawing again
	$(BIN)/python -m benchmarks.declarations.ordered_columns

bench-sums: $(DEV_INSTALLED) ## distributions of two columns and their sum, by which of them is computed
	$(BIN)/python -m benchmarks.declarations.summed_columns

bench-pages: docs ## milliseconds of the dashboard's pages with 10,000 ledger entries and 1,000 jobs
	$(BIN)/python -m benchmarks.service.pages --save

bench-streams: $(DEV_INSTALLED) ## what 500 open event streams cost, and how soon they tell
	$(BIN)/python -m benchmarks.service.streams --save

audit: $(DEV_INSTALLED) ## attack the running code; docs/audits.md says what was measured (GAMES=2000 MODELS=64; goes on where it was interrupted)
	$(BIN)/python -m tests.audits.white_box --games $(GAMES)
	$(BIN)/python -m tests.audits.one_run_jobs
	$(BIN)/python -m tests.audits.shadows --models $(MODELS)
	rm -rf build/audits

fuzz: $(DEV_INSTALLED) ## fuzz every parser of what strangers send (SECONDS=300 for each; findings go into tests/fuzz/corpus)
	$(BIN)/python -m tests.fuzz.campaign --seconds $(SECONDS)

laws: $(DEV_INSTALLED) ## the laws of noise and sampling at length, under a fresh key (MILLIONS=400 numbers)
	$(BIN)/python -m tests.privacy.laws.long_run --millions $(MILLIONS) --out benchmarks/results/laws.json

accounting: docs ## the accountant over wide ranges against fine grids, floors, a library and the best adversary; the verifier on every kind of plan (PLANS=2000 takes all)
	$(BIN)/python -m tests.core.dp.long_sweep --save
	UNDERSTUDY_EVERY_PLAN=$(PLANS) $(BIN)/python -m pytest -q -n $(JOBS) -o timeout=7200 tests/understudy/verifying/test_every_plan.py

clean: ## remove what make created, except data folders
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
