# Needs Python 3.11.2 and make; installs everything else. Stamp files record which steps are done.
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all test-fast nightly mutants test-fast-on test-pythons test-spark coverage coverage-all chaos simulate soak flink check format bench duel audit release lock pages prose site clean

# The environment's interpreter, or the first that is new enough; override it by `make setup PYTHON=...`.
OWN_PYTHON := $(shell .venv/bin/python -c 'import sys; print(sys._base_executable)' 2>/dev/null)
PYTHON ?= $(shell for python in $(OWN_PYTHON) python3 python3.13 python3.12 python3.11 python; do \
    $$python -c 'import sys; sys.exit(sys.version_info < (3, 11, 2))' 2>/dev/null && echo $$python && break; done)
NO_PYTHON = Tidemark needs Python 3.11.2 or newer, which is not on PATH; install Python 3.11 or set PYTHON

export UV_PYTHON_DOWNLOADS := never
RUN := .venv/bin/python -m
# Stamps inside the environment, so that they are removed with it.
SYNCED := .venv/.synced
RELEASE := .venv-release/.synced
JAVA := .venv/.java
JARS := .venv/.jars
CLASSES := .venv/.classes.jsa
ARGS ?=

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(SYNCED) $(JAVA) $(JARS) ## install uv, dependencies, Java and jars (done first by every target that needs them)

demo: setup ## run Kafka, a producer and the pipeline on this machine; ARGS="--rate 5000 --keep FOLDER"; --help lists all
	$(RUN) demo $(ARGS)

# Four files at a time on two cores, each with its own broker and Spark: while some wait, others compute. The files that
# took longest start first (tests/durations.json).
WORKERS ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) * 2)))
TESTS = $(RUN) pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
test: setup $(CLASSES) ## run the tests, with a real Spark and a real Kafka; ARGS=... are passed to pytest
	$(TESTS) -m "not long and not nightly" $(ARGS)

test-all: setup $(CLASSES) ## also run every third long test of crashes, browsers and executors; CI runs this
	$(TESTS) -m "not nightly" $(ARGS)

FAST = pytest -n auto -m "not jvm and not broker and not slow"
# Byte code is cached even if the environment disables it: it saves a third of the time.
test-fast: export PYTHONDONTWRITEBYTECODE :=
test-fast: $(SYNCED) ## run the fast tests, in seconds: no JVM, no broker, few random examples
	$(RUN) $(FAST) --hypothesis-profile=quick $(ARGS)

PYTHON_UNDER_TEST ?= $(PYTHON)
ENVIRONMENT_UNDER_TEST ?= .venv-under-test
test-fast-on: export PYTHONDONTWRITEBYTECODE :=
test-fast-on: ## run the fast tests with another Python, in an environment of its own: PYTHON_UNDER_TEST=python3.12
	TIDEMARK_ENVIRONMENT=$(ENVIRONMENT_UNDER_TEST) $(PYTHON_UNDER_TEST) dev/environment.py
	$(ENVIRONMENT_UNDER_TEST)/bin/python -m $(FAST) --hypothesis-profile=quick $(ARGS)

test-pythons: ## run the fast tests with the oldest and the newest Python of this machine; before a release
	for age in oldest newest; do python=$$($(PYTHON) -m dev.pythons $$age) && \
	    $(MAKE) test-fast-on PYTHON_UNDER_TEST=$$python ENVIRONMENT_UNDER_TEST=.venv-$$age || exit; done

test-spark: setup ## run transcripts, a drain and the planner with the newest PySpark that is allowed; before a release
	TIDEMARK_ENVIRONMENT=.venv-spark $(PYTHON) dev/environment.py
	$(RUN) dev.uv pip install --quiet --python .venv-spark/bin/python --no-build-isolation --upgrade 'pyspark<5'
	.venv-spark/bin/python -m pytest -n $(WORKERS) --dist loadfile tests/transcripts tests/broker/test_planner.py \
	    tests/broker/test_end_to_end.py -m "not nightly" $(ARGS)

nightly: setup $(CLASSES) ## run everything that takes long, and write build/nightly/report.md; ARGS="--hours 8 --only a,b"; --list
	$(RUN) tests.nightly $(ARGS)

# With few random examples; `coverage-all` runs their full number each night.
coverage: $(SYNCED) ## branch coverage of the fast tests, which may not fall below the floor in pyproject.toml
	$(RUN) $(FAST) --hypothesis-profile=quick --cov --cov-report=term $(ARGS)

coverage-all: setup $(CLASSES) ## branch coverage of all tests but mutated records, and of their processes; each night
	$(TESTS) --ignore tests/fuzz --cov --cov-report=term --cov-report=json:build/coverage.json $(ARGS)

chaos: setup $(CLASSES) ## inject every fault at every point of a batch, for hours; ARGS="--points ... --faults ..." selects
	$(RUN) tests.chaos $(ARGS)

simulate: $(SYNCED) ## run every interleaving of two writers, for hours; ARGS="start-start.grid:none:7" runs one plan
	$(RUN) tests.simulation $(ARGS)

mutants: setup $(CLASSES) ## apply mutants to a copy of the code: tests must find each; ARGS="--only fires-late --tier test"
	$(RUN) tests.mutants $(ARGS)

soak: setup $(CLASSES) ## run a steady stream for an hour with kills; ARGS="--minutes 60 --kill-every 3"
	$(RUN) tests.chaos.soak $(ARGS)

flink: $(SYNCED) $(JAVA) ## run the transcripts in Flink and store its results (needs a JDK; downloads 220 MB once)
	$(RUN) tests.flink.play

check: $(SYNCED) ## check lint, format, types and layers; CI runs this
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports

format: $(SYNCED) ## let ruff fix and format the code
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

bench: setup $(CLASSES) ## run the benchmarks with peers (Flink needs a JDK; downloads 220 MB once)
	$(RUN) benchmarks $(ARGS)

duel: setup $(CLASSES) ## run engines on a topic with faults and compare them with the truth; ARGS="--only tidemark,quix"
	$(RUN) benchmarks.duel $(ARGS)

audit: $(SYNCED) ## check licences and known vulnerabilities (osv.dev) of what is shipped (build/sbom.cdx.json)
	$(RUN) dev.audit $(ARGS)

# In an environment without the tools of tests: what is shipped, whose licences the SBOM lists, and what builds it.
release: $(RELEASE) ## build wheel, sdist, chart, SBOM, checksums and image into dist/ (no tag); ARGS=--check compares two builds
	.venv-release/bin/python -m dev.release $(ARGS)

lock: $(SYNCED) ## write the locks of jars from the versions in dev/lock_jars.py (needs Maven)
	$(RUN) dev.lock_jars

pages: $(SYNCED) ## generate what is generated: pages and tables of docs/, the schema of Helm's values, Grafana's dashboards
	$(RUN) dev.metrics_page
	$(RUN) dev.tables_page
	$(RUN) dev.transactions_table
	$(RUN) dev.python_page
	$(RUN) dev.helm_schema
	$(RUN) dev.dashboards
	$(RUN) tests.support.evidence

prose: $(SYNCED) ## warn of unclear English, long files, plurals and commit subjects; it never fails
	-@$(RUN) pytest -q -n auto -p no:cacheprovider tests/prose $(ARGS)

site: $(SYNCED) ## build the documents as a web site in build/site/html; a link that leads nowhere fails
	$(RUN) dev.site

clean: ## remove the environment and every cache in this directory (the jars in the user's cache stay)
	rm -rf .venv .venv-* .tools .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# An environment is made again if PYTHON=... names another interpreter than its own.
VERSION_OF = $(shell $(1) -c 'import sys; print("".join(sys.version.split()))' 2>/dev/null)
ANOTHER_PYTHON = $(if $(filter-out file,$(origin PYTHON)),$(if $(filter \
    $(call VERSION_OF,$(PYTHON)),$(call VERSION_OF,$(1)/bin/python)),,another-python))

.PHONY: another-python
$(SYNCED): pyproject.toml uv.lock dev/environment.py $(call ANOTHER_PYTHON,.venv)
	$(or $(PYTHON),$(error $(NO_PYTHON))) dev/environment.py
	@touch $@

$(RELEASE): pyproject.toml uv.lock dev/environment.py $(call ANOTHER_PYTHON,.venv-release)
	TIDEMARK_ENVIRONMENT=.venv-release $(or $(PYTHON),$(error $(NO_PYTHON))) dev/environment.py --no-dev --group build
	@touch $@

$(JAVA): $(SYNCED)
	$(RUN) dev.java
	@touch $@

# Created once, in half a minute; every JVM then starts in two thirds of the time.
$(CLASSES): $(JARS) $(JAVA)
	-@$(RUN) tidemark.pipeline.service.load_classes

$(JARS): $(SYNCED) $(JAVA) jars.lock uv.lock dev/compiler.lock $(wildcard connector/tidemark/*.java)
	$(RUN) tidemark.pipeline.runtime.jars
	@$(RUN) dev.connector
	@touch $@
