# From Python 3.11 and make to everything else. A target does only what its stamp says is not done yet.
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all test-fast coverage chaos simulate soak flink check format bench audit lock pages clean

# The first interpreter that is new enough; `make setup PYTHON=...` chooses another.
PYTHON ?= $(shell for it in python3 python3.13 python3.12 python3.11 python; do \
    $$it -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$it && break; done)
NO_PYTHON = Tidemark needs Python 3.11 or newer, and there is none on PATH; install one or set PYTHON

export UV_PYTHON_DOWNLOADS := never
RUN := .venv/bin/python -m
# Inside the environment, so that they go when it goes.
SYNCED := .venv/.synced
JAVA := .venv/.java
JARS := .venv/.jars
CLASSES := .venv/.classes.jsa
ARGS ?=

help: ## what you are reading
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(SYNCED) $(JAVA) $(JARS) ## uv, the dependencies, Java and the jars (every target below does it first)

demo: setup ## Kafka, producers and the pipeline on this machine; ARGS=... are passed on
	$(RUN) demo $(ARGS)

# Two files at a time, each with a broker and a Spark of its own: a test alone leaves half of two cores idle. In the
# order of their names, for what takes longest is not the last then.
TESTS = $(RUN) pytest -n 2 --dist loadfile --no-loadscope-reorder
test: setup $(CLASSES) ## the tests, with a real Spark and a real Kafka; ARGS=... are passed on to pytest
	$(TESTS) -m "not long" $(ARGS)

test-all: setup $(CLASSES) ## these and the long ones, which kill, cut off and fuzz for minutes: what CI runs
	$(TESTS) $(ARGS)

# Modules are kept compiled even where the environment says otherwise: it is a third of the time.
test-fast: export PYTHONDONTWRITEBYTECODE :=
test-fast: $(SYNCED) ## seconds: no JVM, no broker, nothing slow, and fewer random examples than `make test`
	$(RUN) pytest -n auto -m "not jvm and not broker and not slow" --hypothesis-profile=quick $(ARGS)

coverage: $(SYNCED) ## branch coverage of the fast tests, which may not fall below the floor in pyproject.toml
	$(RUN) pytest -n auto -m "not jvm and not broker and not slow" --cov --cov-report=term $(ARGS)

chaos: setup $(CLASSES) ## every fault at every point of a batch, for hours; ARGS="--points ... --faults ..." chooses
	$(RUN) tests.chaos $(ARGS)

simulate: $(SYNCED) ## every interleaving of two writers, for an hour or two; ARGS="start-start.grid:none:7" plays one plan
	$(RUN) tests.simulation $(ARGS)

soak: setup $(CLASSES) ## an hour of a steady stream with a kill every few minutes; ARGS="--minutes 60 --kill-every 3"
	$(RUN) tests.chaos.soak $(ARGS)

flink: $(SYNCED) $(JAVA) ## let Flink play the transcripts, and keep what it did (needs a JDK; 220 MB at first)
	$(RUN) tests.flink.play

check: $(SYNCED) ## lint, format, types and the layers: what CI runs
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports

format: $(SYNCED) ## let ruff mend what it can
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

bench: setup $(CLASSES) ## the same work done by peers, side by side (Flink needs a JDK; 220 MB at first)
	$(RUN) benchmarks $(ARGS)

audit: $(SYNCED) ## what is shipped (build/sbom.cdx.json), its licences and its known vulnerabilities (asks osv.dev)
	$(RUN) dev.audit

lock: $(SYNCED) ## renew the locks of jars from the versions in dev/lock_jars.py (needs Maven)
	$(RUN) dev.lock_jars

pages: $(SYNCED) ## what is made of the code: docs/metrics.md, docs/tables.md and Grafana's dashboards
	$(RUN) dev.metrics_page
	$(RUN) dev.tables_page
	$(RUN) dev.dashboards

clean: ## remove the environment and every cache in this directory (the jars in the user's cache stay)
	rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(SYNCED): pyproject.toml uv.lock dev/environment.py
	$(or $(PYTHON),$(error $(NO_PYTHON))) dev/environment.py
	@touch $@

$(JAVA): $(SYNCED)
	$(RUN) dev.java
	@touch $@

# Made once, in half a minute; each of the JVMs that are started comes up in two thirds of the time.
$(CLASSES): $(JARS) $(JAVA)
	-@$(RUN) pipeline.service.load_classes

$(JARS): $(SYNCED) jars.lock
	$(RUN) pipeline.runtime.jars
	@touch $@
